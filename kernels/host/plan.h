/*
 * A plan: a workload that is ready to run on one rank. It owns the configuration,
 * the buffers, the streams and the kernels. Its life is the same for all
 * workloads and is here: open, reconfigure, run, close. A workload says in a
 * plan_kind_t what is its own.
 */
#ifndef KERNELS_HOST_PLAN_H
#define KERNELS_HOST_PLAN_H

#include "kernels/choices/explain.h"
#include "kernels/choices/machine.h"
#include "kernels/host/buffers.h"
#include "kernels/host/streams.h"
#include "kernels/host/variants.h"
#include "kernels/workload.h"

enum {
	PLAN_BUFFERS = 24, /* buffers of a plan, at most */
	PLAN_KERNELS = 4,  /* kernels of a pattern, at most */
	PLAN_WORDS = 96    /* length of a sentence's beginning */
};

typedef struct plan_kind plan_kind_t;

/**
 * What all plans have. It is the first member of a workload's own struct, which
 * has the kernels' arguments too.
 */
typedef struct plan {
	const plan_kind_t *kind;
	tsr_world_t *world;
	int rank, ranks;
	workload_config_t config; /* everything is chosen */
	const machine_t *machine; /* the figures of the rank's device */
	explain_t *explain;       /* where choices are recorded; null: nowhere */
	/* bit m: the caller brings matrix m of the workload to each run, and it has no buffer */
	unsigned given;
	/* the variant of the kernels */
	tsr_dtype_t dtype;
	tile_size_t tile;
	const tsr_kernel_t *kernels[PLAN_KERNELS];
	buffer_t buffer[PLAN_BUFFERS];
	streams_t streams;
} plan_t;

/**
 * What is a workload's own. The functions are called by one thread a rank, with a
 * plan whose struct is `size_bytes` long.
 */
struct plan_kind {
	const workload_t *workload;
	size_t size_bytes;
	/* The number of buffers. The first `kept` of them depend on the problem alone, and
	 * outlive a reconfiguration. */
	int buffers, kept;
	/** Begins a sentence about the plan's memory: "shape 64x64x64 in bf16". */
	void (*words)(const plan_t *plan, char words_out[PLAN_WORDS]);
	/**
	 * Reads plan->config, in which everything is chosen. Sets dtype and tile, and the
	 * names and sizes of the buffers, which are all null.
	 */
	void (*prepare)(plan_t *plan);
	/** Sets the kernels' arguments that depend on the problem alone. */
	void (*set_problem)(plan_t *plan);
	/** Sets the others. Called after set_problem, and after each reconfiguration. */
	void (*set_exchange)(plan_t *plan);
	/**
	 * Copies the inputs that lie in buffers which are not kept, when a plan gets another
	 * configuration; no run is in flight. Null: there are none.
	 */
	tsr_status_t (*carry)(const plan_t *before, plan_t *next);
	/** How many side streams and marks the configuration needs. Null: none. */
	void (*count_streams)(const plan_t *plan, int *sides_out, int *marks_out);
	/** Starts a run, and returns without waiting. */
	tsr_status_t (*run)(plan_t *plan);
	/** The same for the computation alone, in the workload's compute_pattern. */
	tsr_status_t (*compute)(plan_t *plan);
	/** Says whether runs that have ended went wrong, in memory. Null: none can. */
	tsr_status_t (*ended)(const plan_t *plan);
	/** The place of this rank's part of an input or output. */
	tsr_view_t (*view)(const plan_t *plan, int matrix);
	/** Sets the place of matrix 0, 1 or 2 in the kernels' arguments: of all its memory. */
	void (*place)(plan_t *plan, int matrix, tsr_view_t view);
};

/**
 * Makes a plan of this kind. The opening of a workload (workload_t) is this call.
 * After an error everything is released, and the sentence is kept. Errors: those
 * of the workload's check and choose; of variant_find, buffers_check,
 * buffers_allocate and streams_create.
 */
tsr_status_t plan_open(const plan_kind_t *kind, tsr_world_t *world, const workload_config_t *config,
		       workload_run_t **run_out);

/**
 * The same, where the caller brings the matrices in `given` (bit m: matrix m, of
 * 0, 1 and 2) to each run: they get no buffer. plan_place says where they are
 * before a run.
 */
tsr_status_t plan_open_with(const plan_kind_t *kind, tsr_world_t *world,
			    const workload_config_t *config, unsigned given,
			    workload_run_t **run_out);
void plan_place(workload_run_t *run, int matrix, tsr_view_t view);

/**
 * plan_start on a stream of the caller's in place of the main stream. Runs on
 * different streams are ordered by the caller.
 */
tsr_status_t plan_start_on(workload_run_t *run, tsr_stream_t *stream);

/* The other functions of a workload_t, which describes them. */
tsr_status_t plan_reconfigure(workload_run_t *run, const workload_config_t *config);
void plan_explain(workload_run_t *run, explain_t *explain);
tsr_status_t plan_start(workload_run_t *run);
tsr_status_t plan_compute(workload_run_t *run);
tsr_status_t plan_sync(workload_run_t *run);
tsr_status_t plan_close(workload_run_t *run, tsr_status_t status);
tsr_stream_t *plan_stream(workload_run_t *run);
void plan_chosen(const workload_run_t *run, workload_config_t *config_out);
tsr_view_t plan_view(const workload_run_t *run, int matrix);

/** These functions, for the initialiser of a workload_t. */
#define PLAN_FUNCTIONS                                                                          \
	.reconfigure = plan_reconfigure, .explain = plan_explain, .start = plan_start,          \
	.compute = plan_compute, .sync = plan_sync, .close = plan_close, .stream = plan_stream, \
	.chosen = plan_chosen, .view = plan_view

#endif
