/*
 * Ordered accesses: a word that is sent to a peer has its value there later,
 * behind all that its sender has stored before if the access releases. Who
 * waits for a word sleeps until it changes.
 */
#include <stdlib.h>
#include <string.h>

#include "model/perf/sim/sim.h"

/** What is known of a word that somebody has changed, or waits for. */
typedef struct word {
	const void *at; /* null: an empty slot */
	uint64_t before;
	double changed_ns;
	struct sleeper *sleepers;
} word_t;

/** A task that sleeps at a word; at several of them, where any may wake it. */
typedef struct sleeper {
	sim_task_t *task;
	bool *woken; /* by one of them */
	struct sleeper *next;
} sleeper_t;

struct sim_words {
	word_t *slots;
	size_t count, room;
};

/* ------------------------------------------------------------------ the table */

bool sim_words_create(tsr_exploration_t *sim)
{
	enum { SLOTS = 4096 };
	sim->words = calloc(1, sizeof *sim->words);
	if (sim->words)
		sim->words->slots = calloc(SLOTS, sizeof *sim->words->slots);
	if (!sim->words || !sim->words->slots)
		return false;
	sim->words->room = SLOTS;
	return true;
}

void sim_words_destroy(tsr_exploration_t *sim)
{
	if (sim->words)
		free(sim->words->slots);
	free(sim->words);
}

static word_t *slot_of(word_t *slots, size_t room, const void *at)
{
	size_t i = ((uintptr_t)at >> 2) * (size_t)UINT64_C(0x9e3779b97f4a7c15) >> 20;
	while (slots[i % room].at && slots[i % room].at != at)
		i++;
	return &slots[i % room];
}

static word_t *word_at(tsr_exploration_t *sim, const void *at)
{
	sim_words_t *words = sim->words;
	word_t *word = slot_of(words->slots, words->room, at);
	if (word->at)
		return word;
	if (2 * words->count >= words->room) {
		word_t *slots = calloc(2 * words->room, sizeof *slots);
		if (!slots)
			sim_no_memory(sim);
		for (size_t i = 0; i < words->room; i++)
			if (words->slots[i].at)
				*slot_of(slots, 2 * words->room, words->slots[i].at) =
					words->slots[i];
		free(words->slots);
		words->slots = slots;
		words->room *= 2;
		word = slot_of(slots, words->room, at);
	}
	words->count++;
	word->at = at;
	return word;
}

static uint64_t value_at(const void *at, size_t bytes)
{
	uint64_t value = 0;
	memcpy(&value, at, bytes); /* little-endian */
	return value;
}

/* ------------------------------------------------------------------ changes */

void sim_word_changed(tsr_exploration_t *sim, const void *at, uint64_t before, double at_ns)
{
	word_t *word = word_at(sim, at);
	word->before = before;
	word->changed_ns = at_ns;
	for (const sleeper_t *sleeper = word->sleepers; sleeper; sleeper = sleeper->next)
		if (!*sleeper->woken) {
			*sleeper->woken = true;
			sim_wake(sleeper->task, at_ns);
		}
	word->sleepers = NULL;
}

/** The running task sleeps until one of `count` words, `step` bytes apart, changes. */
static void sleep_until_changed(tsr_exploration_t *sim, const unsigned char *at, int count,
				size_t step)
{
	enum { MOST = TSR_MAX_RANKS };
	sleeper_t sleepers[MOST];
	bool woken = false;
	for (int i = 0; i < count && i < MOST; i++) {
		word_t *word = word_at(sim, at + (size_t)i * step);
		sleepers[i] = (sleeper_t){sim->running, &woken, word->sleepers};
		word->sleepers = &sleepers[i];
	}
	sim->running->woken = &woken;
	sim_sleep(sim);
	sim->running->woken = NULL;
	for (int i = 0; i < count && i < MOST; i++)
		for (sleeper_t **link = &word_at(sim, at + (size_t)i * step)->sleepers; *link;
		     link = &(*link)->next)
			if (*link == &sleepers[i]) {
				*link = sleepers[i].next;
				break;
			}
}

/** Performs the access now. Returns the old value. */
static uint64_t perform(tsr_exploration_t *sim, const tsr_views_access_t *access, void *at,
			size_t bytes, double at_ns)
{
	const uint64_t old = value_at(at, bytes);
	uint64_t value = access->value;
	if (access->kind == TSR_VIEWS_LOAD ||
	    (access->kind == TSR_VIEWS_UPDATE && !access->update(access->context, old, &value)))
		return old;
	memcpy(at, &value, bytes);
	sim_word_changed(sim, at, old, at_ns);
	return old;
}

/** A word on its way: what is stored or added there. */
typedef struct sent {
	tsr_exploration_t *sim;
	void *at;
	size_t bytes;
	uint64_t value;
	bool adds;
} sent_t;

static void arrive(void *ctx, double at_ns)
{
	sent_t *sent = ctx;
	const uint64_t old = value_at(sent->at, sent->bytes),
		       value = sent->adds ? old + sent->value : sent->value;
	memcpy(sent->at, &value, sent->bytes);
	sim_word_changed(sent->sim, sent->at, old, at_ns);
	free(sent);
}

/* ------------------------------------------------------------------ latencies */

static double one_way_ns(const tsr_exploration_t *sim, int rank)
{
	const machine_t *kind = &sim->machine.kind;
	if (rank < 0)
		return sim_cycles(sim, 30); /* shared memory */
	return rank == sim->running->who.rank ? kind->memory_latency / 2 : kind->link_latency / 2;
}

/** A release waits until what was stored before is there; wider scopes cost more. */
static void release(tsr_exploration_t *sim, tsr_views_order_t order, tsr_views_scope_t scope)
{
	sim_task_t *self = sim->running;
	const machine_t *kind = &sim->machine.kind;
	if (order == TSR_VIEWS_RELAXED || order == TSR_VIEWS_ACQUIRE || scope == TSR_VIEWS_BLOCK)
		return;
	sim_await_sending(sim);
	self->now_ns = fmax(self->now_ns, self->drained_ns) +
		       (scope == TSR_VIEWS_SYSTEM ? kind->fence : kind->fence / 2);
}

uint64_t tsr_exploration_act(tsr_exploration_t *sim, const tsr_op_site_t *site,
			     const tsr_views_access_t *access, const unsigned char *at,
			     size_t bytes)
{
	(void)site;
	sim_task_t *self = sim->running;
	void *word = (void *)(uintptr_t)at;
	const int rank = sim_rank_at(sim, at);
	const double way_ns = self->is_host ? 0 : one_way_ns(sim, rank);
	if (self->is_host)
		return perform(sim, access, word, bytes, self->now_ns);
	release(sim, access->order, access->scope);
	if (access->kind == TSR_VIEWS_STORE || (access->kind == TSR_VIEWS_UPDATE && access->adds)) {
		sent_t *sent = malloc(sizeof *sent);
		uint64_t added = access->value;
		if (!sent)
			sim_no_memory(sim);
		*sent = (sent_t){sim, word, bytes, added, access->kind == TSR_VIEWS_UPDATE};
		self->last_ns = fmax(self->last_ns, self->now_ns + way_ns);
		sim_at(sim, self->last_ns, arrive, sent);
		return 0;
	}
	self->now_ns += way_ns;
	sim_sync(sim);
	const uint64_t old = perform(sim, access, word, bytes, self->now_ns);
	self->now_ns += way_ns;
	return old;
}

/** Memory holds what has arrived. */
uint64_t tsr_exploration_newest(tsr_exploration_t *sim, const unsigned char *at, size_t bytes)
{
	uint64_t value = 0;
	(void)sim;
	memcpy(&value, at, bytes);
	return value;
}

void tsr_exploration_fence(tsr_exploration_t *sim, const tsr_op_site_t *site,
			   tsr_views_order_t order, tsr_views_scope_t scope)
{
	(void)site;
	release(sim, order, scope);
}

void tsr_exploration_flush(tsr_exploration_t *sim)
{
	sim_task_t *self = sim->running;
	sim_await_sending(sim);
	self->now_ns = fmax(self->now_ns, self->drained_ns);
}

/* ------------------------------------------------------------------ messages of words */

typedef struct message {
	tsr_exploration_t *sim;
	uint64_t *to;
	sim_rows_t rows;
	uint64_t words[];
} message_t;

static void arrive_message(void *ctx, double at_ns)
{
	message_t *message = ctx;
	const sim_rows_t *rows = &message->rows;
	const uint64_t before = *message->to;
	for (size_t i = 0; i < rows->rows; i++)
		memcpy(message->to + i * rows->pitch, message->words + i * rows->words,
		       rows->words * sizeof *message->words);
	sim_word_changed(message->sim, message->to, before, at_ns);
	free(message);
}

void sim_send_words(tsr_exploration_t *sim, uint64_t *to, const uint64_t *from,
		    const sim_rows_t *rows, int rank)
{
	const size_t bytes = rows->words * rows->rows * sizeof *from;
	sim_task_t *self = sim->running;
	message_t *message = malloc(sizeof *message + bytes);
	if (!message)
		sim_no_memory(sim);
	message->sim = sim;
	message->to = to;
	message->rows = *rows;
	memcpy(message->words, from, bytes);
	self->last_ns = fmax(self->last_ns, self->now_ns + one_way_ns(sim, rank));
	sim_at(sim, self->last_ns, arrive_message, message);
}

/* ------------------------------------------------------------------ waits */

/** The flag that satisfies a wait, or -1. */
static int satisfied(const tsr_flag_wait_t *wait, uint64_t *seen_out)
{
	for (int i = 0; i < wait->count; i++) {
		const int flag = (wait->start + i) % wait->count;
		*seen_out =
			value_at(wait->flags + (size_t)flag * wait->word_bytes, wait->word_bytes);
		if (tsr_flag_holds(wait, *seen_out))
			return flag;
	}
	return -1;
}

/** Since when a flag that satisfies the wait has done so; 0: for long. */
static double since_ns(tsr_exploration_t *sim, const tsr_flag_wait_t *wait, int flag)
{
	const word_t *word = slot_of(sim->words->slots, sim->words->room,
				     wait->flags + (size_t)flag * wait->word_bytes);
	return word->at && !tsr_flag_holds(wait, word->before) ? word->changed_ns : 0;
}

tsr_flag_end_t tsr_exploration_wait_flag(tsr_exploration_t *sim, const tsr_op_site_t *site,
					 const tsr_flag_wait_t *wait, int *which_out,
					 uint64_t *seen_out)
{
	sim_task_t *self = sim->running;
	sim_gate_t *gate = self->gate;
	if (!gate) /* the first look */
		self->now_ns += sim_rank_at(sim, wait->flags) >= 0
					? sim->machine.kind.memory_latency / 2 * self->latency_part
					: sim_cycles(sim, 30);
	sim_sync(sim);
	bool slept = false, expired = false;
	sim_deadline_t *deadline = NULL;
	while (!expired && (*which_out = satisfied(wait, seen_out)) < 0) {
		if (gate && !slept)
			sim_catch_up(sim, gate);
		if ((*which_out = satisfied(wait, seen_out)) >= 0)
			break;
		if (!slept)
			deadline = sim_deadline_begin(sim, wait);
		self->flags = wait;
		self->site = *site;
		self->expired = false;
		sleep_until_changed(sim, wait->flags, wait->count, wait->word_bytes);
		self->flags = NULL;
		slept = true;
		expired = self->expired;
	}
	sim_deadline_end(deadline);
	if (expired)
		return TSR_FLAG_EXPIRED;
	if (slept) /* the load that sees it */
		self->now_ns += sim->machine.kind.memory_latency / 2;
	if (gate)
		gate->passed_ns = fmax(gate->passed_ns,
				       slept ? self->now_ns : since_ns(sim, wait, *which_out));
	return TSR_FLAG_OK;
}

/* ------------------------------------------------------------------ the meeting of a block */

void tsr_exploration_end_meeting(tsr_exploration_t *sim, tsr_block_meeting_t *meeting)
{
	(void)sim;
	(void)meeting;
}

void tsr_exploration_meet(tsr_exploration_t *sim, const tsr_op_site_t *site,
			  tsr_block_meeting_t *meeting, int count)
{
	(void)site;
	sim_task_t *self = sim->running;
	sim_sync(sim);
	if (++meeting->arrived == (uint32_t)count) {
		meeting->arrived = 0;
		meeting->phase++;
		sim_word_changed(sim, meeting, 0, self->now_ns);
		self->now_ns += sim_cycles(sim, 30);
		return;
	}
	sleep_until_changed(sim, (const unsigned char *)meeting, 1, 0);
	self->now_ns += sim_cycles(sim, 30);
}
