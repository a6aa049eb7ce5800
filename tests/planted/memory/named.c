/*
 * named plain|made|given|line: two tensors of one shape, of each of which rank 0
 * writes an element in rank 1's copy while rank 1 reads it. They are two
 * variables (plain), the results of a function (made), have names of their own
 * (given), or are made where no variable is named (line).
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { ROWS = 16, COLS = 17, PLAIN = 0, MADE, GIVEN, LINE, KINDS };
static const char *const kinds[KINDS] = {"plain", "made", "given", "line"};

typedef struct named_args {
	TSR_HEAP float *box, *halo;
} named_args_t;

TSR_KERNEL(touch, named_args_t, a)
{
	float value[4] = {1, 2, 3, 4};
	if (tsr_rank(block) == 0) {
		tsr_put(block, a->box + 3 * COLS + 5, a->box, sizeof value[0], 1);
		tsr_put(block, a->halo + 7 * COLS + 2, a->halo, sizeof value, 1);
	} else if (tsr_rank(block) == 1) {
		tsr_put(block, a->box, a->box + 3 * COLS + 5, sizeof value[0], 1);
		tsr_put(block, a->halo, a->halo + 7 * COLS + 2, sizeof value, 1);
	}
}

/* Who makes both names neither. */
static tsr_status_t make(tsr_world_t *world, tsr_tensor_t *out)
{
	static const int64_t shape[] = {ROWS, COLS};
	return tsr_tensor_zeros(world, TSR_F32, 2, shape, out);
}

static tsr_status_t make_both(tsr_world_t *world, int kind, tsr_tensor_t both[2])
{
	static const int64_t shape[] = {ROWS, COLS};
	tsr_tensor_t box, halo;
	tsr_status_t status;
	if (kind == MADE) {
		status = make(world, &both[0]);
		return status == TSR_OK ? make(world, &both[1]) : status;
	}
	if (kind == LINE) {
		tsr_status_t (*zeros)(tsr_world_t *, tsr_dtype_t, int, const int64_t *,
				      tsr_tensor_t *) = tsr_tensor_zeros;
		tsr_site_begin("tsr_tensor_zeros", "far/away.c", 7);
		status = zeros(world, TSR_F32, 2, shape, &both[0]);
		tsr_site_begin("tsr_tensor_zeros", "away.c", 8);
		return tsr_site_end(status == TSR_OK ? zeros(world, TSR_F32, 2, shape, &both[1])
						     : status);
	}
	status = tsr_tensor_zeros(world, TSR_F32, 2, shape, &box);
	if (status == TSR_OK)
		status = tsr_tensor_zeros(world, TSR_F32, 2, shape, &halo);
	if (status != TSR_OK)
		return status;
	both[0] = box;
	both[1] = halo;
	if (kind == PLAIN)
		return TSR_OK;
	status = tsr_tensor_name(world, &both[0], "hot plate");
	return status == TSR_OK ? tsr_tensor_name(world, &both[1], "cold plate") : status;
}

TSR_MAIN(world, argc, argv)
{
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	tsr_tensor_t both[2];
	tsr_stream_t *stream;
	if (kind == KINDS || tsr_world_size(world) < 2) {
		fprintf(stderr, "named: say plain, made, given or line, and start 2 ranks\n");
		return 2;
	}
	TSR_TRY(make_both(world, kind, both));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	const named_args_t args = {(TSR_HEAP float *)both[0].data, (TSR_HEAP float *)both[1].data};
	TSR_TRY(tsr_launch(stream, &touch, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_tensor_free(world, &both[0]));
	TSR_TRY(tsr_tensor_free(world, &both[1]));
	return tsr_stream_destroy(stream) == TSR_OK ? 0 : tsr_fail(world);
}
