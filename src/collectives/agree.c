/*
 * What the members of a team must pass alike to a collective on a stream, and
 * how it is compared. A call is a list of numbers, in which those that may
 * differ are 0.
 */
#include "src/collectives/agree.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/base/error.h"
#include "src/base/executor.h"
#include "src/base/place.h"
#include "src/base/text.h"
#include "src/bootstrap/board.h"
#include "src/collectives/far_calls.h"
#include "src/heap/rooms.h"
#include "src/tensor/tensor.h"
#include "src/world/state_uses.h"

/** The numbers, in the order in which a sentence prefers them. */
enum field {
	TEAM, /* where it meets: equal on its members alone */
	CALL,
	DTYPE,
	DIMS,
	SHAPE,
	SHAPE_END = SHAPE + TSR_MAX_DIMS,
	OP = SHAPE_END,
	ROOT,
	DIM,
	PLACE,
	DST, /* offset in the heap */
	DST_LD,
	DST_STEP,
	SRC,
	SRC_LD,
	SRC_STEP,
	CLEARS, /* of the state, since its first use */
	FIELDS
};

enum { UNSAID = -1 }; /* agrees with everything */

/** What a post says. */
typedef struct post {
	int64_t field[FIELDS];
	int32_t line; /* 0: not known */
	char team[TSR_TEAM_NAME], file[128];
} post_t;

_Static_assert(sizeof(post_t) <= TSR_POST_BYTES, "a post fits the board");

/**
 * What must agree besides the call, dtype and extents: parameters, and the place
 * and strides of tensors that other ranks reach (the contracts in
 * tessera/collective.h, dev/collective.h and dev/reduction.h). `whole`: the
 * tensor whose extents all pass; an all-to-all has a part of either.
 */
typedef struct rule {
	bool op, root, dim, place, dst, src;
	enum { WHOLE_DST, WHOLE_SRC, WHOLE_EXCHANGED } whole;
} rule_t;

static const rule_t rules[] = {
	[TSR_STREAM_ALL_GATHER] = {.dim = true, .dst = true, .whole = WHOLE_DST},
	[TSR_STREAM_ALL_TO_ALL] = {.dim = true,
				   .place = true,
				   .dst = true,
				   .whole = WHOLE_EXCHANGED},
	[TSR_STREAM_BROADCAST] = {.root = true, .dst = true, .src = true, .whole = WHOLE_DST},
	[TSR_STREAM_GATHER] = {.root = true, .dim = true, .dst = true, .whole = WHOLE_DST},
	[TSR_STREAM_SCATTER] = {.root = true, .dim = true, .src = true, .whole = WHOLE_SRC},
	[TSR_STREAM_ALL_REDUCE] = {.op = true, .dst = true, .src = true, .whole = WHOLE_DST},
	[TSR_STREAM_REDUCE_SCATTER] = {.op = true, .dim = true, .src = true, .whole = WHOLE_SRC},
	[TSR_STREAM_REDUCE] =
		{.op = true, .root = true, .dst = true, .src = true, .whole = WHOLE_DST},
};

_Static_assert(sizeof rules / sizeof *rules == TSR_STREAM_COLLECTIVES,
	       "a collective says here what must agree");

static const char *const calls[] = {
	[TSR_STREAM_ALL_GATHER] = "tsr_stream_all_gather",
	[TSR_STREAM_ALL_TO_ALL] = "tsr_stream_all_to_all",
	[TSR_STREAM_BROADCAST] = "tsr_stream_broadcast",
	[TSR_STREAM_GATHER] = "tsr_stream_gather",
	[TSR_STREAM_SCATTER] = "tsr_stream_scatter",
	[TSR_STREAM_ALL_REDUCE] = "tsr_stream_all_reduce",
	[TSR_STREAM_REDUCE_SCATTER] = "tsr_stream_reduce_scatter",
	[TSR_STREAM_REDUCE] = "tsr_stream_reduce",
};

_Static_assert(sizeof calls / sizeof *calls == TSR_STREAM_COLLECTIVES, "each call has a name");

/* ------------------------------------------------------------------ a call as numbers */

static bool is_empty(const tsr_matrices_t *m)
{
	return m->count < 1 || m->first.rows < 1 || m->first.cols < 1;
}

/**
 * Where a tensor lies that other ranks reach. Not said by a rank that neither has
 * elements there nor sends `other`. One row has a distance where the ranks have
 * unequal parts: a peer may have several.
 */
static void say_place(const tsr_agree_call_t *c, const tsr_matrices_t *m,
		      const tsr_matrices_t *other, int64_t *place)
{
	const bool has_parts = rules[c->args->call].whole == WHOLE_EXCHANGED;
	size_t offset = 0;
	if (is_empty(m) && (!has_parts || is_empty(other))) {
		place[0] = place[1] = place[2] = UNSAID;
		return;
	}
	(void)tsr_heap_offset(c->stream->world, (uintptr_t)m->first.data, &offset);
	place[0] = (int64_t)offset;
	place[1] = m->first.rows > 1 || has_parts ? m->first.ld : 0;
	place[2] = m->count > 1 ? m->step : 0;
}

/** The extents of what all ranks have together. */
static void say_extents(const tsr_agree_call_t *c, const rule_t *rule, int64_t *shape)
{
	for (int i = 0; i < c->dst->dims; i++) {
		const bool is_of_src = rule->whole == WHOLE_SRC ||
				       (rule->whole == WHOLE_EXCHANGED && i == c->split);
		shape[i] = is_of_src ? c->src->shape[i] : c->dst->shape[i];
	}
}

static void say(const tsr_agree_call_t *c, post_t *post)
{
	const rule_t *rule = &rules[c->args->call];
	const tsr_team_t *team = c->stream->team;
	const tsr_place_t *here = tsr_place_here();
	int64_t *f = post->field;
	*post = (post_t){.line = here->file != NULL ? here->line : 0};
	f[TEAM] = tsr_meeting_number(team->meeting);
	f[CALL] = c->args->call;
	f[DTYPE] = c->dst->dtype;
	f[DIMS] = c->dst->dims;
	say_extents(c, rule, f + SHAPE);
	f[OP] = rule->op ? c->args->op : 0;
	f[ROOT] = rule->root ? c->args->root : 0;
	f[DIM] = rule->dim ? c->split : 0;
	f[PLACE] = rule->place ? c->place : 0;
	if (rule->dst)
		say_place(c, c->to, c->from, f + DST);
	if (rule->src)
		say_place(c, c->from, c->to, f + SRC);
	snprintf(post->team, sizeof post->team, "%s", team->name);
	if (here->file != NULL) {
		const size_t length = strlen(here->file), most = sizeof post->file - 1;
		snprintf(post->file, sizeof post->file, "%s",
			 here->file + (length > most ? length - most : 0));
	}
}

/* ------------------------------------------------------------------ sentences */

static const char *op_name(int64_t op)
{
	return op == TSR_REDUCE_SUM   ? "TSR_REDUCE_SUM"
	       : op == TSR_REDUCE_MAX ? "TSR_REDUCE_MAX"
				      : "TSR_REDUCE_MIN";
}

/** Writes the value of a field. */
static void write_value(tsr_world_t *world, const post_t *post, enum field field, char *text,
			size_t size)
{
	const int64_t value = post->field[field];
	const char *side = field < SRC ? "dst" : "src";
	char shape[TSR_SHAPE_TEXT], name[32];
	size_t inside;
	if (field == TEAM)
		snprintf(text, size, "in %s%s%s", post->team[0] != '\0' ? "team '" : "the world",
			 post->team, post->team[0] != '\0' ? "'" : "");
	else if (field == DTYPE)
		snprintf(text, size, "with elements of %s", tsr_dtype_name((tsr_dtype_t)value));
	else if (field >= DIMS && field < SHAPE_END)
		snprintf(text, size, "with %s of all ranks",
			 tsr_shape_text((tsr_dtype_t)post->field[DTYPE], (int)post->field[DIMS],
					post->field + SHAPE, shape));
	else if (field == OP)
		snprintf(text, size, "with %s", op_name(value));
	else if (field == ROOT)
		snprintf(text, size, "with root %" PRId64, value);
	else if (field == DIM || field == PLACE)
		snprintf(text, size, "%s dimension %" PRId64, field == DIM ? "along" : "into",
			 value);
	else if (field == DST || field == SRC) {
		if (world->host.find_allocation(world->host.ctx, (size_t)value, name, &inside))
			snprintf(text, size, "with %s at '%s'+%zu", side, name, inside);
		else
			snprintf(text, size, "with %s at heap offset %" PRId64, side, value);
	} else if (field == CLEARS)
		snprintf(text, size,
			 "with a state that it has cleared %" PRId64 " times since its first use",
			 value);
	else if (value == 0)
		snprintf(text, size, "with %s without gaps", side);
	else
		snprintf(text, size, "with %s of %s %" PRId64 " elements apart", side,
			 field == DST_LD || field == SRC_LD ? "rows" : "matrices", value);
}

static const char *cure_of(enum field field)
{
	switch (field) {
	case TEAM:
		return "a state serves one team: call it on streams of one team on all its members";
	case CALL:
		return "make the same collectives in the same order on all members of the team";
	case DST:
	case SRC:
		return "other ranks reach this tensor, so it has the same place in the heap on "
		       "all: allocate it together, and slice it alike";
	case DST_LD:
	case DST_STEP:
	case SRC_LD:
	case SRC_STEP:
		return "other ranks reach this tensor, so it has the same strides on all: slice "
		       "it out of one that is alike on all";
	case CLEARS:
		return "clear a state before its first use, and never again";
	default:
		return "pass the same on all members of the team";
	}
}

enum { PLACE_TEXT = 144, VALUE_TEXT = 144 };

static const char *at_line(const post_t *post, char text[PLACE_TEXT])
{
	text[0] = '\0';
	if (post->file[0] != '\0')
		snprintf(text, PLACE_TEXT, " at %s:%d", post->file, (int)post->line);
	return text;
}

/** A post as it came, which another build or a torn copy may have made: it can be printed. */
static post_t printable(const post_t *theirs)
{
	post_t post = *theirs;
	post.team[sizeof post.team - 1] = post.file[sizeof post.file - 1] = '\0';
	if (post.field[CALL] < 0 || post.field[CALL] >= TSR_STREAM_COLLECTIVES)
		post.field[CALL] = TSR_STREAM_ALL_GATHER;
	if (post.field[DIMS] < 0 || post.field[DIMS] > TSR_MAX_DIMS)
		post.field[DIMS] = 0;
	return post;
}

static tsr_status_t differ(const tsr_agree_ours_t *ours, int rank, const post_t *said,
			   enum field field)
{
	tsr_world_t *world = ours->world;
	const tsr_team_t *team = ours->team;
	const post_t *mine = ours->bytes, printed = printable(said), *theirs = &printed;
	const int other_rank = tsr_team_rank_of(team, rank); /* -1: it calls in a team of its own */
	char here[PLACE_TEXT], there[PLACE_TEXT], value[VALUE_TEXT] = "", other[VALUE_TEXT] = "",
						  who[2][TSR_WHO_TEXT], sentence[1024];
	if (field != CALL) {
		write_value(world, mine, field, value, sizeof value);
		write_value(world, theirs, field, other, sizeof other);
	}
	snprintf(sentence, sizeof sentence, "%s calls %s%s%s%s, where %s calls %s%s%s%s: %s",
		 tsr_who_text(world->rank, team->host.rank, team->name, who[0]),
		 calls[mine->field[CALL]], at_line(mine, here), value[0] != '\0' ? " " : "", value,
		 tsr_who_text(rank, other_rank, other_rank < 0 ? "" : team->name, who[1]),
		 calls[theirs->field[CALL]], at_line(theirs, there), other[0] != '\0' ? " " : "",
		 other, cure_of(field));
	const tsr_made_call_t made[2] = {{world->rank, calls[mine->field[CALL]], NULL, 0},
					 {rank, calls[theirs->field[CALL]],
					  theirs->file[0] != '\0' ? theirs->file : NULL,
					  (int)theirs->line}};
	if (world->host.exploration)
		tsr_executor.mismatch(world->host.exploration, made, sentence);
	tsr_boot_abort(world->boot, TSR_ERR_MISMATCH, sentence);
	return tsr_boot_ended(world->boot);
}

/** The last posts of this rank and of another one, on a topic on which one of them is ahead. */
typedef struct ahead {
	bool found;
	uint64_t offset; /* of the state */
	post_t post;     /* of the one that is ahead */
} ahead_t;

/** Finds a topic where this rank is ahead of `rank`, and one where it is behind, in one team. */
static bool find_apart(const tsr_world_t *world, int rank, ahead_t ahead[2])
{
	const int ranks[2] = {world->rank, rank};
	bool end = false;
	ahead[0].found = ahead[1].found = false;
	for (int i = 0; !end; i++) {
		tsr_board_last_t last;
		if (!tsr_board_look(world->boot, i, ranks, &last, &end) ||
		    last.posts[0] == last.posts[1])
			continue;
		const int first = (int32_t)(last.posts[0] - last.posts[1]) > 0 ? 0 : 1;
		ahead[first] = (ahead_t){.found = true, .offset = last.key};
		ahead[first].post = printable(last.post[first]);
	}
	return ahead[0].found && ahead[1].found &&
	       ahead[0].post.field[TEAM] == ahead[1].post.field[TEAM];
}

const char *tsr_collective_apart(const tsr_world_t *world, char *text, size_t size)
{
	ahead_t ahead[2];
	char at[2][PLACE_TEXT], state[2][64];
	text[0] = '\0';
	for (int r = 0; world->compares && r < world->size; r++) {
		if (r == world->rank || !find_apart(world, r, ahead))
			continue;
		snprintf(text, size,
			 "; rank %d has called %s%s with the state %s, and rank %d %s%s with the "
			 "state %s: pass the same state on all members",
			 world->rank, calls[ahead[0].post.field[CALL]],
			 at_line(&ahead[0].post, at[0]),
			 tsr_uses_name(world, ahead[0].offset, state[0]), r,
			 calls[ahead[1].post.field[CALL]], at_line(&ahead[1].post, at[1]),
			 tsr_uses_name(world, ahead[1].offset, state[1]));
		break;
	}
	return text;
}

static tsr_status_t compare(void *ctx, int rank, const void *bytes)
{
	const tsr_agree_ours_t *ours = ctx;
	const post_t *mine = ours->bytes, *theirs = bytes;
	for (int i = 0; i < FIELDS; i++)
		if (mine->field[i] != theirs->field[i] && mine->field[i] != UNSAID &&
		    theirs->field[i] != UNSAID)
			return differ(ours, rank, theirs, (enum field)i);
	return TSR_OK;
}

/** The wait record: the host waited, for all that the library knows of the call. */
static void keep_record(const tsr_agree_ours_t *ours, int rank)
{
	const tsr_world_t *world = ours->world;
	const post_t *mine = ours->bytes;
	tsr_wait_record_t record = {.rank = world->rank,
				    .team_rank = ours->team->host.rank,
				    .block = -1,
				    .worker = -1,
				    .expected = 1,
				    .owner = world->rank,
				    .from = rank,
				    .team_from = tsr_team_rank_of(ours->team, rank),
				    .waited_ns = world->options.deadline_ns};
	snprintf(record.team, sizeof record.team, "%s", ours->team->name);
	snprintf(record.kernel, sizeof record.kernel, "%s", ours->name);
	if (mine->file[0] != '\0')
		snprintf(record.site, sizeof record.site, "%.80s:%d", mine->file, (int)mine->line);
	tsr_boot_keep_wait_record(world->boot, &record);
}

static tsr_status_t expire(void *ctx, int rank)
{
	const tsr_agree_ours_t *ours = ctx;
	const tsr_world_t *world = ours->world;
	char deadline[32], at[PLACE_TEXT], who[2][TSR_WHO_TEXT], apart[512], sentence[1024];
	snprintf(sentence, sizeof sentence,
		 "%s waited %s in %s%s for %s on node %d, which has not made that call with this "
		 "state: every member must make the same collectives in the same order "
		 "(TESSERA_DEADLINE sets how long a wait lasts)%s",
		 tsr_who_text(world->rank, ours->team->host.rank, ours->team->name, who[0]),
		 tsr_duration_text(world->options.deadline_ns, deadline, sizeof deadline),
		 ours->name, at_line(ours->bytes, at),
		 tsr_who_text(rank, tsr_team_rank_of(ours->team, rank), ours->team->name, who[1]),
		 world->nodes[rank], tsr_collective_apart(world, apart, sizeof apart));
	keep_record(ours, rank);
	tsr_boot_abort(world->boot, TSR_ERR_TIMEOUT, sentence);
	return tsr_boot_ended(world->boot);
}

/* ------------------------------------------------------------------ the call */

tsr_board_post_t tsr_agree_post(tsr_agree_ours_t *ours, int topic)
{
	return (tsr_board_post_t){.topic = topic,
				  .call = ours->name,
				  .ranks = ours->team->ranks,
				  .members = ours->team->host.size,
				  .bytes = ours->bytes,
				  .compare = compare,
				  .expire = expire,
				  .ctx = ours};
}

tsr_status_t tsr_collective_agree(const tsr_agree_call_t *call, tsr_device_gate_t *gate_out)
{
	tsr_stream_t *stream = call->stream;
	tsr_world_t *world = stream->world;
	size_t offset = 0;
	tsr_state_now_t now = {.topic = TSR_TOPIC_NONE};
	/* as a post_t, and as bytes, of which all are written */
	union {
		post_t post;
		unsigned char bytes[TSR_POST_BYTES];
	} mine = {.bytes = {0}};
	if (!world->compares)
		return TSR_OK;
	(void)tsr_heap_offset(world, (uintptr_t)call->args->state, &offset);
	tsr_status_t status = tsr_uses_begin(stream, call->name, offset, &now);
	if (status != TSR_OK || now.topic == TSR_TOPIC_NONE)
		return status;
	say(call, &mine.post);
	mine.post.field[CLEARS] = now.clears;
	tsr_agree_ours_t ours = {call->name, world, stream->team, mine.bytes};
	const tsr_board_post_t post = tsr_agree_post(&ours, now.topic);
	uint32_t number;
	status = tsr_board_say(world->boot, &post, &number);
	if (status == TSR_OK && tsr_board_crosses(world->boot, &post))
		status = tsr_far_calls_add(&now, &ours, number, gate_out);
	return status;
}
