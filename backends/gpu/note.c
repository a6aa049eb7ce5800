/* Notes: what kernels tell the host. They become wait records, and sentences that end the world. */
#include <stdio.h>
#include <string.h>

#include "gpu/gpu.h"
#include "src/base/compare.h"
#include "src/base/text.h"
#include "tessera/dtype.h"

/** A note, and what the host knows of the launch that it is of. */
typedef struct told {
	const tsr_gpu_note_t *note;
	const char *kernel;
	tsr_gpu_track_t *stream;     /* null where it is gone */
	const tsr_host_team_t *team; /* of the stream; null where that is gone */
	char place[sizeof((tsr_gpu_note_t *)0)->file + 12];
} told_t;

/** The place of the launch, or the kernel's name where the place is unknown. */
static void place_of_launch(const tsr_gpu_launched_t *launched, told_t *told)
{
	if (launched->file)
		snprintf(told->place, sizeof told->place, "%s:%d", launched->file, launched->line);
	else
		snprintf(told->place, sizeof told->place, "%s", told->kernel);
}

/** With the lock. */
static told_t tell(tsr_gpu_t *gpu, const tsr_gpu_note_t *note)
{
	const tsr_gpu_launched_t *launched = &gpu->launched[note->launch % TSR_GPU_LAUNCHES_KEPT];
	told_t told = {.note = note, .kernel = "?"};
	snprintf(told.place, sizeof told.place, "%.*s:%d", (int)sizeof note->file, note->file,
		 (int)note->line);
	if (launched->number != note->launch || !launched->kernel)
		return told;
	told.kernel = launched->kernel->name;
	if (note->line == 0) /* TSR_AT_LAUNCH */
		place_of_launch(launched, &told);
	told.stream = tsr_gpu_stream_find(gpu, launched->serial);
	told.team = told.stream ? told.stream->team->host : NULL;
	return told;
}

/** The rank in the world of a member of the team that the note is of. */
static int rank_of(const told_t *told, int member)
{
	return told->team && member >= 0 && member < told->team->size ? told->team->ranks[member]
								      : member;
}

/** Who made the launch. */
static const char *name_me(const tsr_gpu_t *gpu, const told_t *told, char text[TSR_WHO_TEXT])
{
	return tsr_who_text(gpu->host->rank, told->team ? told->team->rank : 0,
			    told->team ? told->team->name : NULL, text);
}

static void name_flag(const tsr_gpu_t *gpu, uint64_t address, char name[80])
{
	const tsr_host_t *host = gpu->host;
	char allocation[32];
	size_t heap_offset, offset;
	if (!tsr_gpu_offset(gpu, address, &heap_offset))
		snprintf(name, 80, "a flag in shared memory");
	else if (host->find_allocation(host->ctx, heap_offset, allocation, &offset))
		snprintf(name, 80, "'%s'+%zu", allocation, offset);
	else
		snprintf(name, 80, "the flag at heap offset %zu", heap_offset);
}

/** What ends the world, when nobody has written the word that was waited for. */
static void say_word(const tsr_gpu_t *gpu, const told_t *told, const tsr_wait_record_t *record,
		     const char *who, const char *name, char sentence[640])
{
	char of[32] = "", me[TSR_WHO_TEXT];
	if (record->owner != gpu->host->rank)
		snprintf(of, sizeof of, " of rank %d", record->owner);
	snprintf(
		sentence, 640,
		"%s, block %d of kernel %s waited %.3g s at %s for %s to write %s%s so that it "
		"%s%s %llu; it was %llu: nobody "
		"wrote such a value, or it came and went, or it takes longer than TESSERA_DEADLINE",
		name_me(gpu, told, me), record->block, told->kernel,
		(double)record->waited_ns / 1e9, told->place, who, name, of,
		record->cmp == TSR_CMP_ANY ? "" : "is ", tsr_cmp_name(record->cmp),
		(unsigned long long)record->expected, (unsigned long long)record->seen);
}

/** The same of a word that carries its own flag. */
static void say_marked(const tsr_gpu_t *gpu, const told_t *told, const tsr_wait_record_t *record,
		       const char *who, const char *name, char sentence[640])
{
	char me[TSR_WHO_TEXT];
	snprintf(sentence, 640,
		 "%s, block %d of kernel %s waited %.3g s at %s for %s to put a word of epoch %llu "
		 "to %s; its epoch was %llu: nobody put it, or a later one overwrote it before it "
		 "was taken, or it takes longer than TESSERA_DEADLINE",
		 name_me(gpu, told, me), record->block, told->kernel,
		 (double)record->waited_ns / 1e9, told->place, who,
		 (unsigned long long)record->expected, name, (unsigned long long)record->seen);
}

static int compared_by(const tsr_gpu_note_t *note)
{
	if (note->word == TSR_GPU_NOTE_MARKED)
		return TSR_CMP_EQ;
	return note->word ? (int)note->word - 1 : TSR_CMP_GE;
}

/** An expired wait: its record, and what ends the world where it is a plain one. */
static tsr_status_t tell_wait(const tsr_gpu_t *gpu, const told_t *told, char sentence[640])
{
	const tsr_gpu_note_t *note = told->note;
	const tsr_host_t *host = gpu->host;
	size_t offset;
	char name[80], who[TSR_WHO_TEXT] = "any rank", me[TSR_WHO_TEXT];
	tsr_wait_record_t record = {.rank = host->rank,
				    .team_rank = told->team ? told->team->rank : host->rank,
				    .block = note->block,
				    .worker = note->worker,
				    .expected = note->expected,
				    .seen = note->seen,
				    .cmp = compared_by(note),
				    .owner = note->word ? rank_of(told, note->owner) : host->rank,
				    .from = rank_of(told, note->peer),
				    .team_from = note->peer,
				    .waited_ns = note->waited_ns};
	const bool heap = tsr_gpu_offset(gpu, note->address, &offset);
	if (!heap)
		snprintf(record.allocation, sizeof record.allocation, "shared memory");
	snprintf(record.team, sizeof record.team, "%s", told->team ? told->team->name : "");
	snprintf(record.kernel, sizeof record.kernel, "%s", told->kernel);
	snprintf(record.site, sizeof record.site, "%.*s", (int)sizeof record.site - 1, told->place);
	host->keep_wait_record(host->ctx, &record,
			       heap ? (const void *)(uintptr_t)note->address : NULL);
	name_flag(gpu, note->address, name);
	if (note->peer != TSR_ANY_RANK)
		(void)tsr_who_text(record.from, note->peer, record.team, who);
	if (note->word == TSR_GPU_NOTE_MARKED) {
		say_marked(gpu, told, &record, who, name, sentence);
		return TSR_ERR_TIMEOUT;
	}
	if (note->word) {
		say_word(gpu, told, &record, who, name, sentence);
		return TSR_ERR_TIMEOUT;
	}
	snprintf(sentence, 640,
		 "%s, block %d of kernel %s waited %.3g s at %s for %s to raise %s to %llu; it was "
		 "%llu: the signal was not "
		 "sent, or "
		 "its sender is not resident, or it takes longer than TESSERA_DEADLINE",
		 name_me(gpu, told, me), (int)note->block, told->kernel,
		 (double)note->waited_ns / 1e9, told->place, who, name,
		 (unsigned long long)note->expected, (unsigned long long)note->seen);
	return TSR_ERR_TIMEOUT;
}

static tsr_status_t tell_misuse(const tsr_gpu_t *gpu, const told_t *told, char sentence[640])
{
	const tsr_gpu_note_t *note = told->note;
	const int size = told->team ? told->team->size : gpu->host->size;
	const bool in_team = told->team && *told->team->name != '\0';
	char what[320], me[TSR_WHO_TEXT];
	size_t offset;
	if (note->kind == TSR_GPU_NOTE_RANK)
		snprintf(what, sizeof what,
			 "a call to rank %d of a %s of %d at %s; ranks begin at 0 and end before "
			 "the size of the stream's team",
			 (int)note->peer, in_team ? "team" : "world", size, told->place);
	else if (note->kind == TSR_GPU_NOTE_DTYPE)
		snprintf(what, sizeof what, "element type %d (%s) at %s, which %s", (int)note->peer,
			 tsr_dtype_name((tsr_dtype_t)note->peer), told->place,
			 (uint32_t)note->peer > TSR_U8
				 ? "no call takes; take one of tsr_dtype_t up to u8"
				 : "the call does not take; its contract says which it does");
	else if (note->kind == TSR_GPU_NOTE_SENT)
		snprintf(what, sizeof what,
			 "tsr_frag_add_sent at %s of what was not sent so; send and add with one "
			 "configuration, one dtype and "
			 "coops of "
			 "as many threads, and wait for a signal in between",
			 told->place);
	else if (note->kind == TSR_GPU_NOTE_COLLECTIVE)
		snprintf(what, sizeof what,
			 "a collective at %s with a root, a dtype or extents that it does not "
			 "take, or with views that overlap; its contract says which it takes, and "
			 "a run on cpuemu says which of these it is",
			 told->place);
	else if (note->kind == TSR_GPU_NOTE_INDEX)
		snprintf(what, sizeof what,
			 "key or row %d of %llu at %s; keys end before the number of bins, and "
			 "rows before that of the view",
			 (int)note->peer, (unsigned long long)note->size_bytes, told->place);
	else if (tsr_gpu_offset(gpu, note->address, &offset) && offset >= gpu->window_begin &&
		 gpu->window_begin > 0)
		snprintf(what, sizeof what,
			 "a call of %llu bytes that no window holds as a whole at %s; check the "
			 "size of the transfer, and whether the window was released",
			 (unsigned long long)note->size_bytes, told->place);
	else if (tsr_gpu_offset(gpu, note->address, &offset))
		snprintf(what, sizeof what,
			 "a call of %llu bytes from offset %zu of a heap of %llu bytes at %s; "
			 "check the size of the transfer",
			 (unsigned long long)note->size_bytes, offset,
			 (unsigned long long)gpu->launch.heap_bytes, told->place);
	else
		snprintf(what, sizeof what,
			 "a call of %llu bytes outside this rank's heap at %s; the pointer is "
			 "always the caller's own",
			 (unsigned long long)note->size_bytes, told->place);
	snprintf(sentence, 640, "kernel %s, block %d, worker %d of %s: %s", told->kernel,
		 (int)note->block, (int)note->worker, name_me(gpu, told, me), what);
	return TSR_ERR_KERNEL;
}

/** With the lock: one note. A stream keeps its first failure, the world too. */
static void report(tsr_gpu_t *gpu, const tsr_gpu_note_t *note)
{
	const told_t told = tell(gpu, note);
	struct tsr_gpu_failure failure;
	failure.status = note->kind == TSR_GPU_NOTE_WAIT
				 ? tell_wait(gpu, &told, failure.sentence)
				 : tell_misuse(gpu, &told, failure.sentence);
	if (!note->fatal)
		return;
	if (told.stream && told.stream->failure.status == TSR_OK)
		told.stream->failure = failure;
	gpu->host->abort_world(gpu->host->ctx, failure.status, failure.sentence);
}

void tsr_gpu_notes_read(tsr_gpu_t *gpu)
{
	pthread_mutex_lock(&gpu->lock);
	for (int i = 0; i < TSR_GPU_NOTES; i++) {
		const tsr_gpu_note_t *note = &gpu->page->notes[i];
		/* Acquire: partner is the release in tsr_gpu_note_close, at system scope, after the
		 * rest of the note. */
		if (gpu->reported[i] || __atomic_load_n(&note->kind, __ATOMIC_ACQUIRE) == 0)
			continue;
		gpu->reported[i] = true;
		report(gpu, note);
	}
	pthread_mutex_unlock(&gpu->lock);
}
