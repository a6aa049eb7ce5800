/*
 * What the program has said, put together: findings that are one, schedules
 * that are one, and the most memory.
 */
#include <stdlib.h>
#include <string.h>

#include "tessera/program.h"
#include "tools/check/check.h"
#include "tools/check/finding_json.h"
#include "tools/check/finding_text.h"

static uint64_t uint_of(const json_t *object, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(object, name));
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void take_most(uint64_t *most, uint64_t value)
{
	*most = value > *most ? value : *most;
}

static void refuse(check_tally_t *tally, const char *why)
{
	if (tally->refused++ == 0)
		(void)snprintf(tally->refusal, sizeof tally->refusal, "%s", why);
}

/* ---------------------------------------------------------------- worlds */

void check_tally_world(check_tally_t *tally, int ranks)
{
	for (int job = 0; job < CHECK_MOST_JOBS; job++) {
		check_tally_ended(tally, job);
		free(tally->flight[job].pending);
		tally->flight[job] = (check_flight_t){.begun = false};
	}
	tally->worlds[tally->world_count++] = (check_world_t){.ranks = ranks};
	tally->spoke = tally->complete = false;
	/* interleavings of different worlds have nothing to do with each other */
	free(tally->digests);
	tally->digests = NULL;
	tally->digest_count = tally->digest_room = 0;
}

/** The schedule that has just ended shows something that none of this world did before. */
static void note_new(check_tally_t *tally)
{
	check_world_t *world = check_tally_here(tally);
	world->last_new = world->schedules;
}

size_t check_tally_distinct(const check_tally_t *tally)
{
	size_t distinct = 0;
	for (int w = 0; w < tally->world_count; w++)
		distinct += tally->worlds[w].distinct;
	return distinct;
}

bool check_tally_saturated(const check_tally_t *tally)
{
	const check_world_t *world = &tally->worlds[tally->world_count - 1];
	const uint64_t quiet = world->schedules - world->last_new;
	return quiet >= CHECK_QUIET && quiet >= world->last_new;
}

/* ---------------------------------------------------------------- interleavings that differ */

/** The place of a digest in the table, which has one that is empty. */
static size_t place_of(const check_tally_t *tally, const uint64_t digest[2])
{
	size_t i = (size_t)digest[0] & (tally->digest_room - 1);
	while ((tally->digests[i][0] | tally->digests[i][1]) != 0 &&
	       memcmp(tally->digests[i], digest, 16) != 0)
		i = (i + 1) & (tally->digest_room - 1);
	return i;
}

static bool grow_digests(check_tally_t *tally)
{
	check_tally_t grown = {.digest_room =
				       tally->digest_room > 0 ? 2 * tally->digest_room : 1024};
	grown.digests = calloc(grown.digest_room, sizeof *grown.digests);
	if (grown.digests == NULL)
		return false;
	for (size_t i = 0; i < tally->digest_room; i++)
		if ((tally->digests[i][0] | tally->digests[i][1]) != 0)
			memcpy(grown.digests[place_of(&grown, tally->digests[i])],
			       tally->digests[i], 16);
	free(tally->digests);
	tally->digests = grown.digests;
	tally->digest_room = grown.digest_room;
	return true;
}

static void count_digest(check_tally_t *tally, const json_t *object)
{
	const char *text = json_string_value(json_object_get(object, "digest"));
	unsigned long long high, low;
	if (text == NULL || sscanf(text, "%16llx%16llx", &high, &low) != 2) {
		refuse(tally, "a schedule has no digest of 32 hexadecimal digits");
		return;
	}
	const uint64_t digest[2] = {high, (high | low) != 0 ? low : 1};
	if (2 * tally->digest_count >= tally->digest_room && !grow_digests(tally)) {
		tally->exhausted = true;
		return;
	}
	const size_t place = place_of(tally, digest);
	if ((tally->digests[place][0] | tally->digests[place][1]) != 0)
		return;
	memcpy(tally->digests[place], digest, sizeof digest);
	tally->digest_count++;
	check_tally_here(tally)->distinct++;
	note_new(tally);
}

/* ---------------------------------------------------------------- findings that are one */

static check_found_t *find(const check_tally_t *tally, const char *key)
{
	for (int i = 0; i < tally->found_count; i++)
		if (tally->found[i].world == tally->world_count - 1 &&
		    strcmp(tally->found[i].key, key) == 0)
			return &tally->found[i];
	return NULL;
}

/** Whether a world before this one has found the same. */
static bool is_known(const check_tally_t *tally, const char *key)
{
	for (int i = 0; i < tally->found_count; i++)
		if (tally->found[i].world < tally->world_count - 1 &&
		    strcmp(tally->found[i].key, key) == 0)
			return true;
	return false;
}

const check_found_t *check_tally_find(const check_tally_t *tally, const char *key)
{
	return find(tally, key);
}

static bool comes_before(const check_found_t *a, const check_found_t *b)
{
	if (a->finding->severity != b->finding->severity)
		return a->finding->severity < b->finding->severity;
	return a->world != b->world ? a->world < b->world : a->finding->seed < b->finding->seed;
}

const check_found_t *check_tally_first(const check_tally_t *tally)
{
	const check_found_t *first = NULL;
	for (int i = 0; i < tally->found_count; i++)
		if (first == NULL || comes_before(&tally->found[i], first))
			first = &tally->found[i];
	return first;
}

bool check_tally_take(check_tally_t *tally, const char *key, check_found_t *found_out)
{
	check_found_t *found = find(tally, key);
	if (found == NULL)
		return false;
	*found_out = *found;
	*found = tally->found[--tally->found_count];
	return true;
}

void check_found_clear(check_found_t *found)
{
	tsr_finding_free(found->finding);
	tsr_check_script_clear(&found->shortest);
	free(found->key);
	free(found->after);
	*found = (check_found_t){.finding = NULL};
}

/** The least script, and of equals that of the lowest seed. */
static void take_script(check_found_t *found, const tsr_check_script_t *script)
{
	tsr_check_script_t copy;
	if (script == NULL || (found->scripted && found->shortest.count <= script->count))
		return;
	if (tsr_check_script_copy(script, &copy) != TSR_OK)
		return;
	tsr_check_script_clear(&found->shortest);
	found->shortest = copy;
	found->scripted = true;
}

/**
 * One more of what was found already. The finding is kept that knows more of the
 * edge that is missing; of equals that of the lower seed.
 */
static void merge(check_found_t *found, tsr_finding_t *finding, const tsr_check_script_t *script)
{
	found->schedules++;
	found->first_seed = least(found->first_seed, finding->seed);
	take_script(found, script);
	const int more = finding->accesses - found->finding->accesses;
	if (more > 0 || (more == 0 && finding->seed < found->finding->seed)) {
		tsr_finding_t *other = found->finding;
		found->finding = finding;
		finding = other;
	}
	tsr_finding_free(finding);
}

static check_found_t *add(check_tally_t *tally, tsr_finding_t *finding, char *key)
{
	check_found_t *grown =
		realloc(tally->found, (size_t)(tally->found_count + 1) * sizeof *grown);
	if (grown == NULL) {
		tsr_finding_free(finding);
		free(key);
		return NULL;
	}
	tally->found = grown;
	check_world_t *world = check_tally_here(tally);
	const bool error = finding->severity == TSR_FINDING_ERROR, first = !is_known(tally, key);
	tally->errors += first && error;
	tally->warnings += first && !error;
	world->errors += error;
	world->warnings += !error;
	note_new(tally);
	grown[tally->found_count] = (check_found_t){.finding = finding,
						    .key = key,
						    .world = tally->world_count - 1,
						    .ranks = world->ranks,
						    .fresh = first,
						    .first_seed = finding->seed,
						    .schedules = 1};
	return &grown[tally->found_count++];
}

/** The key of the first finding of this schedule that names what is wrong; null: none. */
static char *first_direct(const check_flight_t *flight, const tsr_finding_t *finding)
{
	for (int i = 0; i < flight->pending_count && flight->pending[i] != finding; i++)
		if (check_is_direct(flight->pending[i]))
			return tsr_finding_key(flight->pending[i]);
	return NULL;
}

/** Notes what came before it in a schedule. Takes `after` over. */
static void note_after(check_found_t *found, char *after)
{
	found->alone |= after == NULL;
	if (found->after == NULL)
		found->after = after;
	else
		free(after);
}

/** Takes the finding over. */
static void count_finding(check_tally_t *tally, const check_flight_t *flight,
			  tsr_finding_t *finding, char *after, const tsr_check_script_t *script)
{
	char *key = tsr_finding_key(finding);
	finding->seed = flight->begun ? flight->seed : 0;
	check_found_t *found = key != NULL ? find(tally, key) : NULL;
	if (key == NULL) {
		tsr_finding_free(finding);
	} else if (found != NULL) {
		free(key);
		merge(found, finding, script);
		note_after(found, after);
		return;
	} else {
		found = add(tally, finding, key);
	}
	if (found == NULL) {
		free(after);
		tally->exhausted = true;
		return;
	}
	note_after(found, after);
	found->common = !flight->begun;
	take_script(found, script);
}

/** Whether the schedule has said the same already: it counts once. */
static bool is_pending(const check_flight_t *flight, const tsr_finding_t *finding)
{
	bool same = false;
	char *key = tsr_finding_key(finding);
	for (int i = 0; i < flight->pending_count && key != NULL && !same; i++) {
		char *other = tsr_finding_key(flight->pending[i]);
		same = other != NULL && strcmp(key, other) == 0;
		free(other);
	}
	free(key);
	return same;
}

static void take_finding(check_tally_t *tally, check_flight_t *flight, json_t *object)
{
	tsr_finding_t *finding;
	if (tsr_finding_parse(object, &finding) != TSR_OK) {
		refuse(tally, tsr_last_error());
		return;
	}
	tsr_finding_t **grown = realloc(flight->pending, (size_t)(flight->pending_count + 1) *
								 sizeof(tsr_finding_t *));
	tally->exhausted |= grown == NULL;
	flight->pending = grown != NULL ? grown : flight->pending;
	if (grown == NULL || is_pending(flight, finding))
		tsr_finding_free(finding);
	else
		flight->pending[flight->pending_count++] = finding;
}

static void count_schedule(check_tally_t *tally)
{
	tally->schedules++;
	check_tally_here(tally)->schedules++;
}

/** The schedule in flight is over: what it had counts. */
static void land(check_tally_t *tally, check_flight_t *flight, const tsr_check_script_t *script)
{
	if (flight->open && flight->pending_count > 0) /* it has no end, but findings */
		count_schedule(tally);
	char **after = calloc((size_t)flight->pending_count + 1, sizeof *after);
	for (int i = 0; i < flight->pending_count && after != NULL; i++)
		after[i] = first_direct(flight, flight->pending[i]);
	for (int i = 0; i < flight->pending_count; i++)
		count_finding(tally, flight, flight->pending[i], after != NULL ? after[i] : NULL,
			      script);
	free(after);
	flight->pending_count = 0;
}

/** A program that fails without a finding of the executor's is one. */
static void find_failure(check_tally_t *tally, check_flight_t *flight, int code)
{
	char message[128];
	if (code > 128)
		(void)snprintf(message, sizeof message, "it was ended by signal %d (%s)",
			       code - 128, strsignal(code - 128));
	else
		(void)snprintf(message, sizeof message, "its exit code is %d", code);
	json_t *object = json_pack("{s:s, s:s, s:s}", "type", "finding", "class", "program-failure",
				   "message", message);
	if (object != NULL)
		take_finding(tally, flight, object);
	else
		tally->exhausted = true;
	json_decref(object);
}

static bool has_error(const check_flight_t *flight)
{
	for (int i = 0; i < flight->pending_count; i++)
		if (flight->pending[i]->severity == TSR_FINDING_ERROR)
			return true;
	return false;
}

/* ---------------------------------------------------------------- lines */

static void take_schedule(check_tally_t *tally, check_flight_t *flight, const json_t *object)
{
	const int code = (int)json_integer_value(json_object_get(object, "exit"));
	const json_t *array = json_object_get(object, "script");
	tsr_check_script_t script = {.count = 0};
	bool scripted = json_is_array(array);
	count_schedule(tally);
	tally->pruned += json_is_true(json_object_get(object, "pruned"));
	tally->failed += code != 0;
	tally->died += code > 128;
	tally->choices += uint_of(object, "choices");
	tally->steps += uint_of(object, "steps");
	take_most(&tally->tasks, uint_of(object, "tasks"));
	take_most(&tally->shadow_bytes, uint_of(object, "shadow_bytes"));
	take_most(&tally->heap_bytes, uint_of(object, "heap_bytes"));
	count_digest(tally, object);
	if (scripted && tsr_finding_parse_script(array, &script) != TSR_OK) {
		refuse(tally, tsr_last_error());
		scripted = false;
	}
	if (code != 0 && !has_error(flight))
		find_failure(tally, flight, code);
	flight->begun = true;
	flight->open = false;
	flight->seed = uint_of(object, "seed");
	land(tally, flight, scripted ? &script : NULL);
	tsr_check_script_clear(&script);
}

static void take_prefix(check_tally_t *tally, const json_t *object)
{
	char why[128];
	const int version = (int)json_integer_value(json_object_get(object, "version"));
	tally->spoke = true;
	take_most(&tally->tasks, uint_of(object, "tasks"));
	if (version == TSR_CHECK_VERSION)
		return;
	(void)snprintf(why, sizeof why,
		       "the program speaks version %d of the protocol, and this command %d",
		       version, TSR_CHECK_VERSION);
	refuse(tally, why);
}

static void take_why(check_tally_t *tally, const char *why)
{
	if (why != NULL && *tally->broken == '\0')
		(void)snprintf(tally->broken, sizeof tally->broken, "%s", why);
}

/** "rank 1's host does not come back from its own code, after tsr_barrier". */
static void take_hang(check_tally_t *tally, const json_t *object)
{
	const char *kernel = json_string_value(json_object_get(object, "kernel"));
	const char *call = json_string_value(json_object_get(object, "call"));
	const char *file = json_string_value(json_object_get(object, "file"));
	char who[192] = "the program", after[256] = "";
	if (kernel != NULL)
		(void)snprintf(who, sizeof who,
			       "kernel %s of rank %d (launch %d, block %d, worker %d)", kernel,
			       (int)uint_of(object, "rank"), (int)uint_of(object, "launch"),
			       (int)uint_of(object, "block"), (int)uint_of(object, "worker"));
	else if (json_object_get(object, "rank") != NULL)
		(void)snprintf(who, sizeof who, "the host of rank %d",
			       (int)uint_of(object, "rank"));
	if (call != NULL && file != NULL)
		(void)snprintf(after, sizeof after, ", after %s at %s:%d", call, file,
			       (int)uint_of(object, "line"));
	else if (call != NULL)
		(void)snprintf(after, sizeof after, ", after %s", call);
	tally->goes_on = json_is_true(json_object_get(object, "goes_on"));
	if (tally->goes_on)
		(void)snprintf(tally->hang, sizeof tally->hang, "it still goes on, last in %s%s",
			       who, after);
	else
		(void)snprintf(tally->hang, sizeof tally->hang,
			       "%s does not come back from its own code%s", who, after);
}

void check_tally_line(check_tally_t *tally, int job, json_t *object)
{
	check_flight_t *flight = &tally->flight[job];
	const char *type = json_string_value(json_object_get(object, "type"));
	if (type == NULL) {
		refuse(tally, "a line has no type");
	} else if (strcmp(type, "prefix") == 0) {
		take_prefix(tally, object);
	} else if (strcmp(type, "begin") == 0) {
		/* findings before the first schedule, or of one whose end nobody told */
		check_tally_ended(tally, job);
		flight->begun = true;
		flight->open = true;
		flight->seed = uint_of(object, "seed");
	} else if (strcmp(type, "finding") == 0) {
		take_finding(tally, flight, object);
	} else if (strcmp(type, "schedule") == 0) {
		take_schedule(tally, flight, object);
	} else if (strcmp(type, "hang") == 0) {
		take_hang(tally, object);
	} else if (strcmp(type, "end") == 0) {
		flight->finished = true;
		tally->complete |= json_is_true(json_object_get(object, "complete"));
		take_why(tally, json_string_value(json_object_get(object, "why")));
	} else if (strcmp(type, "event") != 0) {
		refuse(tally, "a line has an unknown type");
	}
}

void check_tally_ended(check_tally_t *tally, int job)
{
	check_flight_t *flight = &tally->flight[job];
	const tsr_check_script_t common = {.count = 0};
	land(tally, flight, flight->begun ? NULL : &common);
}

void check_tally_clear(check_tally_t *tally)
{
	for (int j = 0; j < CHECK_MOST_JOBS; j++) {
		for (int i = 0; i < tally->flight[j].pending_count; i++)
			tsr_finding_free(tally->flight[j].pending[i]);
		free(tally->flight[j].pending);
	}
	for (int i = 0; i < tally->found_count; i++)
		check_found_clear(&tally->found[i]);
	free(tally->found);
	free(tally->digests);
}
