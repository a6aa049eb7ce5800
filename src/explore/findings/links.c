/*
 * The link of a race: where what came after the earlier access did reach the
 * later one's thread, by values that it read, though not in an order that
 * holds. The edge at which the order is lost is the one that is missing:
 *
 *   a write that does not release, or not far enough, and the read that saw it
 *   and may not acquire;
 *   a write by another worker of the earlier access's block, which had not met
 *   the one that made the access;
 *   a read by another worker of the later access's block, whom the one that
 *   makes the access has not met;
 *   or a write that would do, and that nobody has read: then there is no read
 *   to name.
 *
 * What hands anything on is noted step by step: ordered accesses, with whose
 * value they read, and what is given to and taken from edges. Only when a race
 * is told of are the steps gone through, from the earlier access on: who is
 * reached by them, over how few edges that do not order. A value that was read
 * before, or that was written before the earlier access, reaches nobody.
 */
#include "src/explore/links.h"

#include <stdlib.h>
#include <string.h>

/* with more, the older half is forgotten: a race over so long a way has no link */
enum { MOST_STEPS = 1 << 15 };

/* ------------------------------------------------------------------ noting */

static void add_step(tsr_links_t *links, const tsr_step_t *step)
{
	if (links->count == MOST_STEPS) {
		links->count /= 2;
		memmove(links->steps, links->steps + links->count,
			(size_t)links->count * sizeof *links->steps);
	}
	if (links->count == links->room) {
		const int room = links->room ? 2 * links->room : 256;
		tsr_step_t *steps = realloc(links->steps, (size_t)room * sizeof *steps);
		if (!steps)
			return; /* a link that is not told, and nothing else */
		links->steps = steps;
		links->room = room;
	}
	links->steps[links->count++] = *step;
}

static void add_access(tsr_exploration_t *x, tsr_step_kind_t kind, uint32_t operation,
		       const tsr_step_t *access)
{
	tsr_step_t step = *access;
	step.kind = kind;
	step.task = x->operations[operation].task;
	step.operation = operation;
	add_step(&x->links, &step);
}

void tsr_links_access(tsr_exploration_t *x, uint32_t operation, const tsr_step_t *read,
		      const tsr_step_t *written)
{
	if (read)
		add_access(x, TSR_STEP_READ, operation, read);
	if (written)
		add_access(x, TSR_STEP_WRITE, operation, written);
}

void tsr_links_wanted(tsr_exploration_t *x, uint32_t operation, const tsr_flag_wait_t *wait)
{
	tsr_step_t *last = x->links.count > 0 ? &x->links.steps[x->links.count - 1] : NULL;
	if (last && last->kind == TSR_STEP_READ && last->operation == operation &&
	    wait->cmp == TSR_CMP_GE && wait->shift == 0)
		last->wanted = wait->value;
}

void tsr_links_edge(tsr_exploration_t *x, tsr_step_kind_t kind, int task, const tsr_edge_t *edge,
		    const tsr_edge_t *other)
{
	if (edge)
		add_step(&x->links, &(tsr_step_t){.kind = kind,
						  .task = task,
						  .operation = x->links.latest,
						  .edge = edge,
						  .other = other});
}

void tsr_links_settle(tsr_exploration_t *x)
{
	x->links.count = 0;
}

void tsr_links_free(tsr_links_t *links)
{
	free(links->steps);
}

/* ------------------------------------------------------------------ who is reached */

/**
 * How something is reached: over edges that do not order, of which this is the
 * first; where there are none, the last edge.
 */
typedef struct reach {
	bool reached;
	int weak;              /* how much of them would have to change: weakness */
	uint32_t signal, wait; /* 0: no access yet */
} reach_t;

typedef struct edge_reach {
	const tsr_edge_t *edge;
	reach_t reach;
} edge_reach_t;

typedef struct search {
	tsr_exploration_t *x;
	uint32_t before, now;
	/* the first write that would do, in the memory of `now`'s rank */
	uint32_t unread;
	reach_t *task, *operation; /* tasks as they are now; operations as they wrote */
	/* of a write: whose value a read of it takes too, as updates go on with what they found
	 * (MP.rs.rmw.diffGPU-sss); the one that is reached best. 0: nobody's */
	uint32_t *head;
	edge_reach_t *edges;
	int edge_count;
} search_t;

static void improve(reach_t *reach, const reach_t *by)
{
	if (by->reached && (!reach->reached || by->weak < reach->weak))
		*reach = *by;
}

static reach_t *reach_of(search_t *s, const tsr_edge_t *edge)
{
	for (int i = s->edge_count - 1; i >= 0; i--)
		if (s->edges[i].edge == edge)
			return &s->edges[i].reach;
	s->edges[s->edge_count] = (edge_reach_t){.edge = edge};
	return &s->edges[s->edge_count++].reach;
}

static bool releases(tsr_views_order_t order)
{
	return order == TSR_VIEWS_RELEASE || order == TSR_VIEWS_ACQ_REL ||
	       order == TSR_VIEWS_SEQ_CST;
}

static bool acquires(tsr_views_order_t order)
{
	return order == TSR_VIEWS_ACQUIRE || order == TSR_VIEWS_ACQ_REL ||
	       order == TSR_VIEWS_SEQ_CST;
}

static tsr_finding_who_t who_of(const search_t *s, const tsr_operation_t *operation)
{
	const tsr_task_who_t *who = tsr_explorer_who(s->x->explorer, operation->task);
	return tsr_who_found(who);
}

/**
 * Whether reading what it wrote orders anything: by itself, or, as far as the
 * reader knows now, by a fence.
 */
static bool is_strong(const search_t *s, uint32_t signal, uint32_t wait)
{
	const tsr_operation_t *from = &s->x->operations[signal], *to = &s->x->operations[wait];
	const tsr_operation_t *before = &s->x->operations[s->before];
	const tsr_finding_who_t giver = who_of(s, from), taker = who_of(s, to);
	const tsr_views_scope_t scope = tsr_finding_scope_between(&giver, &taker);
	if (releases(from->order) && acquires(to->order) && from->scope >= scope &&
	    to->scope >= scope)
		return true;
	return from->task == to->task ||
	       tsr_views_knows(s->x->views, s->x->actors[to->task].thread,
			       s->x->actors[before->task].thread, before->epoch);
}

/** Whether a read can be told to acquire: a signal that adds cannot. */
static bool can_acquire(const tsr_operation_t *read)
{
	return read->kind == TSR_FINDING_WAIT ||
	       strncmp(read->site.call, "tsr_atomic_", strlen("tsr_atomic_")) == 0;
}

/** How much is wrong with this edge: 0: it orders. Less is the likelier bug. */
static int weakness(const search_t *s, uint32_t signal, uint32_t wait)
{
	const tsr_operation_t *from = &s->x->operations[signal], *to = &s->x->operations[wait];
	const tsr_finding_who_t giver = who_of(s, from), taker = who_of(s, to);
	const tsr_views_scope_t scope = tsr_finding_scope_between(&giver, &taker);
	if (is_strong(s, signal, wait))
		return 0;
	const int gives = !releases(from->order) || from->scope < scope,
		  takes = !acquires(to->order) || to->scope < scope;
	return gives + (takes && !can_acquire(to) ? 2 : takes) + !(gives || takes);
}

/** Whether they are two workers of one block. */
static bool are_siblings(const search_t *s, int a, int b)
{
	const tsr_task_who_t *one = tsr_explorer_who(s->x->explorer, a),
			     *other = tsr_explorer_who(s->x->explorer, b);
	return a != b && one->kind == TSR_TASK_WORKER && other->kind == TSR_TASK_WORKER &&
	       one->rank == other->rank && one->launch == other->launch &&
	       one->block == other->block;
}

/**
 * Whether the later access's thread could have waited for it: flags are in the
 * memory of those who wait.
 */
static bool would_do(const search_t *s, const tsr_operation_t *signal)
{
	const tsr_operation_t *now = &s->x->operations[s->now];
	const tsr_finding_who_t giver = who_of(s, signal), taker = who_of(s, now);
	return taker.kernel && signal->task != now->task && signal->area >= 0 &&
	       s->x->areas[signal->area].rank == taker.rank && releases(signal->order) &&
	       signal->scope >= tsr_finding_scope_between(&giver, &taker);
}

static void write_by(search_t *s, const tsr_step_t *step)
{
	const int first = s->x->operations[s->before].task;
	reach_t reach = s->task[step->task];
	if (reach.reached && reach.weak == 0 && !s->unread &&
	    would_do(s, &s->x->operations[step->operation]))
		s->unread = step->operation;
	if (!reach.reached && step->operation > s->before && are_siblings(s, step->task, first))
		reach = (reach_t){true, 1, step->operation, 0};
	s->operation[step->operation] = reach;
	const reach_t *head = &s->operation[s->head[step->operation]];
	if (!head->reached || (reach.reached && reach.weak <= head->weak))
		s->head[step->operation] = step->operation;
}

static void read_of(search_t *s, const tsr_step_t *step, uint32_t signal)
{
	reach_t reach = s->operation[signal];
	if (reach.weak > 0 && !reach.wait) {
		reach.wait = step->operation; /* of what a sibling wrote */
	} else if (reach.weak == 0) {
		reach.signal = signal;
		reach.wait = step->operation;
	}
	reach.weak += reach.reached ? weakness(s, signal, step->operation) : 0;
	improve(&s->task[step->task], &reach);
}

static void read_from(search_t *s, const tsr_step_t *step)
{
	const uint32_t head = s->head[step->from];
	read_of(s, step, step->from);
	if (head && head != step->from)
		read_of(s, step, head);
	s->head[step->operation] = head; /* if it goes on to write */
}

static void go(search_t *s, const tsr_step_t *step)
{
	const tsr_operation_t *before = &s->x->operations[s->before];
	if (step->task == before->task && step->operation >= s->before)
		s->task[step->task] = (reach_t){.reached = true};
	switch (step->kind) {
	case TSR_STEP_WRITE:
		write_by(s, step);
		break;
	case TSR_STEP_READ:
		read_from(s, step);
		break;
	case TSR_STEP_GIVE:
		improve(reach_of(s, step->edge), &s->task[step->task]);
		break;
	case TSR_STEP_TAKE:
		improve(&s->task[step->task], reach_of(s, step->edge));
		break;
	case TSR_STEP_JOIN: {
		const reach_t other = *reach_of(s, step->other);
		improve(reach_of(s, step->edge), &other);
		break;
	}
	case TSR_STEP_DROP:
		*reach_of(s, step->edge) = (reach_t){.reached = false};
		break;
	}
}

static void tell(tsr_exploration_t *x, uint32_t operation, tsr_finding_access_t *out)
{
	const tsr_operation_t *told = &x->operations[operation];
	if (operation)
		tsr_operation_tell(x, operation, told->area, told->offset, told->bytes, out);
	else
		*out = TSR_FINDING_NOWHERE;
}

/**
 * What reaches the later access's thread; else another worker of its block;
 * else, of what one of the two reads, nobody.
 */
static reach_t best(const search_t *s, int tasks, const tsr_finding_t *finding)
{
	const int now = s->x->operations[s->now].task;
	if (s->task[now].reached && s->task[now].weak > 0)
		return s->task[now];
	for (int task = 0; task < tasks; task++)
		if (s->task[task].reached && s->task[task].weak == 0 && s->task[task].wait &&
		    are_siblings(s, task, now))
			return s->task[task];
	const bool read = finding->access[0].kind == TSR_FINDING_READ ||
			  finding->access[1].kind == TSR_FINDING_READ;
	return (reach_t){.signal = read ? s->unread : 0};
}

/** Whether the one call stands before the other in the program's text. */
static bool stands_before(const tsr_operation_t *a, const tsr_operation_t *b)
{
	return a->site.file && b->site.file && strcmp(a->site.file, b->site.file) == 0 &&
	       a->site.line < b->site.line;
}

/**
 * A credit that was given before a read was over: the last that the writer's
 * thread has read of what the reader's gave, before the write, in an order that
 * holds. Where the write came first, that is so only if the credit stands
 * before the read: one that stands behind it is that of the read before. None:
 * no signal.
 */
static reach_t early_of(const search_t *s, const tsr_links_t *links, const tsr_finding_t *finding)
{
	const bool read_first = finding->access[1].kind == TSR_FINDING_READ;
	const uint32_t read = read_first ? s->before : s->now,
		       write = read_first ? s->now : s->before;
	const tsr_operation_t *operations = s->x->operations;
	if (finding->access[read_first ? 0 : 1].kind == TSR_FINDING_READ ||
	    (!read_first && finding->access[0].kind != TSR_FINDING_READ))
		return (reach_t){.signal = 0};
	for (int i = links->count - 1; i >= 0; i--) {
		const tsr_step_t *step = &links->steps[i];
		if (step->kind != TSR_STEP_READ || step->task != operations[write].task ||
		    step->operation >= write || step->from >= read ||
		    operations[step->from].task != operations[read].task)
			continue;
		if (releases(operations[step->from].order) &&
		    acquires(operations[step->operation].order) &&
		    (read_first || stands_before(&operations[step->from], &operations[read])))
			return (reach_t){
				.reached = true, .signal = step->from, .wait = step->operation};
		break;
	}
	return (reach_t){.signal = 0};
}

/**
 * A credit that another worker of the reader's block has given before a read was
 * over, behind that read in the program's text: it speaks for all of the block.
 * The last that the writer's thread has read before the write; none: no signal.
 */
static reach_t spoken_of(const search_t *s, const tsr_links_t *links, uint32_t read, uint32_t write)
{
	const tsr_operation_t *operations = s->x->operations;
	for (int i = links->count - 1; i >= 0; i--) {
		const tsr_step_t *step = &links->steps[i];
		const tsr_operation_t *given = &operations[step->from];
		if (step->kind == TSR_STEP_READ && step->task == operations[write].task &&
		    step->operation < write && step->from < read &&
		    are_siblings(s, given->task, operations[read].task) &&
		    stands_before(&operations[read], given) && releases(given->order) &&
		    acquires(operations[step->operation].order))
			return (reach_t){true, 1, step->from, step->operation};
	}
	return (reach_t){.signal = 0};
}

bool tsr_links_spoken(tsr_exploration_t *x, uint32_t read, uint32_t write)
{
	const search_t s = {.x = x};
	const reach_t spoken = spoken_of(&s, &x->links, read, write);
	const uint32_t previous = spoken.signal ? tsr_rounds_previous(x, read) : 0;
	const int teller = x->operations[spoken.signal].task, reader = x->operations[read].task;
	/* a credit that comes after the read of the round before may be for that one */
	return spoken.signal && !(previous && tsr_views_knows(x->views, x->actors[teller].thread,
							      x->actors[reader].thread,
							      x->operations[previous].epoch));
}

uint32_t tsr_links_tell(tsr_exploration_t *x, uint32_t before, uint32_t now, tsr_finding_t *finding)
{
	const tsr_links_t *links = &x->links;
	const int tasks = tsr_explorer_tasks(x->explorer);
	const size_t room = x->operation_room;
	search_t s = {.x = x,
		      .before = before,
		      .now = now,
		      .task = calloc((size_t)tasks + room, sizeof *s.task),
		      .head = calloc(room, sizeof *s.head),
		      .edges = malloc((2 * (size_t)links->count + 1) * sizeof *s.edges)};
	uint32_t unread = 0;
	if (s.task && s.head && s.edges) {
		s.operation = s.task + tasks;
		for (int i = 0; i < links->count; i++)
			go(&s, &links->steps[i]);
		reach_t reach = best(&s, tasks, finding);
		const reach_t early =
			reach.wait ? (reach_t){.signal = 0} : early_of(&s, links, finding);
		if (early.signal) {
			reach = early;
			finding->early = true;
		}
		if (!reach.signal && finding->access[1].kind == TSR_FINDING_READ)
			reach = spoken_of(&s, links, before, now);
		/* that a signal has found it in another word is by chance */
		if (reach.wait && !can_acquire(&x->operations[reach.wait]) && s.unread)
			reach = (reach_t){.signal = s.unread};
		if (reach.signal) {
			tell(x, reach.signal, &finding->access[2]);
			tell(x, reach.wait, &finding->access[3]);
			finding->accesses = 4;
		}
		unread = reach.wait ? 0 : reach.signal;
	}
	free(s.task);
	free(s.head);
	free(s.edges);
	return unread;
}
