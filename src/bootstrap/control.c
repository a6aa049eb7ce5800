/* The control segment's life, the world's end, and what is kept about it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "src/base/error.h"
#include "src/base/executor.h"
#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"
#include "src/base/os/futex.h"
#include "src/base/text.h"
#include "src/bootstrap/control.h"
#include "src/bootstrap/nodes/relay.h"

tsr_status_t tsr_control_map(int fd, tsr_control_t **control_out)
{
	const int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
	void *memory = mmap(NULL, sizeof(tsr_control_t), PROT_READ | PROT_WRITE, flags, fd, 0);
	if (memory == MAP_FAILED)
		return tsr_error(
			TSR_ERR_SYSTEM,
			"cannot map the control segment of %s: %s; free memory of this machine",
			TSR_SIZE(sizeof(tsr_control_t)), strerror(errno));
	*control_out = memory;
	return TSR_OK;
}

/** Waiters sleep on the round, and on their rank's bell in the backend. */
static void wake_everybody(tsr_control_t *control)
{
	/* who waits in a team's looks up soon */
	tsr_futex_wake_all(&((tsr_meeting_words_t *)(void *)control->units)->round);
	for (int rank = 0; rank < TSR_MAX_RANKS; rank++) {
		/* relaxed: a sleeper looks at `aborted` again whenever the bell has changed */
		atomic_fetch_add_explicit(&control->words.rank[rank].bell, 1, memory_order_relaxed);
		tsr_futex_wake_all(&control->words.rank[rank].bell);
	}
}

void tsr_control_end(tsr_control_t *control, const tsr_end_t *end)
{
	uint32_t nobody = 0;
	/* relaxed: only decides who writes */
	if (!atomic_compare_exchange_strong_explicit(&control->end_claimed, &nobody, 1,
						     memory_order_relaxed, memory_order_relaxed))
		return;
	control->end = *end;
	/* release: partners are the acquires in tsr_boot_abort_status and tsr_boot_exit_code */
	atomic_store_explicit(&control->words.aborted, 1, memory_order_release);
	wake_everybody(control);
}

static void end_world(tsr_boot_t *boot, tsr_status_t status, int exit_code, const char *sentence)
{
	tsr_end_t end = {.status = status, .rank = boot->rank, .code = exit_code};
	snprintf(end.sentence, sizeof end.sentence, "%s", sentence);
	if (boot->several)
		tsr_relay_end_world(boot, &end);
	else
		tsr_control_end(boot->control, &end);
	if (boot->exploration)
		tsr_executor.abort(boot->exploration, status, exit_code, sentence);
}

void tsr_boot_abort(tsr_boot_t *boot, tsr_status_t status, const char *sentence)
{
	end_world(boot, status, 0, sentence);
}

void tsr_boot_fail(tsr_boot_t *boot, int exit_code)
{
	char sentence[96];
	if (boot->exploration)
		tsr_executor.fails(boot->exploration);
	snprintf(sentence, sizeof sentence,
		 "rank %d of %d ended with exit code %d, so the world ended", boot->rank,
		 boot->size, exit_code);
	end_world(boot, TSR_ERR_PEER_LOST, exit_code, sentence);
}

int tsr_boot_exit_code(const tsr_boot_t *boot)
{
	/* acquire: partner is the release in tsr_control_end */
	const bool ended =
		atomic_load_explicit(&boot->control->words.aborted, memory_order_acquire) != 0;
	return ended && boot->control->end.code != 0 ? boot->control->end.code : EXIT_FAILURE;
}

tsr_status_t tsr_boot_abort_status(const tsr_boot_t *boot, const char **sentence_out)
{
	/* acquire: partner is the release in tsr_control_end; after it the sentence does not
	 * change */
	if (atomic_load_explicit(&boot->control->words.aborted, memory_order_acquire) == 0)
		return TSR_OK;
	*sentence_out = boot->control->end.sentence;
	return (tsr_status_t)boot->control->end.status;
}

tsr_status_t tsr_boot_ended(const tsr_boot_t *boot)
{
	const char *sentence;
	const tsr_status_t status = tsr_boot_abort_status(boot, &sentence);
	if (status == TSR_OK)
		return TSR_OK;
	const bool everybodys = status == TSR_ERR_TIMEOUT || status == TSR_ERR_PEER_LOST ||
				status == TSR_ERR_MISMATCH || status == TSR_ERR_CONFIG;
	return tsr_error(everybodys || boot->control->end.rank == boot->rank ? status
									     : TSR_ERR_ABORTED,
			 "%s", sentence);
}

tsr_status_t tsr_boot_end(tsr_boot_t *boot, tsr_status_t status, const char *format, ...)
{
	char sentence[TSR_SENTENCE_LENGTH];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(sentence, sizeof sentence, format, arguments);
	va_end(arguments);
	tsr_boot_abort(boot, status, sentence);
	/* Where another has claimed the end, it is about to say why, on a busy machine after a
	 * while; if it does not die before. */
	for (int i = 0; i < 5000; i++) {
		const tsr_status_t ended = tsr_boot_ended(boot);
		if (ended != TSR_OK)
			return ended;
		tsr_sleep_until(tsr_now_ns() + 1000000);
	}
	return tsr_error(status, "%s", sentence);
}

/**
 * The hash of a sentence without the digits of addresses in it. Ranks that fail
 * alike name different addresses of the same memory.
 */
static uint64_t hash_of(const char *sentence)
{
	char text[TSR_SENTENCE_LENGTH];
	size_t used = 0;
	while (*sentence != '\0' && used + 2 < sizeof text) {
		const bool address = strncmp(sentence, "0x", 2) == 0;
		text[used++] = *sentence++;
		if (!address)
			continue;
		text[used++] = *sentence++;
		sentence += strspn(sentence, "0123456789abcdef");
	}
	text[used] = '\0';
	return tsr_text_hash(text);
}

/** Whether another node reports the sentence: that of the rank that ended the world. */
static bool is_reported_elsewhere(const tsr_boot_t *boot, const char *sentence)
{
	const char *end;
	return tsr_boot_abort_status(boot, &end) != TSR_OK && hash_of(end) == hash_of(sentence) &&
	       tsr_boot_is_far(boot, boot->control->end.rank);
}

bool tsr_boot_claim_report(tsr_boot_t *boot, const char *sentence)
{
	if (is_reported_elsewhere(boot, sentence))
		return false;
	const uint64_t hash = hash_of(sentence);
	for (int i = 0; i < TSR_REPORTS; i++) {
		uint64_t entry = 0;
		/* relaxed: the entry is all that is shared */
		if (atomic_compare_exchange_strong_explicit(&boot->control->reports[i], &entry,
							    hash, memory_order_relaxed,
							    memory_order_relaxed))
			return true;
		if (entry == hash)
			return false;
	}
	return true; /* more different sentences than anybody reads: rather twice than never */
}

int tsr_control_keep_record(tsr_control_t *control, const tsr_wait_record_t *record)
{
	/* relaxed: hands out entries; `ready` orders their content. A load first, so that the count
	 * cannot wrap. */
	if (atomic_load_explicit(&control->wait_records_taken, memory_order_relaxed) >=
	    TSR_WAIT_RECORDS)
		return -1;
	const uint32_t index =
		atomic_fetch_add_explicit(&control->wait_records_taken, 1, memory_order_relaxed);
	if (index >= TSR_WAIT_RECORDS)
		return -1;
	control->wait_records[index].record = *record;
	/* release: partner is the acquire in tsr_boot_wait_record */
	atomic_store_explicit(&control->wait_records[index].ready, 1, memory_order_release);
	return (int)index;
}

void tsr_boot_keep_wait_record(tsr_boot_t *boot, const tsr_wait_record_t *record)
{
	const int64_t number = tsr_event_claim(boot);
	const int index = tsr_control_keep_record(boot->control, record);
	const tsr_event_t event = {
		.kind = TSR_EVENT_WAIT_RECORD, .rank = boot->rank, .place = index};
	tsr_event_tell(boot, number, &event);
}

/**
 * Whether there is such a record. One that is claimed is being written by
 * another rank, on a busy machine for a while.
 */
static bool await_record(const tsr_boot_t *boot, int index)
{
	tsr_control_t *control = boot->control;
	/* relaxed: who has been told of a record, by the end of the world say, finds it claimed */
	if (index < 0 || index >= TSR_WAIT_RECORDS ||
	    (uint32_t)index >=
		    atomic_load_explicit(&control->wait_records_taken, memory_order_relaxed))
		return false;
	for (int i = 0; i < 1000; i++) {
		/* acquire: partner is the release in tsr_control_keep_record */
		if (atomic_load_explicit(&control->wait_records[index].ready, memory_order_acquire))
			return true;
		tsr_sleep_until(tsr_now_ns() + 1000000);
	}
	return false; /* its writer has died */
}

tsr_status_t tsr_boot_wait_record(const tsr_boot_t *boot, int index, tsr_wait_record_t *record_out)
{
	if (!await_record(boot, index))
		return tsr_error(TSR_ERR_NOT_FOUND,
				 "there is no wait record %d; count up from 0 to the first that is "
				 "not found",
				 index);
	*record_out = boot->control->wait_records[index].record;
	return TSR_OK;
}
