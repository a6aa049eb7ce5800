/*
 * Memory on other nodes: each rank has a queue of commands to each rank there.
 * They land at the home of what they are for, in the order in which they were
 * sent, at any later time. Queues know nothing of each other.
 */
#include <stdlib.h>

#include "src/caches/cache_machine.h"

tsr_far_queue_t *tsr_cache_queue(const tsr_cache_t *c, int device, int region)
{
	const int home = c->region[region].home;

	if (!c->far || device < 0 || home < 0 || c->config.node[device] == c->config.node[home])
		return NULL;
	return &c->far[device * c->config.devices + home];
}

/* ------------------------------------------------------------------ one command */

static uint64_t number_in(const uint8_t *bytes, size_t count)
{
	uint64_t value = 0;

	while (count-- > 0)
		value = value << 8 | bytes[count];
	return value;
}

static void apply(const tsr_far_command_t *command, uint8_t *bytes)
{
	if (!command->adds) {
		tsr_line_merge(bytes, command->bytes, command->mask);
		return;
	}
	size_t first;
	const size_t count = tsr_line_run(command->mask, &first);
	const uint64_t sum =
		number_in(bytes + first, count) + number_in(command->bytes + first, count);
	for (size_t i = 0; i < count; i++)
		bytes[first + i] = (uint8_t)(sum >> 8 * i);
}

/** The `index`-th of the queue, whatever is before it. */
static void land_at(tsr_cache_t *c, tsr_far_queue_t *queue, int index)
{
	const tsr_far_command_t *command = &queue->command[queue->first + index];

	/* homes are written where nothing is cached: a target's caches notice nothing */
	apply(command,
	      tsr_cache_region_of(c, command->key)->memory + tsr_cache_first_byte(command->key));
	memmove(&queue->command[queue->first + 1], &queue->command[queue->first],
		(size_t)index * sizeof *queue->command);
	queue->first++;
	queue->count--;
}

void tsr_cache_land_first(tsr_cache_t *c, tsr_far_queue_t *queue)
{
	land_at(c, queue, 0);
}

void tsr_cache_land(tsr_cache_t *c, tsr_far_queue_t *queue)
{
	while (queue && queue->count > 0)
		land_at(c, queue, 0);
}

/* ------------------------------------------------------------------ sending */

/** Room for one more behind the last. */
static bool make_room(tsr_far_queue_t *queue)
{
	if (queue->first + queue->count < queue->room)
		return true;
	if (queue->first > 0 && queue->first >= queue->count) {
		memcpy(queue->command, queue->command + queue->first,
		       (size_t)queue->count * sizeof *queue->command);
		queue->first = 0;
		return true;
	}
	const int room = queue->room ? 2 * queue->room : 4;
	tsr_far_command_t *grown = realloc(queue->command, (size_t)room * sizeof *grown);
	if (!grown)
		return false;
	queue->command = grown;
	queue->room = room;
	return true;
}

void tsr_cache_send(tsr_cache_t *c, tsr_far_queue_t *queue, const tsr_far_command_t *command)
{
	if (c->config.queued_commands > 0 && queue->count == c->config.queued_commands)
		land_at(c, queue, 0);
	if (make_room(queue))
		queue->command[queue->first + queue->count++] = *command;
	else
		c->exhausted = true;
}

void tsr_cache_flush(tsr_cache_t *c, int device, const tsr_far_queue_t *but)
{
	for (int home = 0; c->far && device >= 0 && home < c->config.devices; home++) {
		tsr_far_queue_t *queue = &c->far[device * c->config.devices + home];
		if (queue != but)
			tsr_cache_land(c, queue);
	}
}

/* ------------------------------------------------------------------ what lands by itself */

/** How many commands of a queue may land next. */
static size_t landings_of(const tsr_cache_t *c, const tsr_far_queue_t *queue)
{
	if (c->config.mistake == TSR_CACHE_COMMANDS_SWAP)
		return (size_t)queue->count;
	return queue->count > 0;
}

size_t tsr_cache_landings(const tsr_cache_t *c)
{
	size_t count = 0;

	for (int q = 0; q < tsr_cache_queues(c); q++)
		count += landings_of(c, &c->far[q]);
	return count;
}

void tsr_cache_land_one(tsr_cache_t *c, size_t which)
{
	for (int q = 0; q < tsr_cache_queues(c); which -= landings_of(c, &c->far[q++])) {
		if (which < landings_of(c, &c->far[q])) {
			land_at(c, &c->far[q], (int)which);
			return;
		}
	}
}

/* ------------------------------------------------------------------ looking */

void tsr_cache_apply_queue(const tsr_far_queue_t *queue, uint64_t key,
			   uint8_t bytes[TSR_LINE_BYTES])
{
	for (int i = 0; queue && i < queue->count; i++)
		if (queue->command[queue->first + i].key == key)
			apply(&queue->command[queue->first + i], bytes);
}

void tsr_cache_apply_queues(const tsr_cache_t *c, uint64_t key, uint8_t bytes[TSR_LINE_BYTES])
{
	for (int q = 0; q < tsr_cache_queues(c); q++)
		tsr_cache_apply_queue(&c->far[q], key, bytes);
}

/* ------------------------------------------------------------------ whole queues */

void tsr_cache_forget_commands(tsr_cache_t *c, int region)
{
	for (int q = 0; q < tsr_cache_queues(c); q++) {
		tsr_far_queue_t *queue = &c->far[q];
		int left = 0;
		for (int i = 0; i < queue->count; i++) {
			const tsr_far_command_t *command = &queue->command[queue->first + i];
			if ((int)(command->key >> 40) != region)
				queue->command[queue->first + left++] = *command;
		}
		queue->count = left;
	}
}

bool tsr_cache_copy_queues(const tsr_cache_t *c, tsr_cache_t *copy)
{
	for (int q = 0; q < tsr_cache_queues(c); q++) {
		const tsr_far_queue_t *from = &c->far[q];
		tsr_far_queue_t *to = &copy->far[q];
		if (from->count == 0)
			continue;
		to->command = malloc((size_t)from->count * sizeof *to->command);
		if (!to->command)
			return false;
		memcpy(to->command, from->command + from->first,
		       (size_t)from->count * sizeof *to->command);
		to->count = to->room = from->count;
	}
	return true;
}

void tsr_cache_free_queues(tsr_cache_t *c)
{
	for (int q = 0; q < tsr_cache_queues(c); q++)
		free(c->far[q].command);
	free(c->far);
}
