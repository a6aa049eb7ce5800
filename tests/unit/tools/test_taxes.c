/*
 * What a recording says of taxes, of recordings made up here: whose numbers are
 * known.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tessera/dev/collective.h"
#include "tools/bench/bench.h"

enum { RANKS = 2, RETIRED = 16, EACH = 16 };

/** A recording that grows: the rows of rank 0, then those of rank 1. */
typedef struct made {
	tsr_record_entry_t entries[RANKS * EACH];
	tsr_record_event_t events[RANKS * EACH];
	int entry_counts[RANKS], event_counts[RANKS], rank, entry_count, event_count;
} made_t;

static tsr_record_entry_t *entry(made_t *m, int launch)
{
	tsr_record_entry_t *e = &m->entries[m->entry_count++];
	m->entry_counts[m->rank]++;
	*e = (tsr_record_entry_t){.size = sizeof *e, .launch = launch};
	return e;
}

static tsr_record_event_t *event(made_t *m, int launch, tsr_record_kind_t kind, uint64_t begin_ns,
				 uint64_t end_ns)
{
	tsr_record_event_t *e = &m->events[m->event_count++];
	m->event_counts[m->rank]++;
	*e = (tsr_record_event_t){.size = sizeof *e,
				  .launch = launch,
				  .kind = kind,
				  .peer = 1 - m->rank,
				  .begin_ns = begin_ns,
				  .end_ns = end_ns};
	return e;
}

/** A flag for rank `owner` that the other one raises. */
static void set_flag(tsr_record_event_t *e, const char *name, int owner, int64_t epoch)
{
	(void)snprintf(e->name, sizeof e->name, "%s", name);
	e->owner = owner;
	e->offset_bytes = RETIRED + 8 * (uint64_t)(1 - owner);
	e->value = epoch;
}

/** The rank arrives at `at`, and waits for the other one. */
static void meet(made_t *m, int launch, const char *name, uint64_t at, int64_t epoch)
{
	set_flag(event(m, launch, TSR_RECORD_SIGNAL, at, at), name, 1 - m->rank, epoch);
	set_flag(event(m, launch, TSR_RECORD_WAIT, at, at + 10), name, m->rank, epoch);
}

/** Two runs of two kernels; in the second, rank 0 waits 1400 ns for rank 1. */
static void make(made_t *m)
{
	memset(m, 0, sizeof *m);
	for (m->rank = 0; m->rank < RANKS; m->rank++) {
		const bool first = m->rank == 0;
		for (int launch = 0; launch < 4; launch++)
			(void)entry(m, launch);
		meet(m, 1, "w.sync", first ? 100 : 900, 1);
		(void)event(m, 2, TSR_RECORD_PRODUCT, 1000, first ? 2000 : 3000);
		(void)event(m, 3, TSR_RECORD_SEND, first ? 1500 : 3000, first ? 2500 : 4000);
		meet(m, 3, "w.arrived", first ? 1700 : 3900, 2);
		meet(m, 3, "w.sync", first ? 2600 : 4000, 2);
	}
	m->rank = RANKS - 1; /* of events that a test adds */
}

static bench_idling_t idling_of(made_t *m)
{
	const bench_recording_t recording = {RANKS, m->entries, m->entry_counts, m->events,
					     m->event_counts};
	bench_idling_t idling;
	cr_assert_eq(bench_idling_of(&recording, &idling), TSR_OK);
	return idling;
}

Test(taxes, ranks_idle_until_the_last_one_arrives)
{
	static made_t m;
	make(&m);
	const bench_idling_t idling = idling_of(&m);
	cr_expect(idling.known);
	cr_expect_eq(idling.meetings, 1, "%d: of the second run, and no data's flags",
		     idling.meetings);
	cr_assert_float_eq(idling.idle_ns, 1400.0 / RANKS, 1e-9, "%g", idling.idle_ns);
	cr_expect_eq(idling.launches, 2, "%d", idling.launches);
}

Test(taxes, what_overlaps_is_a_share_of_the_shorter)
{
	static made_t m;
	make(&m);
	/* rank 0: 500 of 1000, rank 1: 0 of 1000 */
	cr_assert_float_eq(idling_of(&m).overlap, 0.25, 1e-9);
	/* a second worker that multiplies at the same time counts once; rank 1: 250 of 1000 */
	tsr_record_event_t *more = event(&m, 2, TSR_RECORD_PRODUCT, 2900, 3250);
	more->worker = 1;
	m.event_counts[RANKS - 1] = m.event_count - m.event_counts[0];
	cr_assert_float_eq(idling_of(&m).overlap, 0.375, 1e-9, "%g", idling_of(&m).overlap);
}

Test(taxes, who_reads_from_a_peer_communicates)
{
	static made_t m;
	make(&m);
	m.entries[2].begin_ns = 1000;
	m.entries[2].end_ns = 2000;
	m.entries[2].remote_read_bytes = 8;
	/* rank 0: 1000 of 1000 */
	cr_assert_float_eq(idling_of(&m).overlap, 0.5, 1e-9, "%g", idling_of(&m).overlap);
}

Test(taxes, a_copy_engine_launches_no_kernel)
{
	static made_t m;
	make(&m);
	for (int r = 0; r < RANKS; r++)
		(void)snprintf(m.entries[4 * r + 3].role, sizeof m.entries->role, "copy engine");
	cr_expect_eq(idling_of(&m).launches, 1);
}

Test(taxes, a_meeting_has_all_ranks)
{
	static made_t m;
	make(&m);
	m.event_counts[RANKS - 1]--; /* rank 1 does not wait */
	cr_expect_eq(idling_of(&m).meetings, 0);
	cr_expect_eq(idling_of(&m).idle_ns, 0);
}

/** In a collective of two blocks a rank: a block arrives, or waits for the other rank's. */
static void collect(made_t *m, int launch, int block, uint64_t at, int call)
{
	enum { ROUND = TSR_ALL_GATHER_MAX_BLOCKS, BEFORE = 7, COUNT = 256 };
	const int me = m->rank, other = 1 - me;
	tsr_record_event_t *signal = event(m, launch, TSR_RECORD_SIGNAL, at, at),
			   *wait = event(m, launch, TSR_RECORD_WAIT, at, at + 10);
	set_flag(signal, "c.state", other, block == 0 ? ROUND - 1 : 1);
	signal->offset_bytes = (uint64_t)(COUNT * me);
	set_flag(wait, "c.state", me, (int64_t)(BEFORE + call) * ROUND);
	wait->offset_bytes = (uint64_t)(COUNT * other);
	signal->block = wait->block = block;
}

Test(taxes, blocks_that_raise_counts_together_meet)
{
	static made_t m;
	memset(&m, 0, sizeof m);
	for (m.rank = 0; m.rank < RANKS; m.rank++) {
		(void)entry(&m, 0);
		(void)entry(&m, 1);
		for (int block = 0; block < 2; block++) {
			const uint64_t late = m.rank == 1 && block == 1 ? 300 : 0;
			collect(&m, 1, block, 1000 + late, 1);
			collect(&m, 1, block, 2000 + late, 2);
		}
	}
	const bench_idling_t idling = idling_of(&m);
	cr_expect_eq(idling.meetings, 2, "%d", idling.meetings);
	/* rank 0's blocks wait 300 ns each time, rank 1's not */
	cr_assert_float_eq(idling.idle_ns, 2 * 300.0 / RANKS, 1e-9, "%g", idling.idle_ns);
}

/** A call in one step: one block tells the other rank of the round that it has begun. */
static void begin_round(made_t *m, int launch, uint64_t at, int64_t round)
{
	enum { BEHIND_COUNTS = 256 * RANKS + 256, LINE = 128 };
	const int me = m->rank, other = 1 - me;
	tsr_record_event_t *signal = event(m, launch, TSR_RECORD_SIGNAL, at, at),
			   *wait = event(m, launch, TSR_RECORD_WAIT, at, at + 10);
	set_flag(signal, "c.state", other, round);
	signal->offset_bytes = (uint64_t)(BEHIND_COUNTS + LINE * me);
	set_flag(wait, "c.state", me, round);
	wait->offset_bytes = (uint64_t)(BEHIND_COUNTS + LINE * other);
}

Test(taxes, ranks_that_begin_a_call_in_one_step_meet)
{
	enum { ROUND = TSR_ALL_GATHER_MAX_BLOCKS };
	static made_t m;
	memset(&m, 0, sizeof m);
	for (m.rank = 0; m.rank < RANKS; m.rank++) {
		(void)entry(&m, 0);
		(void)entry(&m, 1);
		begin_round(&m, 1, m.rank == 0 ? 1000 : 1600, 3 * ROUND);
	}
	const bench_idling_t idling = idling_of(&m);
	cr_expect_eq(idling.meetings, 1, "%d", idling.meetings);
	cr_assert_float_eq(idling.idle_ns, 600.0 / RANKS, 1e-9, "%g", idling.idle_ns);
}

Test(taxes, events_that_had_no_room_make_it_unknown)
{
	static made_t m;
	make(&m);
	m.entries[1].events_lost = 1;
	cr_expect(!idling_of(&m).known);
}

Test(taxes, an_empty_recording_has_none)
{
	static made_t m;
	memset(&m, 0, sizeof m);
	const bench_idling_t idling = idling_of(&m);
	cr_expect(idling.known);
	cr_expect(idling.meetings == 0 && idling.launches == 0 && idling.overlap == 0);
}
