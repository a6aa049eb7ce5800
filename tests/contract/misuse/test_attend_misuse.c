/*
 * Attention that a kernel calls wrongly: the operation is skipped, the launch
 * fails, and one sentence says what, where and why.
 */
#include "tests/contract/ended_world.h"

typedef enum misuse {
	DTYPE,
	SCALE,
	STEP,
	COLUMNS,
	PLACE,
	KEYS,
	MASK,
	GATE_RANK,
	GATE_WRITES,
	UNSET_MERGE,
	UNSET_FINISH,
	SAVE_ALIGNMENT,
	LOAD_OUTSIDE,
	MISUSES
} misuse_t;

/* In the order of misuse_t, for C++ has no designators in arrays. */
static const char *const said[MISUSES] = {
	"tsr_attend of a view of f16 with tiles of f32",             /* DTYPE */
	"tsr_attend with a scale of 0",                              /* SCALE */
	"tsr_attend with a step of 0 between tasks",                 /* STEP */
	"tsr_attend of values at 0, 8 of a view of 4 x 16",          /* COLUMNS */
	"tsr_attend of queries at column 4",                         /* PLACE */
	"tsr_attend of a span from key -1 on",                       /* KEYS */
	"tsr_attend of a span with mask 7, which is none",           /* MASK */
	"tsr_attend to rank 9 of a world of 2",                      /* GATE_RANK */
	"tsr_put in a gate",                                         /* GATE_WRITES */
	"tsr_state_merge of a state that nothing has given values",  /* UNSET_MERGE */
	"tsr_state_finish of a state that nothing has given values", /* UNSET_FINISH */
	"tsr_state_save of memory at",                               /* SAVE_ALIGNMENT */
	"tsr_state_load of",                                         /* LOAD_OUTSIDE */
};

typedef struct misuse_args {
	TSR_HEAP unsigned char *heap;
	int32_t misuse;
} misuse_args_t;

TSR_ATTEND_TILE(tile, f32, 16, 16, 16);
TSR_ATTEND_TILE(half, f16, 16, 16, 16);

TSR_FN tsr_span_t any_span(int64_t task, const void *ctx)
{
	const misuse_args_t *a = (const misuse_args_t *)ctx;
	tsr_span_t span = {{0, 0}, {0, 0}, 4, 0, 4, 0, 1, 0, 0};
	(void)task;
	if (a->misuse == COLUMNS)
		span.kv.col = 8;
	if (a->misuse == PLACE)
		span.q.col = 4;
	if (a->misuse == KEYS)
		span.k0 = -1;
	if (a->misuse == MASK)
		span.mask = 7;
	return span;
}

TSR_FN tsr_keys_from_t bad_gate(tsr_coop_t *loader, tsr_span_t run, const void *ctx)
{
	const misuse_args_t *a = (const misuse_args_t *)ctx;
	const tsr_keys_from_t from = {a->misuse == GATE_RANK ? 9 : tsr_rank(loader), run.k1};
	if (a->misuse == GATE_WRITES)
		tsr_put(loader, a->heap, a->heap + 16, 16, 0);
	return from;
}

TSR_FN void no_epilogue(tsr_coop_t *me, tile_state_t *state, tsr_span_t span, void *ctx)
{
	(void)me, (void)state, (void)span, (void)ctx;
}

TSR_FN void no_half_epilogue(tsr_coop_t *me, half_state_t *state, tsr_span_t span, void *ctx)
{
	(void)me, (void)state, (void)span, (void)ctx;
}

TSR_FN void misuse_states(tsr_coop_t *block, const misuse_args_t *a)
{
	TSR_STATE(tile, unset, block);
	TSR_STATE(tile, neutral, block);
	TSR_FRAG(tile, o, block);
	TSR_FRAG_ROWS(tile, lse, block);
	tsr_state_neutral(block, neutral);
	if (a->misuse == UNSET_MERGE)
		tsr_state_merge(block, neutral, unset);
	else if (a->misuse == UNSET_FINISH)
		tsr_state_finish(block, unset, o, lse);
	else if (a->misuse == SAVE_ALIGNMENT)
		tsr_state_save(block, a->heap + 4, neutral);
	else
		tsr_state_load(block, neutral, (TSR_HEAP void *)(uintptr_t)4096);
}

TSR_KERNEL(attend_wrongly, misuse_args_t, a)
{
	misuse_args_t copy = *a;
	const tsr_view_t f32 = tsr_view(a->heap, TSR_F32, 4, 16, 16),
			 narrow = tsr_view(a->heap, TSR_F32, 4, 24, 24),
			 f16 = tsr_view(a->heap, TSR_F16, 4, 32, 32);
	const tsr_tasks_t one = {0, a->misuse == STEP ? 0 : 1, 1};
	const float scale = a->misuse == SCALE ? 0 : 1;
	if (a->misuse >= UNSET_MERGE)
		misuse_states(block, a);
	else if (a->misuse == PLACE)
		tsr_attend(half, block, f16, f16, f16, scale, one, any_span, TSR_NO_KEYS_GATE,
			   TSR_NO_START, no_half_epilogue, &copy);
	else if (a->misuse == DTYPE)
		tsr_attend(tile, block, f32, f16, f32, scale, one, any_span, TSR_NO_KEYS_GATE,
			   TSR_NO_START, no_epilogue, &copy);
	else if (a->misuse == COLUMNS)
		tsr_attend(tile, block, f32, narrow, f32, scale, one, any_span, TSR_NO_KEYS_GATE,
			   TSR_NO_START, no_epilogue, &copy);
	else
		tsr_attend(tile, block, f32, f32, f32, scale, one, any_span, bad_gate, TSR_NO_START,
			   no_epilogue, &copy);
}

static int misuse_body(tsr_world_t *world, int argc, char **argv)
{
	unsigned char seen[512];
	misuse_args_t a = {poisoned(world, sizeof seen, "target"), argc > 1 ? atoi(argv[1]) : 0};
	CHECK(a.heap);
	CHECK(tsr_barrier(world) == TSR_OK);
	if (tsr_world_rank(world) == 0) {
		CHECK(run_kernel(world, &attend_wrongly, 1, &a) == TSR_ERR_KERNEL);
		CHECK(strstr(tsr_last_error(),
			     "kernel attend_wrongly, block 0, worker 0 of rank 0: "));
		CHECK(strstr(tsr_last_error(), "test_attend_misuse.c:"));
		CHECK(strstr(tsr_last_error(), said[a.misuse]), "not '%s'", said[a.misuse]);
	} else {
		CHECK(tsr_barrier(world) != TSR_OK, "the world has ended");
	}
	CHECK(tsr_memcpy_from_heap(world, seen, a.heap, sizeof seen) == TSR_OK);
	for (size_t i = 0; i < sizeof seen; i++)
		CHECK(seen[i] == POISON, "nothing is moved");
	return witness();
}

Test(attend_misuse, every_kind_is_named)
{
	char number[16];
	for (int i = 0; i < MISUSES; i++) {
		snprintf(number, sizeof number, "%d", i);
		ended_both(2, misuse_body, number, said[i]);
	}
}
