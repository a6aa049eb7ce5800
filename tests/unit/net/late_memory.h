/*
 * A heap that the net reaches by calls alone, as it does a device's: what is
 * asked for takes effect late, when something is read or settled.
 */
#ifndef TESSERA_NET_LATE_MEMORY_H
#define TESSERA_NET_LATE_MEMORY_H

#include <stdlib.h>
#include <string.h>

#include "src/net/net.h"

typedef enum late_kind { LATE_WRITE, LATE_FILL, LATE_ATOMIC, LATE_EACH } late_kind_t;

typedef struct late_entry {
	struct late_entry *next;
	late_kind_t kind;
	tsr_net_rows_t rows;
	tsr_net_atomic_t access;
	int byte;
	size_t count;
	unsigned char data[];
} late_entry_t;

typedef struct late_memory {
	tsr_net_memory_t host; /* what is applied in the end: host memory, and its words */
	late_entry_t *first, **end;
} late_memory_t;

static late_entry_t *late_add(late_memory_t *late, late_kind_t kind, const void *data, size_t bytes)
{
	late_entry_t *entry = calloc(1, sizeof *entry + bytes);
	entry->kind = kind;
	if (bytes > 0)
		memcpy(entry->data, data, bytes);
	if (late->first == NULL)
		late->end = &late->first;
	*late->end = entry;
	late->end = &entry->next;
	return entry;
}

static void late_apply(const tsr_net_memory_t *host, const late_entry_t *e)
{
	for (size_t i = 0; i < e->rows.rows; i++) {
		unsigned char *to = host->heap + e->rows.offset + i * e->rows.pitch_bytes;
		if (e->kind == LATE_WRITE)
			memcpy(to, e->data + i * e->rows.row_bytes, e->rows.row_bytes);
		else
			memset(to, e->byte, e->rows.row_bytes);
	}
	uint64_t old;
	if (e->kind == LATE_ATOMIC)
		(void)host->atomic(host->ctx, &e->access, &old);
	else if (e->kind == LATE_EACH)
		(void)host->each(host->ctx, &e->access, e->data, e->count);
}

static void late_settle(void *ctx)
{
	late_memory_t *late = ctx;
	late_entry_t *entry;
	while ((entry = late->first) != NULL) {
		late_apply(&late->host, entry);
		late->first = entry->next;
		free(entry);
	}
}

static void late_write(void *ctx, tsr_net_rows_t to, const void *from)
{
	late_add(ctx, LATE_WRITE, from, to.row_bytes * to.rows)->rows = to;
}

static void late_fill(void *ctx, tsr_net_rows_t to, int byte)
{
	late_entry_t *entry = late_add(ctx, LATE_FILL, NULL, 0);
	entry->rows = to;
	entry->byte = byte;
}

static void late_read(void *ctx, tsr_net_rows_t from, void *to)
{
	const late_memory_t *late = ctx;
	late_settle(ctx);
	for (size_t i = 0; i < from.rows; i++)
		memcpy((unsigned char *)to + i * from.row_bytes,
		       late->host.heap + from.offset + i * from.pitch_bytes, from.row_bytes);
}

static bool late_atomic(void *ctx, const tsr_net_atomic_t *access, uint64_t *old_out)
{
	late_memory_t *late = ctx;
	if (old_out == NULL) {
		late_add(ctx, LATE_ATOMIC, NULL, 0)->access = *access;
		return true;
	}
	late_settle(ctx);
	return late->host.atomic(late->host.ctx, access, old_out);
}

static bool late_each(void *ctx, const tsr_net_atomic_t *first, const void *values, size_t count)
{
	late_entry_t *entry = late_add(ctx, LATE_EACH, values, count * first->bytes);
	entry->access = *first;
	entry->count = count;
	return true;
}

/** The memory to give to the net in place of `host`. */
static tsr_net_memory_t late_memory(late_memory_t *late, const tsr_net_memory_t *host)
{
	*late = (late_memory_t){.host = *host};
	return (tsr_net_memory_t){.ctx = late,
				  .bytes = host->bytes,
				  .write = late_write,
				  .fill = late_fill,
				  .read = late_read,
				  .settle = late_settle,
				  .atomic = late_atomic,
				  .each = late_each};
}

#endif
