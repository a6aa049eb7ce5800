/*
 * Collectives of kernels: whether all ranks, and all blocks of a rank, mean the
 * same when they make the same call. Calls that belong together have one state
 * in the heap and one round, which the state counts itself.
 */
#include "src/explore/exploration_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/** "'name'+offset": where something of the caller's heap is. */
static void name_place(tsr_exploration_t *x, size_t offset, char *text, size_t size)
{
	tsr_area_t *area =
		&x->areas[tsr_explorer_who(x->explorer, tsr_explorer_self(x->explorer))->rank];
	const tsr_piece_t *piece = tsr_area_piece(area, offset);
	if (piece)
		snprintf(text, size, "'%s'+%zu", piece->name, offset - piece->begin);
	else
		snprintf(text, size, "heap offset %zu", offset);
}

bool tsr_exploration_peek(const tsr_exploration_t *x, const void *at, void *out, size_t bytes)
{
	int area;
	size_t offset;
	if (!tsr_area_find((tsr_exploration_t *)x, at, bytes, &area, &offset))
		return false;
	memcpy(out, x->areas[area].newest + offset, bytes);
	return true;
}

static uint64_t round_of(const tsr_exploration_t *x, const tsr_collective_t *call)
{
	uint64_t count = 0;
	(void)tsr_exploration_peek(x, call->count, &count, sizeof count);
	return count / call->count_per_round;
}

/** Of the caller's own heap. */
static size_t offset_of(tsr_exploration_t *x, const unsigned char *at)
{
	int area;
	size_t offset = 0;
	(void)tsr_area_find(x, at, 1, &area, &offset);
	return offset;
}

/** The parameters that `how` has (tsr_collect_how), in the order in which they are told. */
static const struct part {
	int shift, bits;
	const char *text; /* with one number */
} parts[] = {{24, 8, "elements of dtype %d"},
	     {8, 8, "dimension %d"},
	     {16, 8, "place dimension %d"},
	     {0, 8, "operation %d"},
	     {32, 32, "rows %d elements apart"}};

/** Writes what differs first in two calls' parameters, of both. */
static void tell_parameters(uint64_t mine, uint64_t other, char *text, size_t size)
{
	char here[64], there[64];
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		const uint64_t mask = ((uint64_t)1 << parts[i].bits) - 1;
		const int a = (int)((mine >> parts[i].shift) & mask),
			  b = (int)((other >> parts[i].shift) & mask);
		if (a == b)
			continue;
		snprintf(here, sizeof here, parts[i].text, a);
		snprintf(there, sizeof there, parts[i].text, b);
		snprintf(text, size, "the first has %s, the second %s", here, there);
		return;
	}
}

/** Two calls differ: told by the second, `mine`. The schedule ends, as what follows is that. */
static _Noreturn void tell(tsr_exploration_t *x, const tsr_collective_call_t *mine,
			   const tsr_collective_call_t *other)
{
	char sentence[240], here[80], there[80];
	tsr_finding_t finding = {
		.class = TSR_FINDING_COLLECTIVE, .accesses = 2, .message = sentence};
	finding.access[0] = mine->access;
	finding.access[1] = other->access;
	name_place(x, mine->to, here, sizeof here);
	name_place(x, other->to, there, sizeof there);
	if (mine->size_bytes != other->size_bytes)
		snprintf(sentence, sizeof sentence,
			 "the first has parts of %" PRIu64 " bytes, the second of %" PRIu64,
			 mine->size_bytes, other->size_bytes);
	else if (mine->root != other->root)
		snprintf(sentence, sizeof sentence, "the first has root %d, the second root %d",
			 mine->root, other->root);
	else if (mine->to != other->to)
		snprintf(sentence, sizeof sentence,
			 "the first reaches %s of other ranks, the second %s", here, there);
	else if (strcmp(mine->access.call, other->access.call) == 0)
		tell_parameters(mine->how, other->how, sentence, sizeof sentence);
	else
		snprintf(sentence, sizeof sentence, "the first is %s, the second %s",
			 mine->access.call, other->access.call);
	tsr_exploration_found(x, &finding);
	tsr_explorer_stop(x->explorer);
}

void tsr_exploration_collective(tsr_exploration_t *x, const tsr_op_site_t *site,
				const tsr_collective_t *call)
{
	const uint64_t round = round_of(x, call);
	tsr_collective_call_t mine = {.used = true,
				      .team = call->team,
				      .state = offset_of(x, call->state),
				      .round = round,
				      .to = call->to ? offset_of(x, call->to) : 0,
				      .size_bytes = call->size_bytes,
				      .root = call->root,
				      .how = call->how,
				      .access = tsr_access_at(x, site)};
	const uint64_t slot = mine.state / sizeof(uint64_t) + round + mine.team % TSR_COLLECTIVES;
	tsr_collective_call_t *first = &x->collectives[slot % TSR_COLLECTIVES];
	tsr_actor(x)->collective = mine;
	if (!first->used || first->team != mine.team || first->state != mine.state ||
	    first->round != round)
		*first = mine;
	else if (first->to != mine.to || first->size_bytes != mine.size_bytes ||
		 first->root != mine.root || first->how != mine.how ||
		 strcmp(first->access.call, mine.access.call) != 0)
		tell(x, &mine, first);
}

/* ----------------------------------------------------------------- calls that nobody else makes */

/** What the node's task waits in, or null: no collective. */
static const tsr_collective_call_t *waits_in(const tsr_exploration_t *x,
					     const tsr_stuck_node_t *node)
{
	const tsr_collective_call_t *call =
		node->task == TSR_NO_TASK ? NULL : &x->actors[node->task].collective;
	const bool inside = call && call->used && node->site.call &&
			    strcmp(node->site.call, call->access.call) == 0 &&
			    node->site.line == call->access.line;
	return inside ? call : NULL;
}

/** Whether somebody of the rank waits in a call of that state, in the same team. */
static bool has_come(const tsr_exploration_t *x, const tsr_stuck_t *stuck, int rank,
		     const tsr_collective_call_t *there)
{
	for (int i = 0; i < stuck->nodes; i++) {
		const tsr_collective_call_t *call = waits_in(x, &stuck->node[i]);
		if (call && call->access.who.rank == rank && call->team == there->team &&
		    call->state == there->state)
			return true;
	}
	return false;
}

bool tsr_collectives_apart(const tsr_exploration_t *x, const tsr_stuck_t *stuck,
			   const tsr_collective_call_t *pair_out[2])
{
	for (int i = 0; i < stuck->nodes; i++)
		for (int j = 0; j < i; j++) {
			const tsr_collective_call_t *a = waits_in(x, &stuck->node[i]),
						    *b = waits_in(x, &stuck->node[j]);
			if (!a || !b || a->access.who.rank == b->access.who.rank ||
			    a->team != b->team || a->state == b->state ||
			    has_come(x, stuck, a->access.who.rank, b) ||
			    has_come(x, stuck, b->access.who.rank, a))
				continue;
			pair_out[0] = a;
			pair_out[1] = b;
			return true;
		}
	return false;
}
