/*
 * Loops whose passes the threads of a coop share (TSR_EACH). What passes do is
 * plain C, which the port finds out (backends/cpuemu/dev/passes/). Here it is
 * made into findings. Here is also known what a coop has written to its block's
 * shared memory since it last met, because a pass may come before that.
 */
#include "src/explore/exploration_state.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_UNMET = 4096 }; /* of a coop: what it writes then is not hidden */

/* ------------------------------------------------------------------ what was not met for */

static tsr_status_t add(tsr_actor_t *actor, const tsr_unmet_t *written)
{
	tsr_unmet_t *last = actor->unmet_count > 0 ? &actor->unmet[actor->unmet_count - 1] : NULL;
	if (last && last->operation == written->operation && last->area == written->area &&
	    last->offset + last->bytes == written->offset) {
		last->bytes += written->bytes;
		return TSR_OK;
	}
	if (actor->unmet_count == MOST_UNMET)
		return TSR_OK;
	if (actor->unmet_count == actor->unmet_room) {
		const int room = actor->unmet_room ? 2 * actor->unmet_room : 8;
		tsr_unmet_t *unmet = realloc(actor->unmet, (size_t)room * sizeof *unmet);
		if (!unmet)
			return TSR_ERR_NO_MEMORY;
		actor->unmet = unmet;
		actor->unmet_room = room;
	}
	actor->unmet[actor->unmet_count++] = *written;
	return TSR_OK;
}

tsr_status_t tsr_unmet_note(tsr_exploration_t *x, uint32_t operation, int area, size_t offset,
			    const tsr_rows_of_bytes_t *rows)
{
	tsr_status_t status = TSR_OK;
	for (size_t row = 0; row < rows->count && status == TSR_OK; row++)
		status = add(tsr_actor(x), &(tsr_unmet_t){operation, area,
							  offset + row * rows->pitch, rows->bytes});
	return status;
}

void tsr_unmet_forget(tsr_actor_t *actor, bool for_good)
{
	actor->unmet_count = 0;
	if (!for_good)
		return;
	free(actor->unmet);
	actor->unmet = NULL;
	actor->unmet_room = 0;
}

bool tsr_exploration_unmet(const tsr_exploration_t *x, int i, size_t *offset_out, size_t *bytes_out)
{
	const tsr_actor_t *actor = tsr_actor((tsr_exploration_t *)x);
	if (i >= actor->unmet_count)
		return false;
	*offset_out = actor->unmet[i].offset;
	*bytes_out = actor->unmet[i].bytes;
	return true;
}

/* ------------------------------------------------------------------ findings */

int tsr_exploration_passes(tsr_exploration_t *x, const tsr_op_site_t *site, int ways)
{
	tsr_actor(x)->loop = *site;
	const int chosen = tsr_explorer_choose(x->explorer, TSR_CHOICE_PIECE, ways);
	return x->options.whole ? 0 : chosen;
}

void tsr_exploration_passes_end(tsr_exploration_t *x)
{
	tsr_actor(x)->loop.call = NULL;
}

void tsr_exploration_passes_apart(tsr_exploration_t *x, const tsr_op_site_t *site)
{
	x->loop_apart = *site;
}

/** "kernel.c:28" */
static void place_of(const tsr_op_site_t *site, char *text, size_t size)
{
	snprintf(text, size, "%s:%d", site->file ? site->file : "an unknown place", site->line);
}

void tsr_passes_explain(const tsr_exploration_t *x, tsr_finding_t *finding, char *text, size_t size)
{
	char place[256];
	if (!x->loop_apart.call || finding->accesses > 0)
		return;
	place_of(&x->loop_apart, place, sizeof place);
	snprintf(text, size,
		 "behind the TSR_EACH at %s the kernel has gone on with the variables of one "
		 "thread, which has not made all passes",
		 place);
	finding->blames_loop = true;
	finding->missing = text;
	finding->change = "if the result hangs on a variable from outside of the loop, let the "
			  "passes write to shared memory, each an element of its own";
}

_Noreturn void tsr_passes_fault(tsr_exploration_t *x, const char *code)
{
	char place[256], sentence[640];
	tsr_finding_t finding = {.class = TSR_FINDING_PROGRAM_FAILURE, .message = sentence};
	place_of(&tsr_actor(x)->loop, place, sizeof place);
	snprintf(sentence, sizeof sentence,
		 "a pass of the TSR_EACH at %s accessed memory that is not there%s", place, code);
	finding.missing = "some passes were made without those before them, as by the threads of "
			  "a GPU";
	finding.change = "let no pass read what another one writes; a plain run shows whether the "
			 "pass is wrong by itself";
	tsr_exploration_found(x, &finding);
	tsr_explorer_stop(x->explorer);
}

/** "pass 7", or "one pass" where it is not known which. */
static const char *pass_text(int pass, const char *unknown, char text[32])
{
	if (pass < 0)
		return unknown;
	snprintf(text, 32, "pass %d", pass);
	return text;
}

void tsr_exploration_passes_race(tsr_exploration_t *x, const tsr_op_site_t *site,
				 const tsr_passes_race_t *race)
{
	const uint32_t number =
		tsr_operation_at(x, site, TSR_FINDING_WRITE, TSR_VIEWS_PLAIN, TSR_VIEWS_THREAD);
	char sentence[128], one[32], other[32];
	tsr_finding_t finding = {.class = TSR_FINDING_COOP_RACE, .accesses = 2};
	int area;
	size_t offset;
	if (!tsr_area_find(x, race->at, race->bytes, &area, &offset))
		return;
	/* of two that write the lower number comes first, and of the others the reader */
	const bool turned = race->reads || race->pass[0] > race->pass[1];
	snprintf(sentence, sizeof sentence,
		 race->reads ? "%s reads what %s writes" : "%s and %s write the same bytes",
		 pass_text(race->pass[turned], "one pass", one),
		 pass_text(race->pass[!turned], "another pass", other));
	for (int i = 0; i < 2; i++) {
		tsr_operation_tell(x, number, area, offset, race->bytes, &finding.access[i]);
		finding.access[i].kind =
			race->reads && i == 0 ? TSR_FINDING_READ : TSR_FINDING_WRITE;
	}
	finding.message = sentence;
	finding.missing = "nothing orders the passes of one TSR_EACH: on a GPU the threads of the "
			  "coop make them beside each other";
	finding.change =
		race->reads
			? "let passes read only what was written before the loop: read and write "
			  "two arrays, or make two loops with tsr_sync between them; for sums of "
			  "what comes before use tsr_coop_scan"
			: "let each pass write an element of its own, and combine them behind "
			  "tsr_sync; to count, or to give out places, use tsr_coop_place";
	tsr_exploration_found(x, &finding);
}

void tsr_exploration_passes_carry(tsr_exploration_t *x, const tsr_op_site_t *site)
{
	tsr_finding_t finding = {
		.class = TSR_FINDING_MISUSE,
		.accesses = 1,
		.message = "a pass computes with a variable from outside of the loop that another "
			   "pass has changed: on a GPU each thread has a variable of its own",
		.change = "let each pass write an element of its own in shared memory, and combine "
			  "them behind tsr_sync"};
	finding.access[0] = tsr_access_at(x, site);
	tsr_exploration_found(x, &finding);
}

void tsr_exploration_passes_read(tsr_exploration_t *x, const tsr_op_site_t *site, int i)
{
	const tsr_unmet_t written = tsr_actor(x)->unmet[i];
	const tsr_shadow_unmet_t unmet = {.other = written.operation,
					  .other_wrote = true,
					  .offset = written.offset,
					  .bytes = written.bytes};
	const uint32_t number =
		tsr_operation_at(x, site, TSR_FINDING_READ, TSR_VIEWS_PLAIN, TSR_VIEWS_THREAD);
	tsr_exploration_judge_unmet(x, number, written.area, false, &unmet);
}
