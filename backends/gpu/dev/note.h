/*
 * Notes of a kernel to the host: expired waits, and in debug builds misuse.
 * Fatal ones end the world through the abort word.
 */
#ifndef TESSERA_GPU_DEV_NOTE_H
#define TESSERA_GPU_DEV_NOTE_H

#include "gpu/dev/port.h"

/** Whether the world has ended. Reads host memory, so call it rarely. */
TSR_DEV bool tsr_gpu_is_over(const tsr_gpu_context_t *context)
{
	/* Relaxed: nothing that was written before the abort is read. */
	return tsr_port_load<TSR_RELAXED, TSR_SCOPE_SYSTEM>(context->abort) != 0;
}

TSR_DEV bool tsr_gpu_aborted(const tsr_coop_t *coop)
{
	return tsr_gpu_is_over(coop->context);
}

/**
 * Claims a note and fills in what every note has; null if all are taken. One
 * thread.
 */
TSR_DEV tsr_gpu_note_t *tsr_gpu_note_open(const tsr_coop_t *coop)
{
	const tsr_gpu_context_t *context = coop->context;
	/* Relaxed: the counter only gives out places. */
	uint32_t place = tsr_port_add<TSR_RELAXED, TSR_SCOPE_DEVICE>(context->notes_taken, 1u);
	if (place >= TSR_GPU_NOTES)
		return 0;
	tsr_gpu_note_t *note = &context->notes[place];
	note->launch = context->launch;
	note->block = tsr_port_block();
	note->worker = coop->worker;
	note->line = coop->line;
	int length = 0, cut;
	while (coop->file[length])
		length++;
	cut = length >= (int)sizeof note->file ? length + 1 - (int)sizeof note->file : 0;
	TSR_GPU_NO_UNROLL
	for (int i = 0; i + cut <= length; i++)
		note->file[i] = coop->file[i + cut];
	return note;
}

/** Passes a filled note to the host; ends the world if it is fatal. */
TSR_DEV void tsr_gpu_note_close(const tsr_coop_t *coop, tsr_gpu_note_t *note, uint32_t kind,
				uint32_t fatal)
{
	if (note) {
		note->fatal = fatal;
		/* Partner: the host's acquiring load of `kind`. */
		tsr_port_store<TSR_RELEASE, TSR_SCOPE_SYSTEM>(&note->kind, kind);
	}
	/* Partner of the release: the host, which reads the notes when it sees the word. */
	if (fatal)
		tsr_port_store<TSR_RELEASE, TSR_SCOPE_SYSTEM>(coop->context->abort, 1u);
}

/** What one thread has found wrong with a call. */
TSR_DEV void tsr_gpu_fault_of_thread(const tsr_coop_t *coop, uint32_t kind, const void *p,
				     uint64_t size_bytes, int peer)
{
	tsr_gpu_note_t *note = tsr_gpu_note_open(coop);
	if (note) {
		note->peer = peer;
		note->address = (uint64_t)(uintptr_t)p;
		note->size_bytes = size_bytes;
	}
	tsr_gpu_note_close(coop, note, kind, 1u);
}

/** A call with a wrong rank or pointer: noted once for the coop. */
TSR_DEV void tsr_gpu_fault(const tsr_coop_t *coop, uint32_t kind, const void *p,
			   uint64_t size_bytes, int peer)
{
	if (coop->thread == 0)
		tsr_gpu_fault_of_thread(coop, kind, p, size_bytes, peer);
}

#endif
