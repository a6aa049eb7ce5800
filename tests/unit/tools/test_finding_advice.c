/* What a finding says is missing, and what it advises to change. */
#include <criterion/criterion.h>
#include <string.h>

#include "sample_findings.h"
#include "tools/check/finding_text.h"

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

Test(findings, advise_by_the_numbers_of_ranks_in_their_team)
{
	advised_t world = {"a put in the world", race(), "nothing that rank 0 does after",
			   "tsr_put_signal to rank 1 (or"};
	advised_t team = {"a put in a team", race(),
			  "nothing that rank 1 of team 'row' (rank 0 of the world) does after",
			  "tsr_put_signal to rank 0 of team 'row' (rank 1 of the world) (or"};
	for (int i = 0; i < 2; i++) {
		team.finding.access[i].who.team = "row";
		team.finding.access[i].who.team_rank = i;
	}
	assert_advice(&world);
	assert_advice(&team);
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
		"tsr_atomic_load at kernel.c:23 before the store behind it",
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

/** Which call a flag is raised and waited for by, where it is. */
Test(findings, advise_calls_that_the_flag_takes)
{
	advised_t put = {"a flag that is put", race(), "waits for what tsr_put at kernel.c:28 puts",
			 "raise the flag by tsr_signal in place of tsr_put at kernel.c:28"};
	put.finding.access[0] =
		ordered(access_at("tsr_wait", 40, TSR_FINDING_WAIT, worker_of(1, 0, 0)),
			TSR_VIEWS_ACQUIRE, TSR_VIEWS_SYSTEM);
	advised_t later = {"one that is put later", put.finding,
			   "waits for what tsr_put at kernel.c:28 puts",
			   "in place of tsr_put at kernel.c:28"};
	later.finding.class = TSR_FINDING_REUSE;
	later.finding.access[0] = put.finding.access[1];
	later.finding.access[1] = put.finding.access[0];
	advised_t narrow = {"a local wait for a rank",
			    linked_by_calls("tsr_signal", "tsr_wait_local"), "does not acquire",
			    "make tsr_wait_local at kernel.c:39 a tsr_wait"};
	narrow.finding.access[3].kind = TSR_FINDING_WAIT;
	narrow.finding.access[3].order = TSR_VIEWS_ACQUIRE;
	narrow.finding.access[3].scope = TSR_VIEWS_DEVICE;
	advised_t word = {"a relaxed wait for a word",
			  linked_by_calls("tsr_signal", "tsr_wait_word"), "does not acquire",
			  "make tsr_wait_word at kernel.c:39 an acquire at system scope"};
	word.finding.access[3].kind = TSR_FINDING_WAIT;
	word.finding.access[3].order = TSR_VIEWS_RELAXED;
	advised_t shared = {
		"a flag in shared memory", linked_by_calls("tsr_signal_local", "tsr_wait_local"),
		"nothing waits for it", "gives before tsr_get at kernel.c:40: tsr_wait_local, or"};
	shared.finding.accesses = 3;
	shared.finding.access[2].kind = TSR_FINDING_WRITE;
	shared.finding.access[2].target = -1;
	advised_t unset = {"a flag that is not cleared", put.finding, "nobody has cleared it",
			   "tsr_shared_clear"};
	unset.finding.class = TSR_FINDING_UNWRITTEN_READ;
	unset.finding.accesses = 1;
	unset.finding.access[0].target = -1;
	const advised_t *all[] = {&put, &later, &narrow, &word, &shared, &unset};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		assert_advice(all[i]);
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
	same.finding.access[1].who.launch = 1;
	advised_t ahead = {
		"my kernel, launched before it, reads", same.finding,
		"tsr_stream_put_2d does not come after tsr_get at kernel.c:40, which was "
		"launched first",
		"tsr_event_record behind tsr_get at kernel.c:40 and let the stream of "
		"tsr_stream_put_2d"};
	ahead.finding.access[1].who.launch = 3;
	advised_t late = {"it reads what my kernel wrote", race(),
			  "tsr_stream_put_2d does not come after tsr_put at kernel.c:28",
			  "tsr_event_record behind tsr_put at kernel.c:28 and let the stream of "
			  "tsr_stream_put_2d"};
	late.finding.access[0] = ranks.finding.access[1];
	advised_t reuse = {"my kernel overwrites", same.finding, "no event orders their streams",
			   "put both on one stream"};
	reuse.finding.class = TSR_FINDING_REUSE;
	const advised_t *all[] = {&ranks, &same, &ahead, &late, &reuse};
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

Test(findings, of_every_class_but_one_advise_something)
{
	for (int class = 0; class < TSR_FINDING_CLASSES; class ++) {
		tsr_finding_t f = linked(TSR_VIEWS_RELAXED, TSR_VIEWS_BLOCK, TSR_VIEWS_RELAXED,
					 TSR_VIEWS_BLOCK);
		tsr_finding_advice_t advice;
		f.class = (tsr_finding_class_t) class;
		f.access[0] = ordered(f.access[0], TSR_VIEWS_RELAXED, TSR_VIEWS_BLOCK);
		tsr_finding_advise(&f, &advice);
		const bool silent = class == TSR_FINDING_MISUSE;
		cr_assert_eq(*advice.missing == '\0',
			     silent || class == TSR_FINDING_PROGRAM_FAILURE, "%s",
			     tsr_finding_class_name(f.class));
		cr_assert_eq(*advice.change == '\0', silent, "%s", tsr_finding_class_name(f.class));
	}
}

/** What one call writes to one place from two threads is seldom meant to be ordered. */
Test(findings, advise_a_place_for_each_of_two_that_write_by_one_call)
{
	advised_t ranks = {"two ranks", race(), "both rank 1", "let each rank write to a place"};
	ranks.finding.access[0] = ranks.finding.access[1];
	ranks.finding.access[0].who = worker_of(1, 0, 0);
	advised_t blocks = {"two blocks", ranks.finding, "both rank 0",
			    "let each block write to a place"};
	blocks.finding.access[0].who = worker_of(0, 7, 0);
	assert_advice(&ranks);
	assert_advice(&blocks);
}

Test(findings, advise_the_call_that_reaches_ranks)
{
	tsr_finding_t f = race();
	f.class = TSR_FINDING_SCOPE_RACE;
	f.access[0] = ordered(f.access[0], TSR_VIEWS_ACQUIRE, TSR_VIEWS_DEVICE);
	f.access[1] = ordered(f.access[1], TSR_VIEWS_RELEASE, TSR_VIEWS_DEVICE);
	f.access[0].call = "tsr_wait_local";
	f.access[1].call = "tsr_signal_local";
	assert_advice(&(advised_t){"both are local", f, "reach one device at most",
				   "call tsr_wait in place of tsr_wait_local at kernel.c:40, and "
				   "tsr_signal in place of tsr_signal_local at kernel.c:28"});
	f.access[1].call = "tsr_atomic_store";
	f.access[1].scope = TSR_VIEWS_SYSTEM;
	assert_advice(&(advised_t){"the wait is", f, "and not rank 0",
				   "call tsr_wait in place of tsr_wait_local at kernel.c:40"});
	f.access[1].who.rank = 1;
	f.access[0].scope = f.access[1].scope = TSR_VIEWS_BLOCK;
	assert_advice(&(advised_t){"on one device", f, "", "widen both to device scope"});
}

/** The cure that a sentence of the library's names, and not what a program says. */
Test(findings, advise_what_is_said)
{
	tsr_finding_t f = {.class = TSR_FINDING_MISUSE,
			   .message = "of a lock that is free; unlock"};
	assert_advice(&(advised_t){"a misuse", f, "", "unlock"});
	f.class = TSR_FINDING_COLLECTIVE;
	f.message = "rank 0 calls it at a.c:1, where rank 1 does not: call it on all";
	assert_advice(&(advised_t){"a mismatch", f, "", "call it on all"});
	f.class = TSR_FINDING_PROGRAM_FAILURE;
	f.message = "rank 0 ended with exit code 1: tessera: tsr_x: no: give it (5 bytes) more (it "
		    "has: none)";
	assert_advice(&(advised_t){"an error", f, "", "give it (5 bytes) more"});
	tsr_finding_advice_t advice;
	tsr_finding_advise(&f, &advice);
	cr_assert_str_eq(advice.change, "give it (5 bytes) more");
	f.message = "rank 0 ended with exit code 1: wrong: 5 and not 4";
	assert_advice(&(advised_t){"the program's words", f, "", "look in the program itself"});
	f.message = "rank 0 ended with exit code 1: tessera: open: Permission denied";
	assert_advice(&(advised_t){"the system's words", f, "", "look in the program itself"});
}

Test(findings, take_the_executors_word_for_it)
{
	tsr_finding_t f = race();
	f.missing = "this one";
	f.change = "that one";
	assert_advice(&(advised_t){"said", f, "this one", "that one"});
}
