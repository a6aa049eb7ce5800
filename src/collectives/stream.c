/*
 * Collectives on streams: tensors become matrices, which are checked, and a
 * kernel of the library's is launched.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "src/base/error.h"
#include "src/collectives/agree.h"
#include "src/collectives/args.h"
#include "src/collectives/matrix.h"
#include "src/collectives/short.h"
#include "src/heap/heap.h"
#include "src/world/stream.h"
#include "src/world/team.h"
#include "tessera/collective.h"

TSR_KERNEL_DECLARE(tsr_stream_moves);
TSR_KERNEL_DECLARE(tsr_stream_all_reduces);
TSR_KERNEL_DECLARE(tsr_stream_reduce_scatters);
TSR_KERNEL_DECLARE(tsr_stream_reduces);
TSR_KERNEL_DECLARE(tsr_stream_short_moves);
TSR_KERNEL_DECLARE(tsr_stream_short_combines);

/*
 * The images of those kernels: an archive's objects are linked only where
 * something names them, so this does.
 */
#define LIST_IMAGE(symbol_)                                                                       \
	extern const tsr_image_t symbol_;                                                         \
	__attribute__((used,                                                                      \
		       section("tsr_images"))) static const tsr_image_t *const listed_##symbol_ = \
		&symbol_;
#if defined(TSR_COLLECTIVE_IMAGES)
TSR_COLLECTIVE_IMAGES(LIST_IMAGE)
#endif

/** A call, as it was made and as the kernel is told. */
typedef struct call {
	const char *name;
	tsr_stream_t *stream;
	tsr_named_tensor_t dst, src;
	TSR_HEAP tsr_collective_state_t *state;
	int ranks, me;
	int split, place; /* dimensions of the tensors */
	tsr_matrices_t to, from;
	tsr_stream_collective_args_t args;
} call_t;

static tsr_status_t check_state(const call_t *c)
{
	char why[512];
	const tsr_status_t status = tsr_heap_check_range(c->stream->world, c->name, c->state,
							 tsr_collective_state_bytes(c->ranks));
	if (status == TSR_OK)
		return TSR_OK;
	snprintf(why, sizeof why, "%s", tsr_last_error());
	if (tsr_heap_find(c->stream->world, c->state, NULL, NULL) != TSR_OK)
		return tsr_error(status,
				 "%s: its state lies in no allocation: free it after the last call "
				 "that uses it, or allocate tsr_collective_state_bytes(%d) bytes "
				 "for it (%s)",
				 c->name, c->ranks, why);
	return tsr_error(status,
			 "%s: its state is too small, or not in the heap: allocate "
			 "tsr_collective_state_bytes(%d) bytes for it (%s)",
			 c->name, c->ranks, why);
}

/** What all calls need. `root`: 0 where there is none. */
static tsr_status_t begin(call_t *c, const char *name, enum tsr_stream_collective what,
			  tsr_stream_t *stream, const tsr_tensor_t *dst, const tsr_tensor_t *src,
			  int root, TSR_HEAP tsr_collective_state_t *state)
{
	*c = (call_t){.name = name,
		      .stream = stream,
		      .dst = {name, "dst", dst},
		      .src = {name, "src", src},
		      .state = state,
		      .args = {.call = what, .root = root, .state = state}};
	if (stream == NULL || state == NULL)
		return tsr_error(TSR_ERR_ARGUMENT, "%s: %s must not be null", name,
				 stream == NULL ? "stream" : "state");
	c->ranks = tsr_team_size(stream->team);
	c->me = tsr_team_rank(stream->team);
	tsr_status_t status = tsr_check_tensor(c->dst);
	if (status == TSR_OK)
		status = tsr_check_tensor(c->src);
	if (status != TSR_OK)
		return status;
	if (dst->dtype != src->dtype || dst->dims != src->dims)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s from %s in %d dimensions to %s in %d: give it tensors of one "
				 "dtype and number of dimensions",
				 name, tsr_dtype_name(src->dtype), src->dims,
				 tsr_dtype_name(dst->dtype), dst->dims);
	if (root < 0 || root >= c->ranks)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s with root %d: the stream's team has ranks 0 to %d", name, root,
				 c->ranks - 1);
	return check_state(c);
}

/* ------------------------------------------------------------------ shapes */

static int64_t part_of(const call_t *c, int64_t extent)
{
	return extent * (c->me + 1) / c->ranks - extent * c->me / c->ranks;
}

static tsr_status_t check_dim(const call_t *c, int dim)
{
	if (dim >= 0 && dim < c->dst.tensor->dims)
		return TSR_OK;
	return tsr_error(TSR_ERR_ARGUMENT, "%s along dimension %d: the tensors have 0 to %d",
			 c->name, dim, c->dst.tensor->dims - 1);
}

/** An extent is what the other tensor's asks for. */
static tsr_status_t check_extent(const call_t *c, tsr_named_tensor_t named, int dim, int64_t right)
{
	if (named.tensor->shape[dim] == right)
		return TSR_OK;
	return tsr_error(TSR_ERR_ARGUMENT,
			 "%s: extent %d of %s is %" PRId64
			 ", and %s of rank %d of %d needs %" PRId64,
			 c->name, dim, named.name, named.tensor->shape[dim],
			 named.tensor == c->dst.tensor ? "src" : "dst", c->me, c->ranks, right);
}

/** All extents are the same, but those of one or two dimensions, which are checked elsewhere. */
static tsr_status_t check_others(const call_t *c, int dim, int other)
{
	tsr_status_t status = TSR_OK;
	for (int i = 0; i < c->dst.tensor->dims && status == TSR_OK; i++)
		if (i != dim && i != other)
			status = check_extent(c, c->dst, i, c->src.tensor->shape[i]);
	return status;
}

/**
 * Ranks share dimension `dim` of `whole`, which is one of a matrix' two sides,
 * with the dimensions behind it up to `end`: whether a share is whole elements
 * of that dimension.
 */
static tsr_status_t check_share(const call_t *c, tsr_named_tensor_t whole, int dim, int end)
{
	int64_t within = 1;
	for (int i = dim + 1; i < end; i++)
		within *= whole.tensor->shape[i];
	if (within == 1 || whole.tensor->shape[dim] % c->ranks == 0)
		return TSR_OK;
	return tsr_error(TSR_ERR_ARGUMENT,
			 "%s: %d ranks do not divide extent %d of %s, which is %" PRId64
			 " and has %" PRId64 " elements within each: make it a multiple",
			 c->name, c->ranks, dim, whole.name, whole.tensor->shape[dim], within);
}

/* ------------------------------------------------------------------ launches */

static int64_t bytes_of(const tsr_matrices_t *m)
{
	return m->first.rows * m->first.cols *
	       (int64_t)tsr_dtype_bytes((tsr_dtype_t)m->first.dtype);
}

/**
 * As many blocks as have something to do and can run at the same time, and half
 * of what the device holds: a collective on another stream has room, too.
 * Between nodes blocks wait for one proxy, and the more of them ask, the longer
 * each request takes: there are few, and each asks for much. (Two H200s, a node
 * each, over TCP: an all-reduce of 8 MiB takes 33 ms by 8 blocks, 57 by 16, 98 by
 * 32 and 550 by 128.)
 */
static int blocks_for(const call_t *c)
{
	enum { BLOCK_BYTES = 4 << 10, FAR_BLOCK_BYTES = 64 << 10, FAR_BLOCKS = 8 };
	tsr_device_props_t props = {.size = sizeof props};
	const int64_t to = bytes_of(&c->to), from = bytes_of(&c->from);
	const bool far = tsr_team_nodes(c->stream->team) > 1;
	int64_t blocks = (to > from ? to : from) / (far ? FAR_BLOCK_BYTES : BLOCK_BYTES);
	if (far && blocks > FAR_BLOCKS)
		blocks = FAR_BLOCKS;
	if (tsr_world_device(c->stream->world, &props) == TSR_OK) {
		const int half = props.resident_blocks / 2,
			  most = half < props.parallel_blocks ? half : props.parallel_blocks;
		blocks = blocks < most ? blocks : most;
	}
	return blocks > 1 ? (int)blocks : 1;
}

static tsr_status_t launch(call_t *c, const tsr_kernel_t *kernel)
{
	const int64_t element = (int64_t)tsr_dtype_bytes(c->dst.tensor->dtype);
	const int blocks = blocks_for(c);
	const tsr_agree_call_t agreed = {.name = c->name,
					 .stream = c->stream,
					 .dst = c->dst.tensor,
					 .src = c->src.tensor,
					 .to = &c->to,
					 .from = &c->from,
					 .split = c->split,
					 .place = c->place,
					 .args = &c->args};
	tsr_short_call_t brief;
	tsr_device_gate_t gate = {.pass = NULL};
	c->args.dst = c->to.first;
	c->args.src = c->from.first;
	c->args.batches = c->to.count;
	c->args.dst_step = c->to.step * element;
	c->args.src_step = c->from.step * element;
	const tsr_status_t status = tsr_collective_agree(&agreed, &gate);
	if (status != TSR_OK)
		return status;
	if (tsr_collective_is_short(&c->args, c->me, c->ranks, tsr_team_nodes(c->stream->team),
				    blocks, &brief))
		return tsr_launch_gated(c->stream,
					kernel == &tsr_stream_moves ? &tsr_stream_short_moves
								    : &tsr_stream_short_combines,
					blocks, &brief, sizeof brief, &gate);
	return tsr_launch_gated(c->stream, kernel, blocks, &c->args, sizeof c->args, &gate);
}

static tsr_status_t combine(call_t *c, const tsr_kernel_t *kernel)
{
	const tsr_dtype_t dtype = c->src.tensor->dtype;
	if (dtype == TSR_I64)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s of elements of i64, which it does not combine: use f64, f32, "
				 "f16, bf16, i32, i8 or u8",
				 c->name);
	if (c->args.op < TSR_REDUCE_SUM || c->args.op > TSR_REDUCE_MIN)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s by operation %d: there are TSR_REDUCE_SUM, _MAX and _MIN",
				 c->name, (int)c->args.op);
	return launch(c, kernel);
}

/** Both tensors as one matrix each, element by element. */
static tsr_status_t take_whole(call_t *c)
{
	tsr_status_t status = check_others(c, -1, -1);
	if (status == TSR_OK)
		status = tsr_tensor_matrix(c->stream->world, c->dst, &c->to);
	if (status == TSR_OK)
		status = tsr_tensor_matrix(c->stream->world, c->src, &c->from);
	if (status != TSR_OK ||
	    (c->to.first.rows == c->from.first.rows && c->to.first.cols == c->from.first.cols))
		return status;
	/* one has gaps where the other has none */
	int dim = 1;
	while (dim < c->dst.tensor->dims &&
	       (tsr_tensor_matrices(c->stream->world, c->dst, 0, dim, &c->to) != TSR_OK ||
		tsr_tensor_matrices(c->stream->world, c->src, 0, dim, &c->from) != TSR_OK))
		dim++;
	return dim < c->dst.tensor->dims
		       ? TSR_OK
		       : tsr_error(TSR_ERR_ARGUMENT,
				   "%s: dst and src make no matrices of one shape: give them the "
				   "same strides",
				   c->name);
}

/** Both as matrices of which one has a part of the other, along `dim`. */
static tsr_status_t take_part(call_t *c, tsr_named_tensor_t whole, tsr_named_tensor_t part, int dim)
{
	const int dims = c->dst.tensor->dims, columns = dim == 0 ? 1 : dim;
	tsr_status_t status = check_dim(c, dim);
	if (status == TSR_OK)
		status = check_others(c, dim, dim);
	if (status == TSR_OK)
		status = check_extent(c, part, dim, part_of(c, whole.tensor->shape[dim]));
	if (status == TSR_OK && dim > 0)
		status = check_share(c, whole, dim, dims);
	if (status == TSR_OK)
		status = tsr_tensor_matrices(c->stream->world, c->dst, 0, columns, &c->to);
	if (status == TSR_OK)
		status = tsr_tensor_matrices(c->stream->world, c->src, 0, columns, &c->from);
	c->args.dim = dim == 0 ? 0 : 1; /* tsr_dim_t */
	c->split = dim;
	return status;
}

/* ------------------------------------------------------------------ the calls */

tsr_status_t tsr_stream_all_reduce(tsr_stream_t *stream, const tsr_tensor_t *dst,
				   const tsr_tensor_t *src, tsr_reduce_t op,
				   TSR_HEAP tsr_collective_state_t *state)
{
	call_t c;
	tsr_status_t status = begin(&c, "tsr_stream_all_reduce", TSR_STREAM_ALL_REDUCE, stream, dst,
				    src, 0, state);
	c.args.op = (int32_t)op;
	if (status == TSR_OK)
		status = take_whole(&c);
	return status == TSR_OK ? combine(&c, &tsr_stream_all_reduces) : status;
}

tsr_status_t tsr_stream_reduce(tsr_stream_t *stream, const tsr_tensor_t *dst,
			       const tsr_tensor_t *src, tsr_reduce_t op, int root,
			       TSR_HEAP tsr_collective_state_t *state)
{
	call_t c;
	tsr_status_t status =
		begin(&c, "tsr_stream_reduce", TSR_STREAM_REDUCE, stream, dst, src, root, state);
	c.args.op = (int32_t)op;
	if (status == TSR_OK)
		status = take_whole(&c);
	return status == TSR_OK ? combine(&c, &tsr_stream_reduces) : status;
}

tsr_status_t tsr_stream_reduce_scatter(tsr_stream_t *stream, const tsr_tensor_t *dst,
				       const tsr_tensor_t *src, int dim, tsr_reduce_t op,
				       TSR_HEAP tsr_collective_state_t *state)
{
	call_t c;
	tsr_status_t status = begin(&c, "tsr_stream_reduce_scatter", TSR_STREAM_REDUCE_SCATTER,
				    stream, dst, src, 0, state);
	c.args.op = (int32_t)op;
	if (status == TSR_OK)
		status = take_part(&c, c.src, c.dst, dim);
	return status == TSR_OK ? combine(&c, &tsr_stream_reduce_scatters) : status;
}

tsr_status_t tsr_stream_all_gather(tsr_stream_t *stream, const tsr_tensor_t *dst,
				   const tsr_tensor_t *src, int dim,
				   TSR_HEAP tsr_collective_state_t *state)
{
	call_t c;
	tsr_status_t status = begin(&c, "tsr_stream_all_gather", TSR_STREAM_ALL_GATHER, stream, dst,
				    src, 0, state);
	if (status == TSR_OK)
		status = take_part(&c, c.dst, c.src, dim);
	return status == TSR_OK ? launch(&c, &tsr_stream_moves) : status;
}

tsr_status_t tsr_stream_broadcast(tsr_stream_t *stream, const tsr_tensor_t *dst,
				  const tsr_tensor_t *src, int root,
				  TSR_HEAP tsr_collective_state_t *state)
{
	call_t c;
	tsr_status_t status = begin(&c, "tsr_stream_broadcast", TSR_STREAM_BROADCAST, stream, dst,
				    src, root, state);
	if (status == TSR_OK)
		status = take_whole(&c);
	return status == TSR_OK ? launch(&c, &tsr_stream_moves) : status;
}

tsr_status_t tsr_stream_gather(tsr_stream_t *stream, const tsr_tensor_t *dst,
			       const tsr_tensor_t *src, int dim, int root,
			       TSR_HEAP tsr_collective_state_t *state)
{
	call_t c;
	tsr_status_t status =
		begin(&c, "tsr_stream_gather", TSR_STREAM_GATHER, stream, dst, src, root, state);
	if (status == TSR_OK)
		status = take_part(&c, c.dst, c.src, dim);
	return status == TSR_OK ? launch(&c, &tsr_stream_moves) : status;
}

tsr_status_t tsr_stream_scatter(tsr_stream_t *stream, const tsr_tensor_t *dst,
				const tsr_tensor_t *src, int dim, int root,
				TSR_HEAP tsr_collective_state_t *state)
{
	call_t c;
	tsr_status_t status =
		begin(&c, "tsr_stream_scatter", TSR_STREAM_SCATTER, stream, dst, src, root, state);
	if (status == TSR_OK)
		status = take_part(&c, c.src, c.dst, dim);
	return status == TSR_OK ? launch(&c, &tsr_stream_moves) : status;
}

/** Of an all-to-all: what I have along `place` is a part, and what I get along `split`. */
static tsr_status_t check_exchange(const call_t *c, int split, int place, int row, int col)
{
	const tsr_tensor_t *dst = c->dst.tensor, *src = c->src.tensor;
	tsr_status_t status = check_others(c, split, place);
	if (status != TSR_OK)
		return status;
	if (split == place) {
		status = check_extent(c, c->dst, split, part_of(c, src->shape[split]) * c->ranks);
		return status == TSR_OK && col == split ? check_share(c, c->src, split, dst->dims)
							: status;
	}
	status = check_extent(c, c->dst, split, part_of(c, src->shape[split]));
	if (status == TSR_OK)
		status = check_extent(c, c->src, place, part_of(c, dst->shape[place]));
	if (status == TSR_OK)
		status = check_share(c, split == row ? c->src : c->dst, row, col);
	return status == TSR_OK ? check_share(c, split == col ? c->src : c->dst, col, dst->dims)
				: status;
}

tsr_status_t tsr_stream_all_to_all(tsr_stream_t *stream, const tsr_tensor_t *dst,
				   const tsr_tensor_t *src, int split, int place,
				   TSR_HEAP tsr_collective_state_t *state)
{
	call_t c;
	tsr_status_t status = begin(&c, "tsr_stream_all_to_all", TSR_STREAM_ALL_TO_ALL, stream, dst,
				    src, 0, state);
	/* the dimensions with which rows and columns begin */
	const int least = split < place ? split : place, row = split == place ? 0 : least,
		  col = split != place ? split + place - least
			: split == 0   ? 1
				       : split;
	if (status == TSR_OK)
		status = check_dim(&c, split);
	if (status == TSR_OK)
		status = check_dim(&c, place);
	if (status == TSR_OK)
		status = check_exchange(&c, split, place, row, col);
	if (status == TSR_OK)
		status = tsr_tensor_matrices(stream->world, c.dst, row, col, &c.to);
	if (status == TSR_OK)
		status = tsr_tensor_matrices(stream->world, c.src, row, col, &c.from);
	c.split = split;
	c.place = place;
	c.args.dim = split >= col;
	c.args.place = place >= col;
	return status == TSR_OK ? launch(&c, &tsr_stream_moves) : status;
}
