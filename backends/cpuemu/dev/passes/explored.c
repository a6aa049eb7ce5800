/* The passes of a TSR_EACH where blocks are explored: turns that show what passes do. */
#include "cpuemu/dev/memory/explored.h"
#include "cpuemu/dev/passes/passes.h"

#define CALL "TSR_EACH"

/** The turns: passes.h. The last three are made where there is a reason. */
enum { NONE, SECOND, FIRST, AFTER, BOTH, WRITER, READER, HIDDEN };

/** How often the passes are divided anew, as long as nothing is found. */
enum { ROUNDS = 2 };

static const tsr_cpu_part_t no_part = {TSR_CPU_PART_NONE, 0, 0};

static const tsr_cpu_part_t first_side = {TSR_CPU_PART_SIDE, 0, 0},
			    second_side = {TSR_CPU_PART_SIDE, 1, 0};

static tsr_cpu_part_t single(int position)
{
	return (tsr_cpu_part_t){TSR_CPU_PART_ONE, position, 0};
}

static void keep_shared(const tsr_coop_t *coop, enum tsr_cpu_kept_copy copy)
{
	if (coop->block->shared_bytes > 0)
		memcpy(coop->worker->passes->left[copy], coop->block->shared,
		       coop->block->shared_bytes);
}

/** Begins a turn of this kind, from shared memory as it was before the loop. */
static bool turn(tsr_coop_t *coop, tsr_cpu_call_t *call, int kind, tsr_cpu_part_t one,
		 tsr_cpu_part_t other)
{
	tsr_cpu_passes_t *passes = coop->worker->passes;
	passes->turn = kind;
	tsr_cpu_turn(coop, call, passes->before, one, other);
	return true;
}

/** Whether each side has a pass. */
static bool divides(const tsr_cpu_passes_t *passes)
{
	const bool one = tsr_cpu_is_second(passes, 0);
	for (int i = 1; i < passes->count; i++)
		if (tsr_cpu_is_second(passes, i) != one)
			return true;
	return false;
}

/**
 * A hash knows nothing of strides; but of any two passes only a bit of their
 * positions is sure to differ.
 */
static void divide(tsr_cpu_passes_t *passes, uint32_t hash, uint32_t way)
{
	const uint32_t bits = 32 - (uint32_t)__builtin_clz((unsigned)passes->count - 1);
	passes->bit = (int)(way / 2 % bits);
	passes->one = (int)(way / 2 / bits % 2);
	passes->mix = way % 2 == 0 ? (hash + 1) * UINT32_C(0xc2b2ae3d) | 1 : 0;
	if (!divides(passes))
		passes->mix = 0;
}

void tsr_cpu_explored_begin(tsr_coop_t *coop)
{
	enum { WAYS = 64 }; /* twice the bits of a position, and as many hashes */
	tsr_cpu_passes_t *passes = coop->worker->passes;
	const tsr_op_site_t site = tsr_explored_site(coop, CALL);
	const int chosen = tsr_exploration_passes(tsr_cpu_exploration(coop), &site, WAYS);
	const uint32_t loop =
		passes->loops++ + (uint32_t)coop->block->index + (uint32_t)coop->block->env->rank;
	passes->hash = ROUNDS * (loop * WAYS + (uint32_t)chosen);
	divide(passes, passes->hash, (uint32_t)chosen);
	passes->apart = chosen > 0;
	passes->round = 0;
	passes->told = false;
	(void)turn(coop, NULL, NONE, no_part, no_part);
}

/* ------------------------------------------------------------------ conflicts */

/** Whether the sides conflict at a byte; if so, `*reads_out`: the second alone touches it. */
static bool conflicts(const tsr_cpu_passes_t *passes, size_t at, bool *reads_out)
{
	const unsigned char before = passes->before[at],
			    first = passes->left[TSR_CPU_LEFT_FIRST][at],
			    second = passes->left[TSR_CPU_LEFT_SECOND][at],
			    after = passes->left[TSR_CPU_LEFT_AFTER][at];
	const bool touched = second != before || after != first;
	*reads_out = first == before;
	return touched && (first != before || after != second);
}

/**
 * The first run of bytes from `from` on at which both sides write; or, without
 * any, at which one reads.
 */
static bool find_conflict(const tsr_coop_t *coop, size_t from, tsr_cpu_conflict_t *found_out)
{
	enum { STEP = 256 };
	const tsr_cpu_passes_t *passes = coop->worker->passes;
	const size_t bytes = coop->block->shared_bytes;
	unsigned char *const *left = passes->left;
	tsr_cpu_conflict_t found = {.bytes = 0, .pass = {-1, -1}};
	for (size_t at = from; at < bytes; at++) {
		const size_t step = bytes - at < STEP ? bytes - at : STEP;
		bool reads;
		if (at % STEP == 0 &&
		    memcmp(left[TSR_CPU_LEFT_SECOND] + at, passes->before + at, step) == 0 &&
		    memcmp(left[TSR_CPU_LEFT_FIRST] + at, left[TSR_CPU_LEFT_AFTER] + at, step) ==
			    0) {
			at += step - 1;
			continue;
		}
		if (!conflicts(passes, at, &reads))
			continue;
		if (found.bytes > 0 && at == found.offset + found.bytes && reads == found.reads)
			found.bytes++;
		else if (found.bytes == 0 || (found.reads && !reads))
			found = (tsr_cpu_conflict_t){
				.offset = at, .bytes = 1, .reads = reads, .pass = {-1, -1}};
		else if (!found.reads)
			break;
	}
	*found_out = found;
	return found.bytes > 0;
}

static bool finish_conflict(tsr_coop_t *coop)
{
	tsr_cpu_passes_t *passes = coop->worker->passes;
	const tsr_cpu_conflict_t *c = &passes->conflict;
	const tsr_op_site_t site = tsr_explored_site(coop, CALL);
	tsr_passes_race_t race = {
		.at = coop->block->shared + c->offset, .bytes = c->bytes, .reads = c->reads};
	if (c->reads && c->wrote_bytes > 0) {
		race.at = coop->block->shared + c->wrote_offset;
		race.bytes = c->wrote_bytes;
	}
	for (int i = 0; i < 2; i++)
		race.pass[i] = c->pass[i] < 0 ? -1 : passes->first + c->pass[i] * passes->stride;
	tsr_exploration_passes_race(tsr_cpu_exploration(coop), &site, &race);
	passes->told = true;
	return false;
}

/**
 * Single passes do not write that byte: it may be a place that another pass has
 * led to. Whether there is a further one to look at.
 */
static bool look_elsewhere(const tsr_coop_t *coop)
{
	enum { TRIES = 16 };
	tsr_cpu_conflict_t *c = &coop->worker->passes->conflict, other;
	if (c->tries == TRIES || !find_conflict(coop, c->offset + c->bytes, &other) || other.reads)
		return false;
	other.tries = c->tries + 1;
	*c = other;
	return true;
}

/** The next position of that side, from `looked` on; -1: there is none. */
static int look_on(tsr_cpu_passes_t *passes, bool second)
{
	tsr_cpu_conflict_t *c = &passes->conflict;
	while (c->looked < passes->count && tsr_cpu_is_second(passes, c->looked) != second)
		c->looked++;
	return c->looked < passes->count ? c->looked++ : -1;
}

/**
 * Looks for a pass of each side that writes the first byte of the conflict: it
 * changes it, or an opposite of it. False: the search is over.
 */
static bool look_for_writer(tsr_coop_t *coop, tsr_cpu_call_t *call, bool begins)
{
	tsr_cpu_passes_t *passes = coop->worker->passes;
	tsr_cpu_conflict_t *c = &passes->conflict;
	const unsigned char before = passes->before[c->offset], opposite = (unsigned char)~before;
	const unsigned char left = coop->block->shared[c->offset];
	int which = c->pass[0] < 0 ? 0 : 1;
	const bool writes = !begins && left != (c->again ? opposite : before);
	if (!begins && !writes && !c->again) {
		c->again = true;
		(void)turn(coop, call, WRITER, single(c->looked - 1), no_part);
		coop->block->shared[c->offset] = opposite;
		return true;
	}
	c->again = false;
	if (writes) {
		c->pass[which++] = c->looked - 1;
		c->looked = 0;
	}
	const int next = which < 2 ? look_on(passes, which == 1) : -1;
	if (next >= 0)
		return turn(coop, call, WRITER, single(next), no_part);
	return which < 2 && look_elsewhere(coop) ? look_for_writer(coop, call, true)
						 : finish_conflict(coop);
}

/** Where a single pass has first changed shared memory. */
static void note_written(const tsr_coop_t *coop, tsr_cpu_conflict_t *c)
{
	const unsigned char *before = coop->worker->passes->before, *now = coop->block->shared;
	const size_t bytes = coop->block->shared_bytes;
	c->wrote_bytes = 0;
	for (c->wrote_offset = 0;
	     c->wrote_offset < bytes && before[c->wrote_offset] == now[c->wrote_offset];)
		c->wrote_offset++;
	while (c->wrote_offset + c->wrote_bytes < bytes &&
	       before[c->wrote_offset + c->wrote_bytes] != now[c->wrote_offset + c->wrote_bytes])
		c->wrote_bytes++;
}

/**
 * Looks for a pass of the second side that leaves the first byte of the conflict
 * otherwise behind the first side than alone, and then for one of the first
 * side behind which it does so. False: the search is over.
 */
static bool look_for_reader(tsr_coop_t *coop, tsr_cpu_call_t *call, bool begins)
{
	tsr_cpu_passes_t *passes = coop->worker->passes;
	tsr_cpu_conflict_t *c = &passes->conflict;
	const unsigned char left = begins ? 0 : coop->block->shared[c->offset];
	const bool searches_reader = c->pass[1] < 0;
	if (!begins && !c->again) { /* the reader has been alone, or a writer has */
		c->again = true;
		if (searches_reader) {
			c->alone = left;
			(void)turn(coop, call, READER, single(c->looked - 1), no_part);
			memcpy(coop->block->shared, passes->left[TSR_CPU_LEFT_FIRST],
			       coop->block->shared_bytes);
		} else {
			note_written(coop, c);
			passes->turn = READER;
			tsr_cpu_turn(coop, call, NULL, single(c->pass[1]), no_part);
		}
		return true;
	}
	if (!begins && left != c->alone) {
		c->pass[searches_reader] = c->looked - 1;
		c->looked = 0;
		if (!searches_reader)
			return finish_conflict(coop);
	}
	c->again = false;
	const int next = look_on(passes, c->pass[1] < 0);
	if (next < 0) {
		c->wrote_bytes = 0;
		return finish_conflict(coop);
	}
	return turn(coop, call, READER, single(next), no_part);
}

/* ------------------------------------------------------------------ what is hidden */

/** Other values in the place of those that the coop has written since it last met. */
static void hide(const tsr_coop_t *coop, int which)
{
	enum { WORD = 4 };
	size_t begin, bytes;
	for (int i = 0; tsr_exploration_unmet(tsr_cpu_exploration(coop), i, &begin, &bytes); i++) {
		unsigned char *at = coop->block->shared + begin;
		if (which >= 0 && which != i)
			continue;
		for (size_t word = 0; word < bytes; word += WORD) {
			const size_t length = bytes - word < WORD ? bytes - word : WORD;
			bool one = at[word] == 1;
			for (size_t byte = 1; byte < length; byte++)
				one = one && at[word + byte] == 0;
			/* small numbers, and not 0: they may be indices, or divide */
			memset(at + word, 0, length);
			at[word] = one ? 2 : 1;
		}
	}
}

/**
 * Whether the passes have left something that they do not leave where nothing is
 * hidden: not what was hidden and stays so.
 */
static bool shows_hidden(const tsr_coop_t *coop)
{
	const tsr_cpu_passes_t *passes = coop->worker->passes;
	const unsigned char *now = coop->block->shared, *both = passes->left[TSR_CPU_LEFT_AFTER],
			    *hidden = passes->left[TSR_CPU_LEFT_SECOND];
	const size_t bytes = coop->block->shared_bytes;
	if (memcmp(now, both, bytes) == 0)
		return false;
	for (size_t i = 0; i < bytes; i++)
		if (now[i] != both[i] && (now[i] != hidden[i] || both[i] != passes->before[i]))
			return true;
	return false;
}

/** Makes all passes once more with a write hidden; -1: with all. */
static bool turn_hidden(tsr_coop_t *coop, tsr_cpu_call_t *call, int which)
{
	tsr_cpu_passes_t *passes = coop->worker->passes;
	passes->hidden = which;
	(void)turn(coop, call, HIDDEN, first_side, second_side);
	hide(coop, which);
	keep_shared(coop, TSR_CPU_LEFT_SECOND);
	return true;
}

static bool is_unmet(const tsr_coop_t *coop, int which)
{
	size_t begin, bytes;
	return tsr_exploration_unmet(tsr_cpu_exploration(coop), which, &begin, &bytes);
}

/* ------------------------------------------------------------------ the order of turns */

/** The locals with which the kernel goes on: those of all passes, or others if there are any. */
static enum tsr_cpu_kept_state locals_left(const tsr_cpu_passes_t *passes)
{
	if (!passes->apart)
		return TSR_CPU_END_BOTH;
	return tsr_cpu_frames_equal(&passes->state[TSR_CPU_END_AFTER],
				    &passes->state[TSR_CPU_END_BOTH])
		       ? TSR_CPU_END_FIRST
		       : TSR_CPU_END_AFTER;
}

/** The loop is over: it leaves what all its passes have left. */
static bool leave(tsr_coop_t *coop, tsr_cpu_call_t *call)
{
	tsr_cpu_passes_t *passes = coop->worker->passes;
	const tsr_op_site_t site = tsr_explored_site(coop, CALL);
	const enum tsr_cpu_kept_state state = locals_left(passes);
	if (passes->turn == HIDDEN && coop->block->shared_bytes > 0)
		memcpy(coop->block->shared, passes->left[TSR_CPU_LEFT_AFTER],
		       coop->block->shared_bytes);
	if (passes->turn == HIDDEN || passes->apart)
		tsr_cpu_frames_resume(&passes->state[state], call);
	if (passes->apart)
		tsr_exploration_passes_apart(tsr_cpu_exploration(coop), &site);
	tsr_exploration_passes_end(tsr_cpu_exploration(coop));
	return false;
}

static void tell_carry(tsr_coop_t *coop)
{
	const tsr_op_site_t site = tsr_explored_site(coop, CALL);
	tsr_exploration_passes_carry(tsr_cpu_exploration(coop), &site);
	coop->worker->passes->told = true;
}

static bool after_both(tsr_coop_t *coop, tsr_cpu_call_t *call)
{
	tsr_cpu_passes_t *passes = coop->worker->passes;
	tsr_cpu_frames_keep(&passes->state[TSR_CPU_END_BOTH], call);
	if (tsr_cpu_frames_carry(&passes->state[TSR_CPU_END_NONE],
				 &passes->state[TSR_CPU_END_FIRST],
				 &passes->state[TSR_CPU_END_AFTER],
				 &passes->state[TSR_CPU_END_BOTH]))
		tell_carry(coop);
	if (!passes->told && ++passes->round < ROUNDS) {
		divide(passes, passes->hash + (uint32_t)passes->round, 0);
		return turn(coop, call, SECOND, second_side, no_part);
	}
	if (!is_unmet(coop, 0))
		return leave(coop, call);
	keep_shared(coop, TSR_CPU_LEFT_AFTER);
	return turn_hidden(coop, call, -1);
}

static bool after_hidden(tsr_coop_t *coop, tsr_cpu_call_t *call)
{
	tsr_cpu_passes_t *passes = coop->worker->passes;
	const tsr_op_site_t site = tsr_explored_site(coop, CALL);
	const bool shows = shows_hidden(coop);
	if (shows && passes->hidden >= 0) {
		tsr_exploration_passes_read(tsr_cpu_exploration(coop), &site, passes->hidden);
		return leave(coop, call);
	}
	if ((!shows && passes->hidden < 0) || !is_unmet(coop, passes->hidden + 1))
		return leave(coop, call);
	return turn_hidden(coop, call, passes->hidden + 1);
}

bool tsr_cpu_explored_turn(tsr_coop_t *coop, tsr_cpu_call_t *call)
{
	tsr_cpu_passes_t *passes = coop->worker->passes;
	switch (passes->turn) {
	case NONE:
		tsr_cpu_frames_keep(&passes->state[TSR_CPU_END_NONE], call);
		return turn(coop, call, SECOND, second_side, no_part);
	case SECOND:
		keep_shared(coop, TSR_CPU_LEFT_SECOND);
		return turn(coop, call, FIRST, first_side, no_part);
	case FIRST:
		tsr_cpu_frames_keep(&passes->state[TSR_CPU_END_FIRST], call);
		keep_shared(coop, TSR_CPU_LEFT_FIRST);
		passes->turn = AFTER;
		tsr_cpu_turn(coop, call, NULL, second_side, no_part);
		return true;
	case AFTER:
		tsr_cpu_frames_keep(&passes->state[TSR_CPU_END_AFTER], call);
		keep_shared(coop, TSR_CPU_LEFT_AFTER);
		if (find_conflict(coop, 0, &passes->conflict) &&
		    (passes->conflict.reads ? look_for_reader(coop, call, true)
					    : look_for_writer(coop, call, true)))
			return true;
		break;
	case WRITER:
		if (look_for_writer(coop, call, false))
			return true;
		break;
	case READER:
		if (look_for_reader(coop, call, false))
			return true;
		break;
	case BOTH:
		return after_both(coop, call);
	default:
		return after_hidden(coop, call);
	}
	return turn(coop, call, BOTH, first_side, second_side);
}
