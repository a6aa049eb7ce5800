#include "tools/litmus/kernel.h"
#include "tessera/dev.h"

/* ---------------------------------------------------------- one access of every order and scope */

/*
 * The compilers want orders and scopes as literals: every combination is a
 * case. The tests of tests/litmus are what these accesses synchronise with.
 */
#define KEY(order_, scope_) ((order_)*LITMUS_RUN_SCOPES + (scope_))
#define CAS_KEY(order_, failure_, scope_) KEY((order_)*LITMUS_RUN_ORDERS + (failure_), scope_)
#define EACH_SCOPE(case_, name_)                                  \
	case_(name_, LITMUS_RUN_BLOCK, TSR_SCOPE_BLOCK)           \
		case_(name_, LITMUS_RUN_DEVICE, TSR_SCOPE_DEVICE) \
			case_(name_, LITMUS_RUN_SYSTEM, TSR_SCOPE_SYSTEM)

#define LOAD_CASE(name_, scope_, tsr_scope_)  \
	case KEY(LITMUS_RUN_##name_, scope_): \
		return tsr_atomic_load(coop, p, peer, TSR_##name_, tsr_scope_);
#define STORE_CASE(name_, scope_, tsr_scope_)                                    \
	case KEY(LITMUS_RUN_##name_, scope_):                                    \
		tsr_atomic_store(coop, p, value, peer, TSR_##name_, tsr_scope_); \
		break;
#define ADD_CASE(name_, scope_, tsr_scope_)   \
	case KEY(LITMUS_RUN_##name_, scope_): \
		return tsr_atomic_add(coop, p, value, peer, TSR_##name_, tsr_scope_);
#define XCHG_CASE(name_, scope_, tsr_scope_)  \
	case KEY(LITMUS_RUN_##name_, scope_): \
		return tsr_atomic_xchg(coop, p, value, peer, TSR_##name_, tsr_scope_);
#define FENCE_CASE(name_, scope_, tsr_scope_)             \
	case KEY(LITMUS_RUN_##name_, scope_):             \
		tsr_fence(coop, TSR_##name_, tsr_scope_); \
		break;
#define CAS_CASES(name_, scope_, tsr_scope_)                                                    \
	case CAS_KEY(LITMUS_RUN_##name_, LITMUS_RUN_RELAXED, scope_):                           \
		return tsr_atomic_cas(coop, p, expected, value, peer, TSR_##name_, TSR_RELAXED, \
				      tsr_scope_);                                              \
	case CAS_KEY(LITMUS_RUN_##name_, LITMUS_RUN_ACQUIRE, scope_):                           \
		return tsr_atomic_cas(coop, p, expected, value, peer, TSR_##name_, TSR_ACQUIRE, \
				      tsr_scope_);                                              \
	case CAS_KEY(LITMUS_RUN_##name_, LITMUS_RUN_SEQ_CST, scope_):                           \
		return tsr_atomic_cas(coop, p, expected, value, peer, TSR_##name_, TSR_SEQ_CST, \
				      tsr_scope_);
#define EACH_RMW(case_)            \
	EACH_SCOPE(case_, RELAXED) \
	EACH_SCOPE(case_, ACQUIRE) \
	EACH_SCOPE(case_, RELEASE) \
	EACH_SCOPE(case_, ACQ_REL) \
	EACH_SCOPE(case_, SEQ_CST)

TSR_FN uint64_t litmus_load(tsr_coop_t *coop, TSR_HEAP uint64_t *p, int peer, int key)
{
	switch (key) {
		EACH_SCOPE(LOAD_CASE, RELAXED)
		EACH_SCOPE(LOAD_CASE, ACQUIRE)
		EACH_SCOPE(LOAD_CASE, SEQ_CST)
	}
	return 0;
}

TSR_FN void litmus_store(tsr_coop_t *coop, TSR_HEAP uint64_t *p, uint64_t value, int peer, int key)
{
	switch (key) {
		EACH_SCOPE(STORE_CASE, RELAXED)
		EACH_SCOPE(STORE_CASE, RELEASE)
		EACH_SCOPE(STORE_CASE, SEQ_CST)
	}
}

TSR_FN uint64_t litmus_add(tsr_coop_t *coop, TSR_HEAP uint64_t *p, uint64_t value, int peer,
			   int key)
{
	switch (key) {
		EACH_RMW(ADD_CASE)
	}
	return 0;
}

TSR_FN uint64_t litmus_xchg(tsr_coop_t *coop, TSR_HEAP uint64_t *p, uint64_t value, int peer,
			    int key)
{
	switch (key) {
		EACH_RMW(XCHG_CASE)
	}
	return 0;
}

TSR_FN uint64_t litmus_cas(tsr_coop_t *coop, TSR_HEAP uint64_t *p, uint64_t expected,
			   uint64_t value, int peer, int key)
{
	switch (key) {
		EACH_RMW(CAS_CASES)
	}
	return 0;
}

/**
 * A fence is each thread's own, and the access beside it is one thread's: the
 * coop meets on both sides.
 */
TSR_FN void litmus_fence(tsr_coop_t *coop, int key)
{
	tsr_sync(coop);
	switch (key) {
		EACH_SCOPE(FENCE_CASE, ACQUIRE)
		EACH_SCOPE(FENCE_CASE, RELEASE)
		EACH_SCOPE(FENCE_CASE, ACQ_REL)
		EACH_SCOPE(FENCE_CASE, SEQ_CST)
	}
	tsr_sync(coop);
}

/* ------------------------------------------------------------------ plain accesses */

/** The API's plain accesses move memory: a word of the coop's own stands for the register. */
TSR_FN void litmus_store_plain(tsr_coop_t *coop, TSR_HEAP uint64_t *p, uint64_t value, int peer,
			       TSR_HEAP uint64_t *own)
{
	int me = tsr_rank(coop);
	tsr_sync(coop); /* the copy before has read the word */
	tsr_atomic_store(coop, own, value, me, TSR_RELAXED, TSR_SCOPE_BLOCK);
	tsr_sync(coop);
	tsr_copy(coop, p, peer, own, me, sizeof *p);
}

TSR_FN uint64_t litmus_load_plain(tsr_coop_t *coop, TSR_HEAP uint64_t *p, int peer,
				  TSR_HEAP uint64_t *own)
{
	int me = tsr_rank(coop);
	tsr_sync(coop); /* the load of the word before is done */
	tsr_copy(coop, own, me, p, peer, sizeof *p);
	tsr_sync(coop);
	return tsr_atomic_load(coop, own, me, TSR_RELAXED, TSR_SCOPE_BLOCK);
}

/* ------------------------------------------------------------------ steps */

/** A thread of the test as it is played. */
typedef struct litmus_player {
	const litmus_run_args_t *args;
	TSR_HEAP uint64_t *own;
	uint64_t instance;
	int thread;
	int64_t reg[LITMUS_RUN_REGISTERS];
} litmus_player_t;

TSR_FN int64_t litmus_operand(const litmus_player_t *player, litmus_run_operand_t operand)
{
	return operand.reg >= 0 ? player->reg[operand.reg] : operand.number;
}

TSR_FN int64_t litmus_value(const litmus_player_t *player, const litmus_run_step_t *step)
{
	int64_t a = litmus_operand(player, step->a), b = litmus_operand(player, step->b);
	switch (step->function) {
	case LITMUS_RUN_SUM:
		return a + b;
	case LITMUS_RUN_XOR:
		return a ^ b;
	case LITMUS_RUN_AND:
		return a & b;
	case LITMUS_RUN_OR:
		return a | b;
	case LITMUS_RUN_EQUAL:
		return a == b;
	case LITMUS_RUN_UNEQUAL:
		return a != b;
	case LITMUS_RUN_MIN:
		return a < b ? a : b;
	case LITMUS_RUN_MAX:
		return a > b ? a : b;
	default:
		return a;
	}
}

TSR_FN TSR_HEAP uint64_t *litmus_address(const litmus_player_t *player, int location)
{
	const litmus_run_args_t *a = player->args;
	uint64_t at = player->instance * a->multiplier[location] & (a->instances - 1);
	return a->memory + ((uint64_t)location * a->instances + at) * a->stride;
}

/** Acts on memory; returns what was read. */
TSR_FN uint64_t litmus_act(tsr_coop_t *coop, const litmus_player_t *player,
			   const litmus_run_step_t *step, uint64_t value)
{
	TSR_HEAP uint64_t *p = litmus_address(player, step->location);
	int home = player->args->home[step->location], key = KEY(step->order, step->scope);
	switch (step->op) {
	case LITMUS_RUN_LOAD:
		if (step->order == LITMUS_RUN_PLAIN)
			return litmus_load_plain(coop, p, home, player->own);
		return litmus_load(coop, p, home, key);
	case LITMUS_RUN_STORE:
		if (step->order == LITMUS_RUN_PLAIN)
			litmus_store_plain(coop, p, value, home, player->own);
		else
			litmus_store(coop, p, value, home, key);
		return 0;
	case LITMUS_RUN_ADD:
		return litmus_add(coop, p, value, home, key);
	case LITMUS_RUN_XCHG:
		return litmus_xchg(coop, p, value, home, key);
	default:
		return litmus_cas(coop, p, (uint64_t)litmus_operand(player, step->expected), value,
				  home, CAS_KEY(step->order, step->failure, step->scope));
	}
}

TSR_FN void litmus_play_instance(tsr_coop_t *coop, litmus_player_t *player)
{
	const litmus_run_args_t *a = player->args;
	for (int at = 0; at < a->steps[player->thread]; at++) {
		const litmus_run_step_t *step = &a->step[player->thread][at];
		int64_t value = litmus_value(player, step);
		if (step->op == LITMUS_RUN_FENCE) {
			litmus_fence(coop, KEY(step->order, step->scope));
		} else if (step->op == LITMUS_RUN_JUMP) {
			at = value != 0 ? step->target - 1 : at;
		} else {
			int64_t seen =
				step->op == LITMUS_RUN_MOVE
					? value
					: (int64_t)litmus_act(coop, player, step, (uint64_t)value);
			if (step->reg >= 0)
				player->reg[step->reg] = seen;
		}
	}
}

/* ------------------------------------------------------------------ a launch */

/**
 * Brings the players of an instance together, so that they play it at the same
 * time. Relaxed: it must order nothing of the test. Who does not come in time
 * is not waited for: that costs chances, not truth. Returns whether all came.
 */
TSR_FN int litmus_meet(tsr_coop_t *coop, const litmus_run_args_t *a, uint64_t instance,
		       int64_t patience)
{
	TSR_HEAP uint64_t *word = a->meetings + instance;
	uint64_t all = (uint64_t)a->players,
		 here = 1 +
			tsr_atomic_add(coop, word, (uint64_t)1, 0, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	while (here < all && patience-- > 0)
		here = tsr_atomic_load(coop, word, 0, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	return here >= all;
}

/**
 * Leaves the registers where the host reads them after the launch. Aside they
 * are no accesses: nothing is added to the test.
 */
TSR_FN void litmus_leave(tsr_coop_t *coop, const litmus_player_t *player)
{
	const litmus_run_args_t *a = player->args;
	int me = tsr_rank(coop);
	for (int r = 0; r < LITMUS_RUN_REGISTERS; r++) {
		int row = player->thread * LITMUS_RUN_REGISTERS + r;
		if (a->aside)
			a->aside[row] = player->reg[r];
		else
			tsr_atomic_store(coop,
					 a->results + (uint64_t)row * a->instances +
						 player->instance,
					 (uint64_t)player->reg[r], me, TSR_RELAXED,
					 TSR_SCOPE_BLOCK);
	}
}

TSR_FN void litmus_play(tsr_coop_t *coop, const litmus_run_args_t *a, int worker, int block)
{
	int team = block / a->classes;
	int64_t patience = 64 * a->patience; /* launches do not begin together */
	litmus_player_t player;
	player.args = a;
	player.thread = a->player[block % a->classes][worker];
	player.own = a->scratch + (uint64_t)(block * LITMUS_RUN_WORKERS + worker) * 2 + 1;
	if (player.thread < 0)
		return;
	for (uint64_t i = (uint64_t)team; i < a->instances; i += (uint64_t)a->teams) {
		for (int r = 0; r < LITMUS_RUN_REGISTERS; r++)
			player.reg[r] = a->initial[player.thread][r];
		player.instance = i;
		/* Where the others do not run at all, on a GPU that ranks share, there is little
		 * point in waiting. */
		if (a->patience > 0 && (i == (uint64_t)team || !a->once))
			patience =
				litmus_meet(coop, a, i, patience) ? a->patience : patience / 2 + 16;
		litmus_play_instance(coop, &player);
		litmus_leave(coop, &player);
	}
}

TSR_KERNEL(litmus_run_blocks, litmus_run_args_t, a)
{
	litmus_play(block, a, 0, tsr_block_index(block));
}

/** Workers have nothing to say to each other but through the test's locations. */
typedef struct litmus_run_shared {
	int32_t unused;
} litmus_run_shared_t;

TSR_KERNEL_SPLIT(litmus_run_workers, 4, litmus_run_shared_t, litmus_run_args_t, a)
{
	(void)shared;
	litmus_play(worker, a, tsr_worker_index(worker), tsr_block_index(block));
}
