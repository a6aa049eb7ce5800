/* Which collectives on streams have short messages, and what their kernel is told. */
#include "src/collectives/short.h"

#include "tessera/dev.h"

#include "common/dev/states.h"
#include "common/dev/views.h"

/** What all ranks have of one side: messages of equal extents, `apart` bytes from rank to rank. */
typedef struct side {
	tsr_view_t first;
	int64_t apart;
} side_t;

static side_t whole(tsr_view_t view)
{
	return (side_t){view, 0};
}

/** Cut along `dim`; without rows if the ranks do not divide it. */
static side_t parts(tsr_view_t view, int dim, int ranks)
{
	const int64_t extent = dim == TSR_DIM_ROWS ? view.rows : view.cols,
		      each = extent % ranks == 0 ? extent / ranks : 0;
	side_t s = {tsr_view_cut(view, (tsr_dim_t)dim, 0, ranks),
		    each * (dim == TSR_DIM_ROWS ? view.ld : 1) * tsr_element_bytes(view.dtype)};
	if (each == 0)
		s.first.rows = 0;
	return s;
}

/** The messages that each rank puts, and those that it takes, or combines to one. */
static bool cut(const tsr_stream_collective_args_t *c, int ranks, side_t *dst, side_t *src)
{
	*dst = whole(c->dst);
	*src = whole(c->src);
	switch (c->call) {
	case TSR_STREAM_ALL_GATHER:
		*dst = parts(c->dst, c->dim, ranks);
		return true;
	case TSR_STREAM_ALL_TO_ALL:
		*dst = parts(c->dst, c->place, ranks);
		*src = parts(c->src, c->dim, ranks);
		return true;
	case TSR_STREAM_ALL_REDUCE:
		return true;
	case TSR_STREAM_REDUCE_SCATTER:
		*src = parts(c->src, c->dim, ranks);
		return true;
	default:
		return false;
	}
}

/** Whether the messages fit the inbox, and a word has its place whatever gaps there are. */
static bool fits(const side_t *dst, const side_t *src, int64_t room)
{
	const int64_t rows = src->first.rows, cols = src->first.cols,
		      row_bytes = cols * tsr_element_bytes(src->first.dtype);
	return rows > 0 && cols > 0 && dst->first.rows == rows && dst->first.cols == cols &&
	       rows <= room && row_bytes <= room && (rows == 1 || row_bytes % 4 == 0) &&
	       rows * ((row_bytes + 3) / 4 * 4) <= room;
}

/** Whether dst and src are apart, or what a rank puts itself is where it takes it. */
static bool is_apart(const tsr_stream_collective_args_t *c, const side_t *dst, const side_t *src,
		     int me)
{
	tsr_view_t to = dst->first, from = src->first;
	to.data = (unsigned char *)to.data + me * dst->apart;
	from.data = (unsigned char *)from.data + me * src->apart;
	return !tsr_views_share_memory(c->dst, c->src) ||
	       (c->call != TSR_STREAM_ALL_TO_ALL && tsr_views_are_one(to, from));
}

static int32_t kind_of(const tsr_stream_collective_args_t *c)
{
	return c->call == TSR_STREAM_ALL_GATHER   ? TSR_SHORT_ALL_GATHER
	       : c->call == TSR_STREAM_ALL_TO_ALL ? TSR_SHORT_ALL_TO_ALL
	       : c->call == TSR_STREAM_ALL_REDUCE ? TSR_SHORT_ALL_REDUCE
						  : TSR_SHORT_REDUCE_SCATTER;
}

static tsr_view_t without_gaps(tsr_view_t view)
{
	const int64_t elements = view.rows * view.cols;
	return tsr_view_has_no_gaps(view) ? tsr_view_flat(view, 0, elements, elements) : view;
}

/** The most bytes of a message, as tsr_one_shot_most says. */
static int64_t most_bytes(int ranks, int nodes)
{
	const int64_t most = TSR_ONE_SHOT_BYTES(ranks);
	return nodes > 1 && most > TSR_ONE_SHOT_FAR_BYTES ? TSR_ONE_SHOT_FAR_BYTES : most;
}

bool tsr_collective_is_short(const tsr_stream_collective_args_t *call, int me, int ranks, int nodes,
			     int blocks, tsr_short_call_t *out)
{
	enum { PAIR_BYTES = 8 }; /* of words: elements may have two */
	side_t dst, src;
	if (call->batches != 1 || !cut(call, ranks, &dst, &src) ||
	    !fits(&dst, &src, most_bytes(ranks, nodes)) || !is_apart(call, &dst, &src, me))
		return false;
	const int32_t element = (int32_t)tsr_element_bytes(call->dst.dtype);
	const int64_t bytes = src.first.rows * src.first.cols * element;
	*out = (tsr_short_call_t){.dst = without_gaps(dst.first),
				  .src = without_gaps(src.first),
				  .state = call->state,
				  .dst_apart = dst.apart,
				  .src_apart = src.apart,
				  .kind = kind_of(call),
				  .op = call->op};
	out->each_bytes = (int32_t)tsr_tiles(bytes, (int64_t)blocks * PAIR_BYTES) * PAIR_BYTES;
	out->each = out->each_bytes / element;
	return true;
}
