/* What is compared with far ranks, and when. */
#include "src/collectives/far_calls.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"

/* calls with a state that are not compared yet, where no gate compares them */
enum { MOST_LATE = TSR_BOARD_POSTS / 2 };

typedef struct far_call {
	struct far_call *next;
	tsr_agree_ours_t ours; /* its bytes are the ones below */
	uint32_t number;
	tsr_tick_t work;
	unsigned char bytes[TSR_POST_BYTES];
} far_call_t;

struct tsr_far_calls {
	tsr_boot_t *boot;
	int topic;
	pthread_mutex_t comparing; /* held by who compares, also while it waits */
	pthread_mutex_t lock;      /* for what is below */
	far_call_t *first, **last;
};

/** Makes the list of a state's calls. */
static tsr_status_t make(tsr_world_t *world, const tsr_state_now_t *now)
{
	tsr_far_calls_t *calls = calloc(1, sizeof *calls);
	if (calls == NULL)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory to note a collective; free some");
	calls->boot = world->boot;
	calls->topic = now->topic;
	calls->last = &calls->first;
	pthread_mutex_init(&calls->comparing, NULL);
	pthread_mutex_init(&calls->lock, NULL);
	pthread_mutex_lock(&world->order_lock);
	now->use->far = calls;
	pthread_mutex_unlock(&world->order_lock);
	return TSR_OK;
}

void tsr_far_calls_free(tsr_far_calls_t *calls)
{
	if (calls == NULL)
		return;
	while (calls->first != NULL) {
		far_call_t *call = calls->first;
		calls->first = call->next;
		free(call);
	}
	pthread_mutex_destroy(&calls->comparing);
	pthread_mutex_destroy(&calls->lock);
	free(calls);
}

/** The first call that is not compared, if its number is at most that; or null. */
static far_call_t *first_until(tsr_far_calls_t *calls, uint32_t number)
{
	pthread_mutex_lock(&calls->lock);
	far_call_t *call = calls->first;
	pthread_mutex_unlock(&calls->lock);
	return call != NULL && (int32_t)(number - call->number) >= 0 ? call : NULL;
}

/** Takes the first one out. */
static void remove_first(tsr_far_calls_t *calls)
{
	pthread_mutex_lock(&calls->lock);
	far_call_t *call = calls->first;
	calls->first = call->next;
	if (calls->first == NULL)
		calls->last = &calls->first;
	pthread_mutex_unlock(&calls->lock);
	free(call);
}

/** Compares the calls up to a number. */
static tsr_status_t compare_until(tsr_far_calls_t *calls, uint32_t number)
{
	tsr_status_t status = TSR_OK;
	far_call_t *call;
	pthread_mutex_lock(&calls->comparing);
	while (status == TSR_OK && (call = first_until(calls, number)) != NULL) {
		const tsr_board_post_t post = tsr_agree_post(&call->ours, calls->topic);
		status = tsr_board_await(calls->boot, &post, call->number);
		if (status == TSR_OK)
			remove_first(calls);
	}
	pthread_mutex_unlock(&calls->comparing);
	return status;
}

/** Where it fails, the world has ended, so the kernel does not begin. */
static void pass(void *ctx, uint32_t number)
{
	(void)compare_until(ctx, number);
}

tsr_status_t tsr_far_calls_add(const tsr_state_now_t *now, const tsr_agree_ours_t *ours,
			       uint32_t number, tsr_device_gate_t *gate_out)
{
	tsr_world_t *world = ours->world;
	far_call_t *call = malloc(sizeof *call);
	if (call == NULL)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory to note a collective; free some");
	const tsr_status_t status = now->use->far == NULL ? make(world, now) : TSR_OK;
	if (status != TSR_OK) {
		free(call);
		return status;
	}
	tsr_far_calls_t *calls = now->use->far;
	call->next = NULL;
	call->ours = *ours;
	call->ours.bytes = call->bytes;
	call->number = number;
	call->work = now->work;
	memcpy(call->bytes, ours->bytes, TSR_POST_BYTES);
	pthread_mutex_lock(&calls->lock);
	*calls->last = call;
	calls->last = &call->next;
	pthread_mutex_unlock(&calls->lock);
	if (world->backend->gates) {
		*gate_out = (tsr_device_gate_t){pass, calls, number};
		return TSR_OK;
	}
	return compare_until(calls, number - MOST_LATE);
}

/** A state of which calls are to be compared that the order covers, and (`*number_out`) up to. */
static tsr_far_calls_t *find_late(tsr_world_t *world, const tsr_order_t *until,
				  uint32_t *number_out)
{
	tsr_far_calls_t *found = NULL;
	pthread_mutex_lock(&world->order_lock);
	for (tsr_state_use_t *use = world->state_uses; use != NULL && found == NULL;
	     use = use->next) {
		if (use->far == NULL)
			continue;
		pthread_mutex_lock(&use->far->lock);
		for (const far_call_t *call = use->far->first;
		     call != NULL && tsr_order_covers(until, call->work); call = call->next) {
			found = use->far;
			*number_out = call->number;
		}
		pthread_mutex_unlock(&use->far->lock);
	}
	pthread_mutex_unlock(&world->order_lock);
	return found;
}

tsr_status_t tsr_collective_settle(tsr_world_t *world, const tsr_order_t *until)
{
	tsr_status_t status = TSR_OK;
	tsr_far_calls_t *calls;
	uint32_t number;
	while (world->compares && !world->backend->gates && world->node_count > 1 &&
	       status == TSR_OK && (calls = find_late(world, until, &number)) != NULL)
		status = compare_until(calls, number);
	return status;
}
