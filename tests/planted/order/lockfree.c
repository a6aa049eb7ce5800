/*
 * lockfree KIND: what is right without a wait, on any number of ranks; all of
 * it lies on rank 0.
 *
 *     trylock  a lock that is tried until it is had. Who does not get it says
 *              so; who has it looks who has, and gives it back by a release. No
 *              warning: a try that read what gives the lock back would have had
 *              it
 *     closing  the lock is closed for good, by a value that makes tries fail:
 *              the relaxed load of such a try may be overtaken by what it says.
 *              A warning, though nothing else is wrong
 *     closed   the same, where tries that fail acquire
 *     stack    a stack of numbered nodes (Treiber's): each rank pushes its own,
 *              and pops one. No warning
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { TRYLOCK, CLOSING, CLOSED, STACK, KINDS };
static const char *const kinds[KINDS] = {"trylock", "closing", "closed", "stack"};

enum { TRIES = 40, MOST = 8 };

typedef struct lockfree_box {
	uint64_t lock, missed[MOST], seen[MOST], head, next[MOST + 1], popped[MOST];
} lockfree_box_t;

typedef struct lockfree_args {
	TSR_HEAP lockfree_box_t *box;
	int64_t kind;
} lockfree_args_t;

TSR_FN uint64_t try_lock(tsr_coop_t *block, const lockfree_args_t *a)
{
	TSR_HEAP uint64_t *lock = &a->box->lock;
	if (a->kind == CLOSED)
		return tsr_atomic_cas(block, lock, (uint64_t)0, (uint64_t)1, 0, TSR_ACQUIRE,
				      TSR_ACQUIRE, TSR_SCOPE_SYSTEM);
	return tsr_atomic_cas(block, lock, (uint64_t)0, (uint64_t)1, 0, TSR_ACQUIRE, TSR_RELAXED,
			      TSR_SCOPE_SYSTEM);
}

/**
 * Partner: the release behind the look, of whoever had the lock before. Litmus:
 * MP.rel.acq.diffGPU-ss, LB.ra.diffGPU-ss.
 */
TSR_FN void look_locked(tsr_coop_t *block, const lockfree_args_t *a)
{
	TSR_HEAP lockfree_box_t *box = a->box;
	const int me = tsr_rank(block), next = (me + 1) % tsr_size(block);
	for (int i = 0; i < 3; i++) {
		if (try_lock(block, a) != 0) {
			tsr_atomic_store(block, &box->missed[me], (uint64_t)1, 0, TSR_RELAXED,
					 TSR_SCOPE_SYSTEM);
			continue;
		}
		const uint64_t missed = tsr_atomic_load(block, &box->missed[next], 0, TSR_RELAXED,
							TSR_SCOPE_SYSTEM);
		tsr_atomic_store(block, &box->lock, (uint64_t)(a->kind == TRYLOCK ? 0 : 2), 0,
				 TSR_RELEASE, TSR_SCOPE_SYSTEM);
		tsr_atomic_store(block, &box->seen[me], missed, 0, TSR_RELAXED, TSR_SCOPE_SYSTEM);
		return;
	}
}

TSR_FN void push(tsr_coop_t *block, TSR_HEAP lockfree_box_t *box, uint64_t node)
{
	uint64_t head = tsr_atomic_load(block, &box->head, 0, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	for (int i = 0; i < TRIES; i++) {
		tsr_atomic_store(block, &box->next[node], head, 0, TSR_RELAXED, TSR_SCOPE_SYSTEM);
		/* Partner: the pop's acquires, which read what this releases: the node's next.
		 * Litmus: MP.rel.acq.diffGPU-ss. */
		const uint64_t seen = tsr_atomic_cas(block, &box->head, head, node, 0, TSR_RELEASE,
						     TSR_RELAXED, TSR_SCOPE_SYSTEM);
		if (seen == head)
			return;
		head = seen;
	}
}

TSR_FN void pop(tsr_coop_t *block, const lockfree_args_t *a)
{
	TSR_HEAP lockfree_box_t *box = a->box;
	uint64_t head = tsr_atomic_load(block, &box->head, 0, TSR_ACQUIRE, TSR_SCOPE_SYSTEM);
	for (int i = 0; i < TRIES && head != 0; i++) {
		const uint64_t next =
			tsr_atomic_load(block, &box->next[head], 0, TSR_RELAXED, TSR_SCOPE_SYSTEM);
		const uint64_t seen = tsr_atomic_cas(block, &box->head, head, next, 0, TSR_ACQUIRE,
						     TSR_ACQUIRE, TSR_SCOPE_SYSTEM);
		if (seen == head)
			break;
		head = seen;
	}
	tsr_atomic_store(block, &box->popped[tsr_rank(block)], head, 0, TSR_RELAXED,
			 TSR_SCOPE_SYSTEM);
}

TSR_KERNEL(go_lockfree, lockfree_args_t, a)
{
	if (a->kind != STACK) {
		look_locked(block, a);
		return;
	}
	push(block, a->box, (uint64_t)tsr_rank(block) + 1);
	pop(block, a);
}

TSR_MAIN(world, argc, argv)
{
	lockfree_args_t args = {NULL, 0};
	TSR_HEAP void *box;
	tsr_stream_t *stream;
	args.kind = planted_kind(argc, argv, kinds, KINDS);
	if (args.kind == KINDS || tsr_world_size(world) > MOST) {
		fprintf(stderr, "lockfree: say one of the kinds, and start at most %d ranks\n",
			MOST);
		return 2;
	}
	TSR_TRY(tsr_heap_alloc(world, sizeof(lockfree_box_t), 0, "box", &box));
	TSR_TRY(tsr_memset_heap(world, box, 0, sizeof(lockfree_box_t)));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	args.box = (TSR_HEAP lockfree_box_t *)box;
	TSR_TRY(tsr_launch(stream, &go_lockfree, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_barrier(world));
	return tsr_stream_destroy(stream) == TSR_OK ? 0 : tsr_fail(world);
}
