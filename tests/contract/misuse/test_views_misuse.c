/*
 * Collectives on views that a kernel calls with what they do not take: the
 * launch fails, and one sentence says what, where and why.
 */
#include "tests/contract/ended_world.h"

typedef enum misuse {
	MIXED,
	SHARED,
	EXTENTS,
	EXCHANGED,
	OVERLAP,
	MOVED,
	NO_SUMS,
	PARTLY,
	ROOT,
	GATHERED,
	DEALT,
	NOWHERE,
	ROUNDED,
	COMBINED,
	OUTSIDE,
	MISUSES
} misuse_t;

/* In the order of misuse_t, for C++ has no designators in arrays. */
static const char *const said[MISUSES] = {
	"tsr_broadcast from a view of dtype 2 to one of dtype 1",                  /* MIXED */
	"tsr_broadcast of a view of shared memory",                                /* SHARED */
	"tsr_all_gather_view of 4 x 4 elements to a place of 2 x 4",               /* EXTENTS */
	"tsr_all_to_all of 4 x 2 elements to a place of 2 x 4",                    /* EXCHANGED */
	"tsr_broadcast of views that share memory, in a way that is not in place", /* OVERLAP */
	"tsr_all_to_all of views that share memory",                               /* MOVED */
	"tsr_all_reduce_view of elements of dtype 4, which it does not combine",   /* NO_SUMS */
	"tsr_reduce_scatter of views that share memory",                           /* PARTLY */
	"tsr_broadcast with root 2 of 2 ranks",                                    /* ROOT */
	"tsr_gather of 4 x 4 elements to a place of 4 x 2",                        /* GATHERED */
	"tsr_scatter of views that share memory",                                  /* DEALT */
	"tsr_reduce_view with root -1 of 2 ranks",                                 /* NOWHERE */
	"tsr_combine from a view of dtype 2 to one of dtype 1",                    /* ROUNDED */
	"tsr_combine of 4 x 4 elements to a place of 2 x 4",                       /* COMBINED */
	"tsr_combine with root 2 of 2 ranks",                                      /* OUTSIDE */
};

typedef struct misuse_args {
	TSR_HEAP unsigned char *heap;
	TSR_HEAP tsr_collective_state_t *state;
	int32_t misuse;
} misuse_args_t;

TSR_KERNEL(collect_wrongly, misuse_args_t, a)
{
	const tsr_view_t f32 = tsr_view(a->heap, TSR_F32, 4, 4, 4),
			 f16 = tsr_view(a->heap + 128, TSR_F16, 4, 4, 4),
			 below = tsr_view(a->heap + 16, TSR_F32, 4, 4, 4),
			 behind = tsr_view(a->heap + 64, TSR_F32, 4, 4, 4),
			 shared = tsr_view_shared((void *)(uintptr_t)a->heap, TSR_F32, 4, 4, 4);
	switch ((misuse_t)a->misuse) {
	case MIXED:
		tsr_broadcast(block, f32, f16, 0, a->state);
		break;
	case SHARED:
		tsr_broadcast(block, f32, shared, 0, a->state);
		break;
	case EXTENTS:
		tsr_all_gather_view(block, f32, behind, TSR_DIM_ROWS, a->state);
		break;
	case EXCHANGED:
		tsr_all_to_all(block, f32, behind, TSR_DIM_COLS, TSR_DIM_ROWS, a->state);
		break;
	case OVERLAP:
		tsr_broadcast(block, f32, below, 0, a->state);
		break;
	case MOVED:
		tsr_all_to_all(block, f32, f32, TSR_DIM_ROWS, TSR_DIM_ROWS, a->state);
		break;
	case NO_SUMS:
		tsr_all_reduce_view(block, tsr_view(a->heap, TSR_I64, 2, 2, 2),
				    tsr_view(a->heap, TSR_I64, 2, 2, 2), TSR_REDUCE_SUM, a->state);
		break;
	case PARTLY:
		tsr_reduce_scatter(block, tsr_view(a->heap + 16, TSR_F32, 2, 4, 4), f32,
				   TSR_DIM_ROWS, TSR_REDUCE_MAX, a->state);
		break;
	case GATHERED:
		tsr_gather(block, f32, behind, TSR_DIM_COLS, 0, a->state);
		break;
	case DEALT:
		tsr_scatter(block, tsr_view(a->heap + 32, TSR_F32, 2, 4, 4), f32, TSR_DIM_ROWS, 0,
			    a->state);
		break;
	case NOWHERE:
		tsr_reduce_view(block, f32, behind, TSR_REDUCE_SUM, -1, a->state);
		break;
	case ROUNDED:
		tsr_combine(block, f32, f16, TSR_REDUCE_SUM, 0);
		break;
	case COMBINED:
		tsr_combine(block, tsr_view(a->heap + 64, TSR_F32, 2, 4, 4), f32, TSR_REDUCE_SUM,
			    0);
		break;
	case OUTSIDE:
		tsr_combine(block, f32, behind, TSR_REDUCE_SUM, 2);
		break;
	default:
		tsr_broadcast(block, f32, behind, 2, a->state);
		break;
	}
}

static int misuse_body(tsr_world_t *world, int argc, char **argv)
{
	unsigned char seen[256];
	misuse_args_t a = {poisoned(world, sizeof seen, "target"),
			   zeroed(world, tsr_collective_state_bytes(2), "state"),
			   argc > 1 ? atoi(argv[1]) : 0};
	CHECK(a.heap && a.state);
	CHECK(tsr_barrier(world) == TSR_OK);
	if (tsr_world_rank(world) == 0) {
		CHECK(run_kernel(world, &collect_wrongly, 1, &a) == TSR_ERR_KERNEL);
		CHECK(strstr(tsr_last_error(),
			     "kernel collect_wrongly, block 0, worker 0 of rank 0: "));
		CHECK(strstr(tsr_last_error(), "test_views_misuse.c:"));
		CHECK(strstr(tsr_last_error(), said[a.misuse]), "not '%s'", said[a.misuse]);
	} else {
		CHECK(tsr_barrier(world) != TSR_OK, "the world has ended");
	}
	CHECK(tsr_memcpy_from_heap(world, seen, a.heap, sizeof seen) == TSR_OK);
	for (size_t i = 0; i < sizeof seen; i++)
		CHECK(seen[i] == POISON, "nothing is moved");
	return witness();
}

Test(views_misuse, every_kind_is_named)
{
	char number[16];
	for (int i = 0; i < MISUSES; i++) {
		snprintf(number, sizeof number, "%d", i);
		ended_both(2, misuse_body, number, said[i]);
	}
}
