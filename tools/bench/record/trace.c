/*
 * --trace: the events of a run as a file that ui.perfetto.dev opens, in the
 * JSON form of Chrome's traces. Times are those of the ranks' clocks: one clock
 * on one host, or clocks of GPUs, as well aligned as clock_error_us says.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/document.h"

/** The file that is written, and the signals that waits look for. */
typedef struct trace {
	const bench_recording_t *recording;
	FILE *file;
	uint64_t origin_ns;
	bool begun, failed;
	const tsr_record_event_t **signals; /* sorted by flag, then by time */
	uint64_t apart_ns;                  /* how far clocks of two ranks may be apart */
	int signal_count;
	int arrows;
} trace_t;

/** Writes a row and releases it. Null: there was no memory for it. */
static void put(trace_t *t, json_t *row)
{
	if (fputs(t->begun ? ",\n" : "\n", t->file) == EOF || !row ||
	    json_dumpf(row, t->file, JSON_COMPACT) != 0)
		t->failed = true;
	t->begun = true;
	json_decref(row);
}

static double microseconds(const trace_t *t, uint64_t ns)
{
	return (double)(ns - t->origin_ns) * 1e-3;
}

/** The thread of a worker: a number that its names sort by. A GPU's block has up to 64 workers. */
static int thread_of(int stream, int block, int worker)
{
	return (stream * 4096 + block) * 64 + worker;
}

/* ------------------------------------------------------------------ arrows */

static int by_flag(const tsr_record_event_t *a, const tsr_record_event_t *b)
{
	const int names = strcmp(a->name, b->name);
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	if (names != 0)
		return names;
	return a->offset_bytes < b->offset_bytes ? -1 : a->offset_bytes > b->offset_bytes;
}

static int by_flag_and_time(const void *a, const void *b)
{
	const tsr_record_event_t *x = *(const tsr_record_event_t *const *)a,
				 *y = *(const tsr_record_event_t *const *)b;
	const int flags = by_flag(x, y);
	return flags ? flags : x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/** All signals of the heap. (Flags in shared memory are a block's own.) */
static bool sort_signals(trace_t *t)
{
	const bench_recording_t *r = t->recording;
	int all = 0;
	for (int i = 0; i < r->ranks; i++)
		all += r->event_counts[i];
	t->signals = malloc(((size_t)all + 1) * sizeof(const tsr_record_event_t *));
	if (!t->signals)
		return false;
	for (int i = 0; i < all; i++)
		if (r->events[i].kind == TSR_RECORD_SIGNAL &&
		    strcmp(r->events[i].name, "shared memory") != 0)
			t->signals[t->signal_count++] = &r->events[i];
	qsort(t->signals, (size_t)t->signal_count, sizeof(const tsr_record_event_t *),
	      by_flag_and_time);
	return true;
}

/** The last signal of the flag that a wait was for, when the wait was over; or null. */
static const tsr_record_event_t *signal_of(const trace_t *t, const tsr_record_event_t *wait)
{
	int low = 0, high = t->signal_count;
	while (low < high) {
		const int middle = low + (high - low) / 2;
		const int flags = by_flag(t->signals[middle], wait);
		if (flags < 0 ||
		    (flags == 0 && t->signals[middle]->begin_ns <= wait->end_ns + t->apart_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && by_flag(t->signals[low - 1], wait) == 0 ? t->signals[low - 1] : NULL;
}

static int rank_of(const trace_t *t, const tsr_record_event_t *event)
{
	int rank = 0;
	for (const tsr_record_event_t *end = t->recording->events + t->recording->event_counts[0];
	     event >= end; end += t->recording->event_counts[rank])
		rank++;
	return rank;
}

static void put_arrow(trace_t *t, int rank, const tsr_record_event_t *wait)
{
	const tsr_record_event_t *signal = signal_of(t, wait);
	if (!signal)
		return;
	const int number = ++t->arrows;
	put(t, json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:f}", "ph", "s", "name", "signal", "cat",
			 "signal", "id", number, "pid", rank_of(t, signal), "tid",
			 thread_of(signal->stream, signal->block, signal->worker), "ts",
			 microseconds(t, signal->begin_ns)));
	put(t, json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:f}", "ph", "f", "bp", "e", "name",
			 "signal", "cat", "signal", "id", number, "pid", rank, "tid",
			 thread_of(wait->stream, wait->block, wait->worker), "ts",
			 microseconds(t, wait->end_ns)));
}

/* ------------------------------------------------------------------ rows */

static json_t *slice(const trace_t *t, int rank, const char *name, int thread, uint64_t begin_ns,
		     uint64_t end_ns, json_t *more)
{
	return json_pack("{s:s, s:s, s:i, s:i, s:f, s:f, s:o}", "ph", "X", "name", name, "pid",
			 rank, "tid", thread, "ts", microseconds(t, begin_ns), "dur",
			 (double)(end_ns - begin_ns) * 1e-3, "args", more);
}

static json_t *instant(const trace_t *t, int rank, const char *name, const tsr_record_event_t *e,
		       json_t *more)
{
	return json_pack("{s:s, s:s, s:s, s:i, s:i, s:f, s:o}", "ph", "i", "s", "t", "name", name,
			 "pid", rank, "tid", thread_of(e->stream, e->block, e->worker), "ts",
			 microseconds(t, e->begin_ns), "args", more);
}

static json_t *flag_json(const tsr_record_event_t *e, const char *whom)
{
	json_t *peer = e->peer < 0 ? json_string("any rank") : json_sprintf("rank %d", e->peer);
	return json_pack("{s:o, s:o, s:I}", whom, peer, "flag",
			 json_sprintf("%s+%llu of rank %d", e->name,
				      (unsigned long long)e->offset_bytes, e->owner),
			 "value", (json_int_t)e->value);
}

static void put_event(trace_t *t, int rank, const tsr_record_event_t *e)
{
	const int thread = thread_of(e->stream, e->block, e->worker);
	switch ((tsr_record_kind_t)e->kind) {
	case TSR_RECORD_MARK:
		put(t, instant(t, rank, e->name, e,
			       json_pack("{s:I}", "value", (json_int_t)e->value)));
		break;
	case TSR_RECORD_PRODUCT:
		put(t, slice(t, rank, "product", thread, e->begin_ns, e->end_ns,
			     json_pack("{s:I}", "operand_bytes", (json_int_t)e->bytes)));
		break;
	case TSR_RECORD_WAIT:
		put(t, slice(t, rank, "wait", thread, e->begin_ns, e->end_ns, flag_json(e, "for")));
		put_arrow(t, rank, e);
		break;
	case TSR_RECORD_SIGNAL:
		put(t, instant(t, rank, "signal", e, flag_json(e, "to")));
		break;
	case TSR_RECORD_SEND:
		put(t, slice(t, rank, "send", thread, e->begin_ns, e->end_ns,
			     json_pack("{s:o, s:I}", "to", json_sprintf("rank %d", e->peer),
				       "bytes", (json_int_t)e->bytes)));
		break;
	}
}

static void put_name(trace_t *t, const char *kind, int rank, int thread, json_t *name)
{
	put(t, json_pack("{s:s, s:s, s:i, s:i, s:{s:o}}", "ph", "M", "name", kind, "pid", rank,
			 "tid", thread, "args", "name", name));
}

static void put_entry(trace_t *t, int rank, const tsr_record_entry_t *e)
{
	const int thread = thread_of(e->stream, e->block, e->worker);
	put_name(t, "thread_name", rank, thread,
		 json_sprintf("stream %d, block %d, worker %d", e->stream, e->block, e->worker));
	put(t, slice(t, rank, e->kernel, thread, e->begin_ns, e->end_ns,
		     json_pack("{s:s, s:s, s:i, s:I, s:I, s:I}", "role", e->role, "variant",
			       e->variant, "launch", e->launch, "products", (json_int_t)e->products,
			       "bytes_to_peers", (json_int_t)e->remote_written_bytes, "events_lost",
			       (json_int_t)e->events_lost)));
}

/* ------------------------------------------------------------------ bytes in flight */

/** A send begins or ends. */
typedef struct change {
	uint64_t ns;
	int64_t bytes;
} change_t;

static int by_time(const void *a, const void *b)
{
	const change_t *x = a, *y = b;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static void put_in_flight(trace_t *t, int rank, const tsr_record_event_t *events, int count)
{
	change_t *changes = malloc((2 * (size_t)count + 1) * sizeof *changes);
	int64_t bytes = 0;
	int number = 0;
	if (!changes) {
		t->failed = true;
		return;
	}
	for (int i = 0; i < count; i++)
		if (events[i].kind == TSR_RECORD_SEND) {
			const int64_t sent = (int64_t)events[i].bytes;
			changes[number++] = (change_t){events[i].begin_ns, sent};
			changes[number++] = (change_t){events[i].end_ns, -sent};
		}
	qsort(changes, (size_t)number, sizeof *changes, by_time);
	for (int i = 0; i < number; i++) {
		bytes += changes[i].bytes;
		put(t,
		    json_pack("{s:s, s:s, s:i, s:f, s:{s:I}}", "ph", "C", "name", "bytes in flight",
			      "pid", rank, "ts", microseconds(t, changes[i].ns), "args", "bytes",
			      (json_int_t)bytes));
	}
	free(changes);
}

/* ------------------------------------------------------------------ the file */

static void put_ranks(trace_t *t)
{
	const bench_recording_t *r = t->recording;
	const tsr_record_entry_t *entries = r->entries;
	const tsr_record_event_t *events = r->events;
	for (int rank = 0; rank < r->ranks; rank++) {
		put_name(t, "process_name", rank, 0, json_sprintf("rank %d", rank));
		for (int i = 0; i < r->entry_counts[rank]; i++)
			put_entry(t, rank, &entries[i]);
		for (int i = 0; i < r->event_counts[rank]; i++)
			put_event(t, rank, &events[i]);
		put_in_flight(t, rank, events, r->event_counts[rank]);
		entries += r->entry_counts[rank];
		events += r->event_counts[rank];
	}
}

static void put_file(trace_t *t, const bench_caption_t *caption)
{
	char *head = NULL;
	const bench_left_out_t left = bench_record_left_out(t->recording);
	json_t *about =
		json_pack("{s:s, s:s, s:s, s:s, s:f, s:I}", "workload", caption->workload,
			  "pattern", caption->pattern, "problem", caption->problem, "backend",
			  caption->backend, "clock_error_us", (double)left.clock_error_ns * 1e-3,
			  "events_lost", (json_int_t)left.events);
	json_t *document = json_document("tessera-bench-trace/1", about);
	if (document)
		head = json_dumps(document, JSON_COMPACT);
	json_decref(document);
	if (!head || fprintf(t->file,
			     "{\"displayTimeUnit\": \"ns\", \"otherData\": %s,\n"
			     "\"traceEvents\": [",
			     head) < 0)
		t->failed = true;
	free(head);
	json_decref(about);
	put_ranks(t);
	if (fputs("\n]}\n", t->file) == EOF)
		t->failed = true;
}

tsr_status_t bench_write_trace(const char *path, const bench_caption_t *caption,
			       const bench_recording_t *recording)
{
	trace_t t = {.recording = recording,
		     .origin_ns = UINT64_MAX,
		     .apart_ns = 2 * bench_record_left_out(recording).clock_error_ns};
	int entries = 0;
	for (int r = 0; r < recording->ranks; r++)
		entries += recording->entry_counts[r];
	for (int i = 0; i < entries; i++)
		if (recording->entries[i].begin_ns < t.origin_ns)
			t.origin_ns = recording->entries[i].begin_ns;
	if (!sort_signals(&t))
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for the trace of a run; free some");
	errno = 0;
	t.file = fopen(path, "w");
	if (t.file)
		put_file(&t, caption);
	int cause = errno;
	bool failed = !t.file || t.failed;
	if (t.file && fclose(t.file) != 0 && !failed) {
		failed = true;
		cause = errno;
	}
	free(t.signals);
	return failed ? tsr_error(TSR_ERR_SYSTEM, "--trace: '%s' cannot be written: %s", path,
				  strerror(cause))
		      : TSR_OK;
}
