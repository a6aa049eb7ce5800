/*
 * Findings: through the line and back, what they advise, how they are told
 * apart, and how they are printed.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/explore/wire/protocol.h"
#include "tessera/program.h"
#include "tools/check/finding_json.h"
#include "tools/check/finding_text.h"

static tsr_finding_who_t worker_of(int rank, int block, int worker)
{
	return (tsr_finding_who_t){.rank = rank,
				   .kernel = "send",
				   .variant = "f32",
				   .launch = 2,
				   .block = block,
				   .worker = worker};
}

static tsr_finding_access_t access_at(const char *call, int line, tsr_finding_kind_t kind,
				      tsr_finding_who_t who)
{
	tsr_finding_access_t access = TSR_FINDING_NOWHERE;
	access.call = call;
	access.file = "kernel.c";
	access.line = line;
	access.kind = kind;
	access.who = who;
	access.target = 1;
	access.allocation = "inbox";
	access.offset = 4096;
	access.bytes = 64;
	return access;
}

static tsr_finding_access_t ordered(tsr_finding_access_t access, tsr_views_order_t order,
				    tsr_views_scope_t scope)
{
	access.order = order;
	access.scope = scope;
	return access;
}

/** A race of rank 1's get with rank 0's put. */
static tsr_finding_t race(void)
{
	return (tsr_finding_t){
		.class = TSR_FINDING_DATA_RACE,
		.access = {access_at("tsr_get", 40, TSR_FINDING_READ, worker_of(1, 0, 0)),
			   access_at("tsr_put", 28, TSR_FINDING_WRITE, worker_of(0, 3, 0))},
		.accesses = 2};
}

/** Sends it through a pipe, and reads what comes out; null: no such line, or not JSON. */
static json_t *line_of(const tsr_finding_t *finding)
{
	static tsr_report_t report;
	char text[1 << 16];
	int fds[2];
	cr_assert_eq(pipe(fds), 0);
	tsr_report_open(&report, fds[1]);
	tsr_report_finding(&report, finding);
	close(fds[1]);
	size_t used = 0;
	for (ssize_t got; (got = read(fds[0], text + used, sizeof text - used)) > 0;)
		used += (size_t)got;
	close(fds[0]);
	cr_assert(used > 2 && text[0] == '\n' && text[used - 1] == '\n');
	cr_assert(memchr(text + 1, '\n', used - 2) == NULL);
	return json_loadb(text, used, 0, NULL);
}

static tsr_finding_t *through(const tsr_finding_t *finding)
{
	tsr_finding_t *read = NULL;
	json_t *line = line_of(finding);
	cr_assert(line != NULL);
	cr_assert_str_eq(json_string_value(json_object_get(line, "type")), "finding");
	cr_assert_eq(tsr_finding_parse(line, &read), TSR_OK, "%s", tsr_last_error());
	json_decref(line);
	return read;
}

static void assert_same_text(const char *a, const char *b)
{
	cr_assert_eq(a == NULL, b == NULL);
	if (a != NULL)
		cr_assert_str_eq(a, b);
}

static void assert_same_who(const tsr_finding_who_t *a, const tsr_finding_who_t *b)
{
	assert_same_text(a->kernel, b->kernel);
	assert_same_text(a->variant, b->variant);
	cr_assert(a->rank == b->rank && a->launch == b->launch && a->block == b->block &&
		  a->worker == b->worker);
}

static void assert_same_access(const tsr_finding_access_t *a, const tsr_finding_access_t *b)
{
	assert_same_who(&a->who, &b->who);
	assert_same_text(a->call, b->call);
	assert_same_text(a->file, b->file);
	assert_same_text(a->allocation, b->allocation);
	cr_assert(a->kind == b->kind && a->line == b->line && a->tiled == b->tiled &&
		  a->row == b->row && a->col == b->col);
	cr_assert(a->target == b->target && a->allocation_bytes == b->allocation_bytes &&
		  a->offset == b->offset);
	cr_assert(a->bytes == b->bytes && a->order == b->order && a->scope == b->scope &&
		  a->valued == b->valued);
	cr_assert(a->expected == b->expected && a->seen == b->seen);
}

Test(findings, go_through_the_line_as_they_are)
{
	const tsr_finding_node_t nodes[] = {
		{.who = worker_of(0, 1, 2),
		 .call = "tsr_wait",
		 .file = "k.c",
		 .line = 7,
		 .state = "waits for \"x\" \\ \n\x01 \xc3\xa9"},
		{.who = {.rank = -1, .launch = -1, .block = -1, .worker = -1},
		 .name = "a place on rank 0"},
	};
	const tsr_finding_edge_t edges[] = {{0, 1, NULL}, {1, 0, "it is taken"}};
	tsr_finding_t sent = race();
	sent.class = TSR_FINDING_RESIDENCY;
	sent.severity = TSR_FINDING_WARNING;
	sent.access[0].tiled = true;
	sent.access[0].row = -16;
	sent.access[0].col = (int64_t)1 << 60;
	sent.access[0].allocation_bytes = 8192;
	sent.access[1] = ordered(sent.access[1], TSR_VIEWS_ACQ_REL, TSR_VIEWS_DEVICE);
	sent.access[1].valued = true;
	sent.access[1].expected = UINT64_MAX;
	sent.access[1].seen = UINT64_C(0xa5a5a5a5a5a5a5a5);
	sent.access[2] = TSR_FINDING_NOWHERE;
	sent.access[3] = TSR_FINDING_NOWHERE;
	sent.access[3].call = "tsr_barrier";
	sent.access[3].who.rank = 5;
	sent.accesses = 4;
	sent.message = "said";
	sent.missing = "a";
	sent.change = "b";
	sent.nodes = nodes;
	sent.node_count = 2;
	sent.edges = edges;
	sent.edge_count = 2;
	tsr_finding_t *read = through(&sent);
	cr_assert(read->class == sent.class && read->severity == sent.severity &&
		  read->accesses == 4);
	for (int i = 0; i < 4; i++)
		assert_same_access(&sent.access[i], &read->access[i]);
	assert_same_text(sent.message, read->message);
	assert_same_text(sent.missing, read->missing);
	assert_same_text(sent.change, read->change);
	cr_assert(read->node_count == 2 && read->edge_count == 2);
	for (int i = 0; i < 2; i++) {
		assert_same_who(&nodes[i].who, &read->nodes[i].who);
		assert_same_text(nodes[i].name, read->nodes[i].name);
		assert_same_text(nodes[i].call, read->nodes[i].call);
		assert_same_text(nodes[i].file, read->nodes[i].file);
		assert_same_text(nodes[i].state, read->nodes[i].state);
		cr_assert(edges[i].from == read->edges[i].from && edges[i].to == read->edges[i].to);
		assert_same_text(edges[i].why, read->edges[i].why);
	}
	tsr_finding_free(read);
}

Test(findings, of_every_class_go_through_the_line)
{
	for (int class = 0; class < TSR_FINDING_CLASSES; class ++) {
		tsr_finding_t sent = {.class = (tsr_finding_class_t) class};
		sent.severity = tsr_finding_class_severity(sent.class);
		tsr_finding_t *read = through(&sent);
		cr_assert(read->class == sent.class && read->severity == sent.severity);
		tsr_finding_free(read);
	}
}

Test(findings, that_are_longer_than_the_buffer_go_through)
{
	char *text = malloc(3 * TSR_REPORT_BYTES + 1);
	memset(text, 'x', 3 * TSR_REPORT_BYTES);
	text[3 * TSR_REPORT_BYTES] = '\0';
	tsr_finding_t sent = race();
	sent.message = text;
	tsr_finding_t *read = through(&sent);
	cr_assert_str_eq(read->message, text);
	tsr_finding_free(read);
	free(text);
}

Test(findings, with_text_that_is_not_utf_8_are_still_json)
{
	static const char *const bad[] = {
		"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\xe2\x82"};
	static const char *const good[] = {"?", "?", "??", "???", "????", "a??"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		tsr_finding_t sent = {.message = bad[i]};
		tsr_finding_t *read = through(&sent);
		cr_assert_str_eq(read->message, good[i]);
		tsr_finding_free(read);
	}
}

Test(findings, that_are_malformed_are_refused)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"{}", "''"},
		{"{\"class\":\"datarace\"}", "'datarace'"},
		{"{\"class\":\"misuse\",\"access\":[{},{},{},{},{},{},{},{},{}]}", "9 accesses"},
		{"{\"class\":\"deadlock\",\"nodes\":[{}],\"edges\":[{\"from\":0,\"to\":1}]}",
		 "edge"},
		{"{\"class\":\"deadlock\",\"nodes\":[{}],\"edges\":[7]}", "edge"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		tsr_finding_t *read = NULL;
		json_t *object = json_loads(bad[i].text, 0, NULL);
		cr_assert_eq(tsr_finding_parse(object, &read), TSR_ERR_CONFIG, "%s", bad[i].text);
		cr_assert(read == NULL);
		cr_assert(strstr(tsr_last_error(), bad[i].says) != NULL, "%s", tsr_last_error());
		json_decref(object);
	}
}

/* ---------------------------------------------------------------- advice */

typedef struct advised {
	const char *name;
	tsr_finding_t finding;
	const char *missing, *change; /* must be in the sentences */
} advised_t;

static void assert_advice(const advised_t *advised)
{
	tsr_finding_advice_t advice;
	tsr_finding_advise(&advised->finding, &advice);
	cr_assert(strstr(advice.missing, advised->missing) != NULL, "%s: missing: %s",
		  advised->name, advice.missing);
	cr_assert(strstr(advice.change, advised->change) != NULL, "%s: change: %s", advised->name,
		  advice.change);
	cr_assert(strchr(advice.missing, '{') == NULL && strchr(advice.change, '{') == NULL, "%s",
		  advised->name);
}

static tsr_finding_t linked(tsr_views_order_t signal, tsr_views_scope_t signal_scope,
			    tsr_views_order_t wait, tsr_views_scope_t wait_scope)
{
	tsr_finding_t f = race();
	f.access[2] =
		ordered(access_at("tsr_atomic_store", 30, TSR_FINDING_WRITE, worker_of(0, 3, 0)),
			signal, signal_scope);
	f.access[3] =
		ordered(access_at("tsr_atomic_load", 38, TSR_FINDING_READ, worker_of(1, 0, 0)),
			wait, wait_scope);
	f.accesses = 4;
	return f;
}

Test(findings, advise_which_side_of_a_link_is_too_weak)
{
	const tsr_views_order_t relaxed = TSR_VIEWS_RELAXED, acquire = TSR_VIEWS_ACQUIRE,
				release = TSR_VIEWS_RELEASE;
	const tsr_views_scope_t system = TSR_VIEWS_SYSTEM, device = TSR_VIEWS_DEVICE;
	advised_t both = {"both relaxed", linked(relaxed, system, relaxed, system),
			  "neither orders",
			  "make tsr_atomic_store at kernel.c:30 a release at system scope, and "
			  "tsr_atomic_load at kernel.c:38 an acquire at "
			  "system scope"};
	advised_t signal = {"relaxed signal", linked(relaxed, system, acquire, system),
			    "does not release tsr_put at kernel.c:28",
			    "make tsr_atomic_store at kernel.c:30 a release at system scope"};
	advised_t wait = {"relaxed wait", linked(release, system, relaxed, system),
			  "does not acquire tsr_put at kernel.c:28",
			  "make tsr_atomic_load at kernel.c:38 an acquire at system scope"};
	advised_t narrow = {"narrow signal", linked(release, device, acquire, system),
			    "release at device scope does not release", "release at system scope"};
	advised_t update = {"an acquiring update signals", linked(acquire, system, acquire, system),
			    "acquire at system scope", "an acq_rel at system scope"};
	advised_t same = {"one device", linked(relaxed, device, acquire, device), "",
			  "release at device scope"};
	for (int i = 0; i < TSR_FINDING_ACCESSES; i++)
		same.finding.access[i].who.rank = 0;
	advised_t reuse = {"a weak RETIRED", linked(relaxed, system, acquire, system),
			   "does not release", "release at system"};
	reuse.finding.class = TSR_FINDING_REUSE;
	advised_t apart = {"a signal by another worker", linked(release, system, acquire, system),
			   "tsr_atomic_store at kernel.c:30 of worker 1 wrote, which does not come "
			   "after tsr_put at kernel.c:28 of "
			   "worker 0",
			   "between tsr_put at kernel.c:28 and tsr_atomic_store at kernel.c:30"};
	apart.finding.access[2].who.worker = 1;
	advised_t alone = {"a wait by another worker", linked(release, system, acquire, system),
			   "but tsr_get at kernel.c:40 of worker 0 does not come after "
			   "tsr_atomic_load at kernel.c:38",
			   "between tsr_atomic_load at kernel.c:38 and tsr_get at kernel.c:40"};
	alone.finding.access[3].who.worker = 1;
	advised_t unread = {"a signal that nobody reads", linked(release, system, acquire, system),
			    "tsr_atomic_store at kernel.c:30 of rank 0, kernel send (f32), launch "
			    "2, block 3, worker 0 comes after",
			    "wait for what tsr_atomic_store at kernel.c:30 gives before tsr_get at "
			    "kernel.c:40"};
	unread.finding.access[3] = TSR_FINDING_NOWHERE;
	const advised_t *all[] = {&both, &signal, &wait,  &narrow, &update,
				  &same, &reuse,  &apart, &alone,  &unread};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		assert_advice(all[i]);
}

/**
 * Threads 0 to `count` - 1 on ranks of their own, or blocks of one, each of
 * which loads and then stores.
 */
static tsr_finding_t circle(int count, bool one_rank)
{
	tsr_finding_t f = {.class = TSR_FINDING_LOAD_BUFFERING, .accesses = 2 * count};
	for (int i = 0; i < 2 * count; i++) {
		const tsr_finding_who_t who = worker_of(one_rank ? 0 : i / 2, i / 2, 0);
		f.access[i] =
			i % 2 ? access_at("tsr_atomic_store", 31 + i / 2, TSR_FINDING_WRITE, who)
			      : access_at("tsr_atomic_load", 21 + i / 2, TSR_FINDING_READ, who);
		f.access[i] = ordered(f.access[i], TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM);
	}
	return f;
}

Test(findings, advise_what_opens_a_circle_of_loads_and_stores)
{
	advised_t two = {"two", circle(2, false),
			 "each load may read what the other thread's store writes later",
			 "make tsr_atomic_store at kernel.c:31 a release and tsr_atomic_load at "
			 "kernel.c:22 an acquire at system "
			 "scope"};
	advised_t three = {
		"three", circle(3, false),
		"nor tsr_atomic_load at kernel.c:23 before the store behind it",
		"make all these stores releases and all these loads acquires at system scope"};
	advised_t four = {"four blocks", circle(4, true),
			  "and the first what the last, writes later",
			  "at device scope; one of each may stay as it is"};
	assert_advice(&two);
	assert_advice(&three);
	assert_advice(&four);
}

Test(findings, advise_by_where_the_two_stand)
{
	advised_t ranks = {"two ranks, a put", race(), "nothing that rank 0 does",
			   "make tsr_put at kernel.c:28 a tsr_put_signal to rank 1"};
	advised_t store = {"two ranks, a store", race(), "nothing that rank 0 does",
			   "tsr_signal to rank 1 after tsr_store"};
	store.finding.access[1].call = "tsr_store";
	advised_t blocks = {
		"two blocks", race(),
		"nothing that rank 1, kernel send (f32), launch 2, block 3, worker 0 does",
		"both at device scope"};
	blocks.finding.access[1].who.rank = 1;
	advised_t workers = {"two workers", race(), "worker 4", "at block scope"};
	workers.finding.access[1].who = worker_of(1, 0, 4);
	advised_t host = {"the host reads its own", race(), "does not come after the kernel",
			  "tsr_stream_sync"};
	host.finding.access[0].who =
		(tsr_finding_who_t){.rank = 0, .launch = -1, .block = -1, .worker = -1};
	advised_t other = {"the host reads another's", host.finding, "on rank 0", "tsr_barrier"};
	other.finding.access[0].who.rank = 1;
	advised_t early = {"the host writes late", race(), "of the host of rank 0",
			   "before the launch"};
	early.finding.access[1].who =
		(tsr_finding_who_t){.rank = 0, .launch = -1, .block = -1, .worker = -1};
	advised_t reuse = {"reuse", race(), "is not known to be over",
			   "signal RETIRED after the read (tsr_signal to rank 1"};
	reuse.finding.class = TSR_FINDING_REUSE;
	const advised_t *all[] = {&ranks, &store, &blocks, &workers, &host, &other, &early, &reuse};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		assert_advice(all[i]);
}

/** A race that a value went across, from one call to another. */
static tsr_finding_t linked_by_calls(const char *signal, const char *wait)
{
	tsr_finding_t f = race();
	f.accesses = 4;
	f.access[2] = ordered(access_at(signal, 30, TSR_FINDING_UPDATE, worker_of(0, 3, 0)),
			      TSR_VIEWS_RELEASE, TSR_VIEWS_SYSTEM);
	f.access[3] = ordered(access_at(wait, 39, TSR_FINDING_UPDATE, worker_of(1, 0, 0)),
			      TSR_VIEWS_RELEASE, TSR_VIEWS_SYSTEM);
	return f;
}

/** Their orders are not the program's to choose. */
Test(findings, advise_what_a_program_can_change)
{
	advised_t added = {"a signal that adds", linked_by_calls("tsr_signal", "tsr_signal"),
			   "but does not wait for it",
			   "wait for what tsr_signal at kernel.c:30 gives before tsr_get at "
			   "kernel.c:40: tsr_wait"};
	advised_t atomic = {"an update", linked_by_calls("tsr_signal", "tsr_atomic_add"),
			    "does not acquire",
			    "make tsr_atomic_add at kernel.c:39 an acq_rel at system scope"};
	advised_t gather = {"a call of all blocks",
			    linked_by_calls("tsr_all_gather", "tsr_all_gather"),
			    "tsr_put at kernel.c:28 of rank 0, kernel send (f32), launch 2, block "
			    "3, worker 0 does not stand before",
			    "let all blocks of all ranks make that call between tsr_put at "
			    "kernel.c:28 and tsr_get at kernel.c:40"};
	assert_advice(&added);
	assert_advice(&atomic);
	assert_advice(&gather);
}

Test(findings, advise_a_coop_to_meet)
{
	advised_t two = {"two calls", race(),
			 "do not meet between tsr_put at kernel.c:28 and tsr_get at kernel.c:40",
			 "call tsr_sync, with the coop that makes both, between tsr_put at "
			 "kernel.c:28 and tsr_get at kernel.c:40"};
	two.finding.class = TSR_FINDING_COOP_RACE;
	two.finding.access[1].who = two.finding.access[0].who;
	advised_t again = {"a call in a loop", two.finding,
			   "between one tsr_get at kernel.c:40 and the next", "call tsr_sync"};
	again.finding.access[1] = again.finding.access[0];
	assert_advice(&two);
	assert_advice(&again);
}

/** Copies on streams are nobody's block: no signal of theirs can be had. */
Test(findings, advise_where_one_is_a_copy_on_a_stream)
{
	const tsr_finding_who_t copying = {.rank = 0, .kernel = "tsr_stream_put_2d", .launch = 3};
	advised_t ranks = {"another rank reads", race(),
			   "nothing that rank 0 does after tsr_stream_put_2d is waited for",
			   "launch a kernel behind tsr_stream_put_2d on its stream that does "
			   "tsr_signal to rank 1"};
	ranks.finding.access[1] = access_at("tsr_stream_put_2d", 0, TSR_FINDING_WRITE, copying);
	ranks.finding.access[1].file = NULL;
	advised_t same = {"my kernel reads", ranks.finding,
			  "does not come after tsr_stream_put_2d: no event orders",
			  "tsr_event_record behind tsr_stream_put_2d and let the stream of tsr_get "
			  "at kernel.c:40"};
	same.finding.access[0].who.rank = 0;
	advised_t late = {"it reads what my kernel wrote", race(),
			  "tsr_stream_put_2d does not come after tsr_put at kernel.c:28",
			  "tsr_event_record behind tsr_put at kernel.c:28 and let the stream of "
			  "tsr_stream_put_2d"};
	late.finding.access[0] = ranks.finding.access[1];
	advised_t reuse = {"my kernel overwrites", same.finding, "no event orders their streams",
			   "put both on one stream"};
	reuse.finding.class = TSR_FINDING_REUSE;
	const advised_t *all[] = {&ranks, &same, &late, &reuse};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		assert_advice(all[i]);
}

Test(findings, advise_the_narrowest_scope_that_reaches)
{
	tsr_finding_t f = race();
	f.class = TSR_FINDING_SCOPE_RACE;
	f.access[0] = ordered(f.access[0], TSR_VIEWS_ACQUIRE, TSR_VIEWS_SYSTEM);
	f.access[1] = ordered(f.access[1], TSR_VIEWS_RELEASE, TSR_VIEWS_DEVICE);
	assert_advice(&(advised_t){"the earlier is narrow", f, "does not reach rank 1",
				   "widen tsr_put at kernel.c:28 to system"});
	f.access[0].scope = TSR_VIEWS_BLOCK;
	assert_advice(&(advised_t){"both are narrow", f, "do not include each other",
				   "widen both to system scope"});
	f.access[1].who.rank = 1;
	assert_advice(&(advised_t){"one device", f, "does not reach",
				   "widen tsr_get at kernel.c:40 to device scope"});
}

Test(findings, of_every_class_but_two_advise_something)
{
	for (int class = 0; class < TSR_FINDING_CLASSES; class ++) {
		tsr_finding_t f = linked(TSR_VIEWS_RELAXED, TSR_VIEWS_BLOCK, TSR_VIEWS_RELAXED,
					 TSR_VIEWS_BLOCK);
		tsr_finding_advice_t advice;
		f.class = (tsr_finding_class_t) class;
		f.access[0] = ordered(f.access[0], TSR_VIEWS_RELAXED, TSR_VIEWS_BLOCK);
		tsr_finding_advise(&f, &advice);
		const bool silent =
			class == TSR_FINDING_MISUSE || class == TSR_FINDING_PROGRAM_FAILURE;
		cr_assert_eq(*advice.missing == '\0', silent, "%s",
			     tsr_finding_class_name(f.class));
		cr_assert_eq(*advice.change == '\0', silent, "%s", tsr_finding_class_name(f.class));
	}
}

Test(findings, take_the_executors_word_for_it)
{
	tsr_finding_t f = race();
	f.missing = "this one";
	f.change = "that one";
	assert_advice(&(advised_t){"said", f, "this one", "that one"});
}

/* ---------------------------------------------------------------- telling apart, printing */

Test(findings, are_one_by_class_sites_and_allocation)
{
	tsr_finding_t one = race(), other = race();
	other.access[0] = one.access[1];
	other.access[1] = one.access[0];
	other.access[0].who.block = 77;
	char *a = tsr_finding_key(&one), *b = tsr_finding_key(&other);
	cr_assert_str_eq(a, b); /* whichever comes first, and whoever it is */
	free(b);
	other.access[0].line++;
	b = tsr_finding_key(&other);
	cr_assert(strcmp(a, b) != 0);
	free(b);
	other = race();
	other.access[0].allocation = "outbox";
	b = tsr_finding_key(&other);
	cr_assert(strcmp(a, b) != 0);
	free(b);
	other = race();
	other.class = TSR_FINDING_REUSE;
	b = tsr_finding_key(&other);
	cr_assert(strcmp(a, b) != 0);
	free(b);
	free(a);
}

static char *printed(const tsr_finding_t *finding)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	tsr_finding_print(finding, out);
	fclose(out);
	return text;
}

Test(findings, are_printed_with_who_where_and_what)
{
	tsr_finding_t f =
		linked(TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM, TSR_VIEWS_ACQUIRE, TSR_VIEWS_SYSTEM);
	static const char *const wanted[] = {
		"finding: data-race: ",
		"tsr_get at kernel.c:40: read, plain",
		"tsr_put at kernel.c:28: write, plain",
		"rank 1, kernel send (f32), launch 2, block 0, worker 0, tile (0, 64)\n",
		"'inbox'+4096 (64 bytes) of rank 1\n",
		"tsr_atomic_store at kernel.c:30: write, relaxed at system scope",
		"\n  missing ",
		"\n  change ",
	};
	f.access[0].tiled = true;
	f.access[0].col = 64;
	char *text = printed(&f);
	int lines = 0, column = 0;
	for (const char *c = text; *c != '\0'; c++) {
		column = *c == '\n' ? 0 : column + 1;
		lines += *c == '\n';
		cr_assert(column <= 132);
	}
	cr_assert(lines >= 5 && lines <= 20, "%d lines", lines);
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		cr_assert(strstr(text, wanted[i]) != NULL, "no '%s' in\n%s", wanted[i], text);
	free(text);
}

Test(findings, say_how_large_an_allocation_is_that_was_left)
{
	tsr_finding_t f = race();
	f.class = TSR_FINDING_OUT_OF_BOUNDS;
	f.accesses = 1;
	f.access[0].allocation_bytes = 4100;
	char *text = printed(&f);
	cr_assert(strstr(text, "'inbox'+4096 (64 bytes) of rank 1, which has 4100 bytes") != NULL,
		  "%s", text);
	free(text);
}

Test(findings, draw_the_shortest_cycle_and_list_the_others)
{
	const tsr_finding_node_t nodes[] = {
		{.who = worker_of(2, 0, 0), .state = "waits for 'c'"},
		{.who = worker_of(0, 0, 0),
		 .state = "waits for 'a'",
		 .call = "tsr_wait",
		 .file = "k.c",
		 .line = 9},
		{.who = worker_of(3, 0, 0), .state = "waits for 'd'"},
		{.who = worker_of(1, 0, 0), .state = "waits for 'b'"},
		{.who = {.rank = -1}, .name = "a place on rank 0", .state = "8 of 8 are taken"},
	};
	/* 1 -> 3 -> 1 is the cycle; 1 -> 2 -> 3 -> 1 is longer; 0 waits for it, and 4 is a
	 * thing. */
	const tsr_finding_edge_t edges[] = {{0, 1, NULL}, {1, 2, NULL}, {1, 3, "its signal"},
					    {2, 3, NULL}, {3, 1, NULL}, {0, 4, NULL}};
	const tsr_finding_t f = {.class = TSR_FINDING_DEADLOCK,
				 .nodes = nodes,
				 .node_count = 5,
				 .edges = edges,
				 .edge_count = 6};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	tsr_finding_print_graph(&f, out);
	fclose(out);
	cr_assert_str_eq(
		text,
		"  the circle\n"
		"    +-> [1] rank 0, kernel send (f32), launch 2, block 0, worker 0: waits for 'a' "
		"(tsr_wait at k.c:9)\n"
		"    |    | waits for [3] (its signal)\n"
		"    |   [3] rank 1, kernel send (f32), launch 2, block 0, worker 0: waits for "
		"'b'\n"
		"    +--  | waits for [1]\n"
		"  the others\n"
		"    [0] rank 2, kernel send (f32), launch 2, block 0, worker 0: waits for 'c'\n"
		"        waits for [1], [4]\n"
		"    [2] rank 3, kernel send (f32), launch 2, block 0, worker 0: waits for 'd'\n"
		"        waits for [3]\n"
		"    [4] a place on rank 0: 8 of 8 are taken\n");
	free(text);
}

Test(findings, draw_a_chain_without_a_cycle)
{
	const tsr_finding_node_t nodes[] = {{.name = "a"}, {.name = "b"}};
	const tsr_finding_edge_t edges[] = {{0, 1, NULL}};
	const tsr_finding_t f = {.class = TSR_FINDING_LOST_SIGNAL,
				 .nodes = nodes,
				 .node_count = 2,
				 .edges = edges,
				 .edge_count = 1};
	char *text = printed(&f);
	cr_assert(strstr(text, "  who waits\n    [0] a\n        waits for [1]\n    [1] b\n") !=
			  NULL,
		  "%s", text);
	free(text);
}
