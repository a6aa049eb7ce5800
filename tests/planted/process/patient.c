/*
 * Ranks that wait until they are told to go on, for tests of signals: `patient
 * wait|print`.
 *
 * wait: rank 0 says "ready" and reads its input to the end; rank 1 waits in a
 * kernel for rank 0's signal, the others at a barrier. print: rank 0 prints for
 * ever, and the others wait at a barrier.
 */
#include <stdbool.h>
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { WAIT, PRINT, KINDS };
static const char *const kinds[KINDS] = {"wait", "print"};

typedef struct patient_args {
	TSR_HEAP uint64_t *flag;
} patient_args_t;

/** Partner of the signal: the wait. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_KERNEL(go_on, patient_args_t, a)
{
	if (tsr_rank(block) == 0)
		tsr_signal(block, a->flag, 1, TSR_SIGNAL_SET, 1);
	else if (tsr_rank(block) == 1)
		tsr_wait(block, a->flag, 1, 0);
}

static int print_for_ever(void)
{
	while (puts("a line that somebody may read") >= 0)
		continue;
	return 1;
}

static void await_end_of_input(void)
{
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
}

TSR_MAIN(world, argc, argv)
{
	const int64_t one[1] = {1};
	tsr_tensor_t flag;
	tsr_stream_t *stream;
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	const bool prints = kind == PRINT;
	if (kind == KINDS) {
		fprintf(stderr, "usage: patient wait|print\n");
		return 2;
	}
	TSR_TRY(tsr_tensor_zeros(world, TSR_I64, 1, one, &flag));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	if (tsr_world_rank(world) == 0 && prints)
		return print_for_ever();
	if (tsr_world_rank(world) == 0)
		await_end_of_input();
	const patient_args_t args = {(TSR_HEAP uint64_t *)flag.data};
	if (!prints && tsr_world_size(world) > 1)
		TSR_TRY(tsr_launch(stream, &go_on, 1, &args));
	TSR_TRY(tsr_barrier(world));
	return 0;
}
