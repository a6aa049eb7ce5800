/*
 * Runs that end otherwise than well: nobody can go on, a rank's program fails,
 * or the world ends.
 */
#include "src/explore/elsewhere.h"
#include "src/explore/exploration_state.h"
#include "src/explore/missed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/error.h"
#include "src/base/text.h"

/* ------------------------------------------------------------------ nobody can go on */

static const tsr_finding_class_t stuck_classes[] = {
	[TSR_STUCK_DEADLOCK] = TSR_FINDING_DEADLOCK,
	[TSR_STUCK_LOST_SIGNAL] = TSR_FINDING_LOST_SIGNAL,
	[TSR_STUCK_RESIDENCY] = TSR_FINDING_RESIDENCY,
	[TSR_STUCK_LIVELOCK] = TSR_FINDING_LIVELOCK,
};

/** The loop of a kernel that goes round: of the cycle, or else of anybody; null: there is none. */
static const tsr_stuck_node_t *first_spinner(const tsr_stuck_t *stuck)
{
	for (int i = 0; i < stuck->cycle_count; i++)
		if (stuck->node[stuck->cycle[i]].kind == TSR_AWAIT_SPIN)
			return &stuck->node[stuck->cycle[i]];
	for (int i = 0; i < stuck->nodes; i++)
		if (stuck->node[i].kind == TSR_AWAIT_SPIN)
			return &stuck->node[i];
	return NULL;
}

/** The meeting of a deadlock among workers of one block; null: it is no such deadlock. */
static const tsr_stuck_node_t *meeting_within(const tsr_stuck_t *stuck)
{
	const tsr_stuck_node_t *meeting = NULL;
	if (stuck->class != TSR_STUCK_DEADLOCK)
		return NULL;
	for (int i = 0; i < stuck->cycle_count; i++) {
		const tsr_stuck_node_t *node = &stuck->node[stuck->cycle[i]];
		if (node->task == TSR_NO_TASK || node->who.kind != TSR_TASK_WORKER ||
		    tsr_block_number(&node->who) !=
			    tsr_block_number(&stuck->node[stuck->cycle[0]].who))
			return NULL;
		if (node->kind == TSR_AWAIT_MEETING)
			meeting = node;
	}
	return meeting;
}

/**
 * The wait that a report names first: of a livelock the loop; else a meeting, or
 * another wait of the cycle, or of whoever waits for what nobody can give.
 */
static const tsr_stuck_node_t *first_node(const tsr_stuck_t *stuck)
{
	if (stuck->class == TSR_STUCK_LIVELOCK && first_spinner(stuck))
		return first_spinner(stuck);
	if (meeting_within(stuck))
		return meeting_within(stuck);
	for (int i = 0; i < stuck->nodes; i++)
		if (stuck->class == TSR_STUCK_LOST_SIGNAL && stuck->node[i].root &&
		    stuck->node[i].kind == TSR_AWAIT_FLAG)
			return &stuck->node[i];
	for (int i = 0; i < stuck->cycle_count; i++)
		if (stuck->node[stuck->cycle[i]].task != TSR_NO_TASK &&
		    stuck->node[stuck->cycle[i]].who.kind == TSR_TASK_WORKER)
			return &stuck->node[stuck->cycle[i]];
	return stuck->cycle_count > 0 ? &stuck->node[stuck->cycle[0]]
	       : stuck->nodes > 0     ? &stuck->node[0]
				      : NULL;
}

static void tell_graph(const tsr_stuck_t *stuck, tsr_finding_node_t *nodes,
		       tsr_finding_edge_t *edges, tsr_finding_t *finding)
{
	for (int i = 0; i < stuck->nodes; i++) {
		const tsr_stuck_node_t *node = &stuck->node[i];
		nodes[i] = (tsr_finding_node_t){.who = tsr_who_found(&node->who),
						.call = node->site.call,
						.file = node->site.file,
						.line = node->site.line,
						.state = node->sentence};
	}
	for (int i = 0; i < stuck->edges; i++)
		edges[i] =
			(tsr_finding_edge_t){.from = stuck->edge[i].from, .to = stuck->edge[i].to};
	finding->nodes = nodes;
	finding->node_count = stuck->nodes;
	finding->edges = edges;
	finding->edge_count = stuck->edges;
}

/**
 * The access that a task goes round by, or 0: the last one of those it made at
 * the node's place. A turn of the loop may have several other accesses.
 */
static uint32_t spun_by(const tsr_exploration_t *x, const tsr_stuck_node_t *node)
{
	enum { LOOKED_AT = 1 << 16 };
	const uint32_t latest = x->links.latest;
	if (node->kind != TSR_AWAIT_SPIN || node->task == TSR_NO_TASK)
		return 0;
	for (uint32_t number = latest; number > 0 && latest - number < LOOKED_AT; number--) {
		const tsr_operation_t *operation = &x->operations[number];
		if (operation->area >= 0 && operation->task == node->task && node->site.call &&
		    operation->site.line == node->site.line &&
		    strcmp(operation->site.call, node->site.call) == 0)
			return number;
	}
	return 0;
}

/** What a loop that goes round sees: said of each, since the explorer knows nothing of memory. */
static void say_spins(tsr_exploration_t *x, tsr_stuck_t *stuck)
{
	for (int i = 0; i < stuck->nodes; i++) {
		tsr_stuck_node_t *node = &stuck->node[i];
		const uint32_t number = spun_by(x, node);
		if (number == 0)
			continue;
		const tsr_operation_t *operation = &x->operations[number];
		tsr_finding_access_t access;
		char of[48] = "", index[TSR_FINDING_INDEX_TEXT];
		tsr_operation_tell(x, number, operation->area, operation->offset, operation->bytes,
				   &access);
		if (access.target >= 0)
			snprintf(of, sizeof of, " of rank %d%s", access.target,
				 tsr_of_world(access.who.team));
		snprintf(node->sentence, sizeof node->sentence,
			 "goes round, and sees %" PRIu64 " in %s%s%s",
			 tsr_area_value(&x->areas[operation->area], operation->offset,
					operation->bytes),
			 access.allocation, tsr_finding_index_text(&access, index), of);
	}
}

/** Whether it waits for a flag by itself: not for a lock, nor for words that carry their flag. */
static bool is_plain_wait(const tsr_flag_watch_t *watch, const tsr_exploration_t *x)
{
	const char *call = x->operations[watch->operation].site.call;
	return watch->wait->shift == 0 && call &&
	       strncmp(call, "tsr_wait", strlen("tsr_wait")) == 0;
}

/**
 * The access that a report names first: with memory and values, where it is a
 * wait for a flag or goes round.
 */
static void tell_first(tsr_exploration_t *x, const tsr_stuck_node_t *node, tsr_finding_t *finding)
{
	tsr_finding_access_t *access = &finding->access[0];
	const tsr_flag_watch_t *watch = tsr_watch_of(x, node);
	const uint32_t spun = spun_by(x, node);
	access->who = tsr_who_found(&node->who);
	access->call = node->site.call;
	access->file = node->site.file;
	access->line = node->site.line;
	access->kind = TSR_FINDING_WAIT;
	finding->message = node->sentence;
	if (spun)
		tsr_operation_tell(x, spun, x->operations[spun].area, x->operations[spun].offset,
				   x->operations[spun].bytes, access);
	if (!watch)
		return;
	const tsr_last_signal_t *last = &x->signals[watch->object % TSR_SIGNALS];
	const size_t bytes = watch->wait->word_bytes;
	tsr_operation_tell(x, watch->operation, watch->area, watch->offset, bytes, access);
	access->valued = true;
	access->expected = watch->wait->value;
	access->seen =
		tsr_area_value(&x->areas[watch->area], watch->offset, bytes) >> watch->wait->shift;
	if (finding->class == TSR_FINDING_LOST_SIGNAL && last->object == watch->object)
		finding->access[finding->accesses++] = last->access;
}

/** Who waits for a value that has come and gone; null: nobody does, or it is not for that. */
static const tsr_stuck_node_t *node_that_missed(tsr_exploration_t *x, const tsr_stuck_t *stuck,
						tsr_missed_t *missed_out)
{
	for (int i = 0; i < stuck->nodes && stuck->class != TSR_STUCK_RESIDENCY; i++)
		if (tsr_missed(x, &stuck->node[i], spun_by(x, &stuck->node[i]), missed_out))
			return &stuck->node[i];
	return NULL;
}

/** It is named, with the write that it has missed. */
static void tell_missed(const tsr_missed_t *missed, tsr_finding_t *finding)
{
	finding->accesses = 2;
	finding->access[1] = missed->gave;
	finding->missing = missed->missing;
	finding->change = missed->change;
}

/** Workers of a block meet, and one of them has ended: nobody signals here. */
static void tell_unmet(tsr_finding_t *finding)
{
	finding->class = TSR_FINDING_MISUSE;
	finding->access[0].kind = TSR_FINDING_CALL;
	finding->missing =
		"a worker of the block has ended without this call, for which all of its "
		"workers meet";
	finding->change = "let all workers of the block make each call with the block, or none of "
			  "them; what one worker does alone it calls with the worker";
}

/** Workers of a block meet, and one of them waits for what another does behind the meeting. */
static void tell_kept_from_meeting(tsr_finding_t *finding)
{
	finding->missing = "a worker of the block waits for what another does only behind this "
			   "call, for which all of its workers meet";
	finding->change =
		"let all workers of the block make each call with the block before they "
		"wait for each other; what one worker does alone it calls with the worker";
}

/**
 * What the rank that is waited for did raise. Of a deadlock the wait is told
 * first for which a signal went astray.
 */
static void tell_raised(tsr_exploration_t *x, const tsr_stuck_t *stuck,
			const tsr_stuck_node_t *first, tsr_advice_text_t *text,
			tsr_finding_t *finding)
{
	const tsr_flag_watch_t *watch = first ? tsr_watch_of(x, first) : NULL;
	tsr_raised_t raised;
	if (watch && !is_plain_wait(watch, x))
		return;
	const uint32_t skipped =
		watch && finding->class == TSR_FINDING_LOST_SIGNAL &&
				watch->wait->from == finding->access[0].who.rank
			? tsr_raised_elsewhere(x, watch->wait->from, watch->area, watch->offset)
			: 0;
	if (skipped) {
		tsr_raised_tell_elsewhere(x, watch, skipped, text, finding);
		return;
	}
	bool astray = watch && tsr_raised_find(x, watch, &raised);
	for (int i = 0; i < stuck->nodes && !astray; i++) {
		const tsr_flag_watch_t *other = tsr_watch_of(x, &stuck->node[i]);
		tsr_raised_t apart;
		if (!other || !is_plain_wait(other, x) || !tsr_raised_find(x, other, &apart))
			continue;
		raised = apart;
		watch = other;
		astray = true;
		finding->accesses = 1;
		tell_first(x, &stuck->node[i], finding);
	}
	if (watch)
		tsr_raised_tell(x, &raised, text, finding);
}

static void judge_stuck(tsr_exploration_t *x)
{
	tsr_stuck_t *stuck;
	if (tsr_explorer_stuck(x->explorer, &stuck) != TSR_OK)
		return;
	tsr_finding_t finding = {.class = stuck_classes[stuck->class], .accesses = 1};
	tsr_finding_node_t *nodes = calloc((size_t)stuck->nodes + 1, sizeof *nodes);
	tsr_finding_edge_t *edges = calloc((size_t)stuck->edges + 1, sizeof *edges);
	tsr_missed_t missed;
	const tsr_stuck_node_t *late = node_that_missed(x, stuck, &missed);
	const tsr_stuck_node_t *first = late ? late : first_node(stuck);
	const tsr_collective_call_t *apart[2];
	const bool lost = stuck->class == TSR_STUCK_LOST_SIGNAL && first;
	if (lost && first->kind == TSR_AWAIT_COLLECTIVE)
		/* a rank has ended, or calls something else */
		finding.class = TSR_FINDING_COLLECTIVE;
	finding.access[0] = TSR_FINDING_NOWHERE;
	say_spins(x, stuck);
	if (first)
		tell_first(x, first, &finding);
	if (late)
		tell_missed(&missed, &finding);
	else if (lost && first->kind == TSR_AWAIT_MEETING)
		tell_unmet(&finding);
	else if (meeting_within(stuck))
		tell_kept_from_meeting(&finding);
	if (tsr_collectives_apart(x, stuck, apart)) {
		finding.class = TSR_FINDING_COLLECTIVE;
		finding.accesses = 2;
		finding.access[0] = apart[0]->access;
		finding.access[1] = apart[1]->access;
		finding.message = "each waits for the rank of the other, which has not made this "
				  "call, or not by this state";
	}
	tsr_advice_text_t text;
	if (!finding.missing && !meeting_within(stuck) &&
	    (finding.class == TSR_FINDING_DEADLOCK || finding.class == TSR_FINDING_LOST_SIGNAL))
		tell_raised(x, stuck, first, &text, &finding);
	if (nodes && edges)
		tell_graph(stuck, nodes, edges, &finding);
	tsr_exploration_found(x, &finding);
	uint64_t key;
	if (stuck->class == TSR_STUCK_LIVELOCK && tsr_explorer_livelock(x->explorer, &key))
		tsr_exploration_learn(x, key);
	free(nodes);
	free(edges);
	tsr_stuck_destroy(stuck);
}

/* ------------------------------------------------------------------ programs that fail */

/** The last line that the program of this schedule has said as an error. */
static void last_said(const tsr_exploration_t *x, char *text, size_t size)
{
	char said[2048] = "";
	const off_t end = x->said_fd >= 0 ? lseek(x->said_fd, 0, SEEK_END) : 0;
	const off_t begin = end > (off_t)sizeof said - 1 ? end - (off_t)sizeof said + 1 : 0;
	ssize_t got = end > 0 ? pread(x->said_fd, said, (size_t)(end - begin), begin) : 0;
	while (got > 0 && said[got - 1] == '\n')
		got--;
	said[got > 0 ? got : 0] = '\0';
	const char *line = strrchr(said, '\n');
	snprintf(text, size, "%s", line ? line + 1 : said);
}

/** A program that fails: where a kernel has seen an old value, it may be for that. */
static void tell_failure(tsr_exploration_t *x, tsr_finding_t *finding)
{
	char missing[512];
	if (finding->class == TSR_FINDING_PROGRAM_FAILURE && x->stale.access.call)
		finding->access[finding->accesses++] = x->stale.access;
	if (finding->accesses == 1 && x->stale.stored.call)
		finding->access[finding->accesses++] = x->stale.stored;
	if (finding->class == TSR_FINDING_PROGRAM_FAILURE)
		tsr_passes_explain(x, finding, missing, sizeof missing);
	tsr_exploration_found(x, finding);
}

static bool never(const void *context)
{
	(void)context;
	return false;
}

void tsr_exploration_fails(tsr_exploration_t *x)
{
	const tsr_await_t others = {
		.kind = TSR_AWAIT_CUSTOM,
		.pending = {.kind = TSR_PENDING_LOCAL, .site = {.call = "a program that fails"}},
		.deadline = TSR_DEADLINE_LAST,
		.ready = never,
	};
	char said[1024];
	if (x->said_fd >= 0)
		last_said(x, said, sizeof said);
	else /* before the first kernel, where what is printed goes on to who runs it */
		snprintf(said, sizeof said, "%s%s", *tsr_last_error() ? "tessera: " : "",
			 tsr_last_error());
	tsr_actor(x)->said = strdup(said);
	if (x->phase == TSR_PHASE_SCHEDULE && !x->failed)
		(void)tsr_explorer_await(x->explorer, &others);
}

_Noreturn void tsr_exploration_abort(tsr_exploration_t *x, tsr_status_t status, int exit_code,
				     const char *sentence)
{
	char message[2200];
	const char *said = exit_code != 0 && tsr_actor(x)->said ? tsr_actor(x)->said : "";
	tsr_finding_t finding = {.class = status == TSR_ERR_MISMATCH ? TSR_FINDING_COLLECTIVE
								     : TSR_FINDING_PROGRAM_FAILURE,
				 .message = message};
	snprintf(message, sizeof message, "%s%s%s", sentence, said[0] ? ": " : "", said);
	x->codes[tsr_explorer_who(x->explorer, tsr_explorer_self(x->explorer))->rank] =
		exit_code ? exit_code : EXIT_FAILURE;
	if (!x->failed) /* else it is what follows from the first */
		tell_failure(x, &finding);
	tsr_explorer_stop(x->explorer);
}

static void judge_codes(tsr_exploration_t *x)
{
	char said[1024], message[1200];
	for (int r = 0; !x->failed && r < x->size; r++) {
		if (x->codes[r] == 0)
			continue;
		last_said(x, said, sizeof said);
		snprintf(message, sizeof message, "rank %d ended with exit code %d%s%s", r,
			 x->codes[r], said[0] ? ": " : "", said);
		tsr_finding_t finding = {.class = TSR_FINDING_PROGRAM_FAILURE, .message = message};
		tell_failure(x, &finding);
		return; /* the others end because this one did */
	}
}

void tsr_exploration_finish(tsr_exploration_t *x, tsr_explorer_end_t end)
{
	if (end == TSR_EXPLORER_STUCK || end == TSR_EXPLORER_BOUND)
		judge_stuck(x);
	else if (end == TSR_EXPLORER_DONE)
		judge_codes(x);
	if (x->phase == TSR_PHASE_SCHEDULE)
		tsr_exploration_account(x, end);
}
