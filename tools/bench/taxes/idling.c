/*
 * What a recording says of taxes: how long ranks idled in meetings, and how much
 * of its communication a rank did while it multiplied.
 */
#include <stdlib.h>
#include <string.h>

#include "tessera/dev/collective.h"
#include "tools/bench/bench.h"

static tsr_status_t no_memory(void)
{
	return tsr_error(TSR_ERR_NO_MEMORY,
			 "the host has no memory for the meetings of a run; free some");
}

/** Rows of one rank in the second run. */
typedef struct rank_rows {
	const tsr_record_entry_t *entries;
	const tsr_record_event_t *events;
	int entry_count, event_count;
	int first_launch; /* of the second run */
} rank_rows_t;

static void find_rows(const bench_recording_t *recording, rank_rows_t *rows)
{
	const tsr_record_entry_t *entries = recording->entries;
	const tsr_record_event_t *events = recording->events;
	for (int r = 0; r < recording->ranks; r++) {
		int launches = 0;
		rows[r] = (rank_rows_t){entries, events, recording->entry_counts[r],
					recording->event_counts[r], 0};
		for (int i = 0; i < rows[r].entry_count; i++)
			if (entries[i].launch >= launches)
				launches = entries[i].launch + 1;
		rows[r].first_launch = launches / 2;
		entries += rows[r].entry_count;
		events += rows[r].event_count;
	}
}

/** Kernels of the second run: a copy engine's copies are launches too, but delay no kernel. */
static int count_kernels(const rank_rows_t *rows)
{
	int kernels = 0, last = -1;
	for (int i = 0; i < rows->entry_count; i++) {
		const tsr_record_entry_t *e = &rows->entries[i];
		if (e->launch < rows->first_launch || e->launch == last)
			continue;
		last = e->launch;
		kernels += strcmp(e->role, "copy engine") != 0;
	}
	return kernels;
}

/* ------------------------------------------------------------------ meetings */

/*
 * A meeting: each rank raises a flag on each other rank, and waits for those of
 * all others. Its flags have one value, and lie equally far apart in one
 * allocation, in the order of the ranks that raise them.
 */
typedef struct flag_row {
	const tsr_record_event_t *event;
	int64_t place;    /* where rank 0's flag is */
	int64_t value;    /* that is waited for */
	int64_t apart;    /* bytes from a rank's flag to the next rank's */
	int rank, raiser; /* whose event it is, and who raises the flag */
} flag_row_t;

static int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int by_meeting(const flag_row_t *a, const flag_row_t *b)
{
	const int names = strcmp(a->event->name, b->event->name);
	const int values = compare(a->value, b->value);
	return names ? names : values ? values : compare(a->place, b->place);
}

/** Within a meeting signals first, then the waits of each worker by their time. */
static int by_meeting_and_worker(const void *a, const void *b)
{
	const flag_row_t *x = a, *y = b;
	const tsr_record_event_t *e = x->event, *f = y->event;
	const int keys[] = {by_meeting(x, y),
			    compare(e->kind != TSR_RECORD_SIGNAL, f->kind != TSR_RECORD_SIGNAL),
			    compare(x->rank, y->rank),
			    compare(e->launch, f->launch),
			    compare(e->block, f->block),
			    compare(e->worker, f->worker),
			    compare((int64_t)e->begin_ns, (int64_t)f->begin_ns)};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (keys[i])
			return keys[i];
	return 0;
}

/* Bytes from a rank's flag to the next rank's, by what holds them. */
enum {
	HANDSHAKE = sizeof(uint64_t), /* kernels/dev/handshake.h */
	COLLECTIVE = 256,             /* backends/common/dev/states.h: counts of two steps, */
	ONE_STEP = 128                /* and behind them the rounds of calls in one step */
};

/** What a flag is, by its allocation's name, "gemm_all_scatter.sync"; 0: none of a meeting. */
static int64_t flags_apart(const tsr_record_event_t *e, int ranks)
{
	const char *dot = strrchr(e->name, '.');
	if (!dot)
		return 0;
	if (strcmp(dot, ".sync") == 0)
		return HANDSHAKE;
	if (strcmp(dot, ".state") != 0)
		return 0;
	return (int64_t)e->offset_bytes < (int64_t)ranks * COLLECTIVE ? COLLECTIVE : ONE_STEP;
}

/** Adds a rank's waits for flags of other ranks, and its signals to them. Returns the new count. */
static int add_flags(const rank_rows_t *rows, int rank, int ranks, flag_row_t *flags, int count)
{
	for (int i = 0; i < rows->event_count; i++) {
		const tsr_record_event_t *e = &rows->events[i];
		const bool waits = e->kind == TSR_RECORD_WAIT && e->owner == rank;
		const int64_t apart = flags_apart(e, ranks);
		if (e->launch < rows->first_launch || e->peer < 0 || e->peer == rank ||
		    (!waits && e->kind != TSR_RECORD_SIGNAL) || apart == 0)
			continue;
		const int raiser = waits ? e->peer : rank;
		flags[count++] = (flag_row_t){e,        (int64_t)e->offset_bytes - raiser * apart,
					      e->value, apart,
					      rank,     raiser};
	}
	return count;
}

/*
 * A collective's flag is a count, which the blocks of a rank raise by
 * TSR_ALL_GATHER_MAX_BLOCKS together in each call. A wait has the value that the
 * count is to reach, and a signal what a block adds.
 */

/** By count, signals of one rank to one other together, by time; waits first. */
static int by_count(const void *a, const void *b)
{
	const flag_row_t *x = a, *y = b;
	const tsr_record_event_t *e = x->event, *f = y->event;
	const int names = strcmp(e->name, f->name);
	const int64_t keys[][2] = {
		{x->place, y->place},
		{e->kind != TSR_RECORD_WAIT, f->kind != TSR_RECORD_WAIT},
		{x->raiser, y->raiser},
		{e->owner, f->owner},
		{(int64_t)e->begin_ns, (int64_t)f->begin_ns},
	};
	if (names)
		return names;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (keys[i][0] != keys[i][1])
			return compare(keys[i][0], keys[i][1]);
	return 0;
}

static bool is_signal(const flag_row_t *flag)
{
	return flag->event->kind == TSR_RECORD_SIGNAL;
}

/** Gives signals to counts the values that waits have: what the count is to reach in their call. */
static void find_calls(flag_row_t *flags, int count)
{
	int64_t before = 0, sum = 0; /* before the first call of a count, and since then */
	qsort(flags, (size_t)count, sizeof *flags, by_count);
	for (int i = 0; i < count; i++) {
		flag_row_t *f = &flags[i];
		const flag_row_t *last = i > 0 ? f - 1 : NULL;
		if (f->apart != COLLECTIVE)
			continue;
		const bool same = last && strcmp(last->event->name, f->event->name) == 0 &&
				  last->place == f->place;
		const int64_t reached = f->value - TSR_ALL_GATHER_MAX_BLOCKS;
		if (!is_signal(f)) {
			before = same && before < reached ? before : reached;
			continue;
		}
		if (!same || !is_signal(last) || last->raiser != f->raiser ||
		    last->event->owner != f->event->owner)
			sum = 0;
		sum += f->value;
		f->value = before + (sum + TSR_ALL_GATHER_MAX_BLOCKS - 1) /
					    TSR_ALL_GATHER_MAX_BLOCKS * TSR_ALL_GATHER_MAX_BLOCKS;
	}
}

static bool same_worker(const flag_row_t *a, const flag_row_t *b)
{
	return a->rank == b->rank && a->event->launch == b->event->launch &&
	       a->event->block == b->event->block && a->event->worker == b->event->worker;
}

/** What ranks did in one meeting: arrays with an element a rank. */
typedef struct meeting {
	int ranks;
	uint64_t *last;  /* the last flag that was raised on this rank */
	double *idle_ns; /* of all waiting workers together */
	int *workers;    /* that waited */
	bool *met;       /* [waiter * ranks + raiser]: has waited for it */
} meeting_t;

/**
 * The idle time of a meeting, as the mean over ranks: from when a worker begins
 * to wait until the last rank has arrived. False: it is no meeting of all.
 */
static bool idle_in(meeting_t *m, const flag_row_t *flags, int count, double *idle_ns)
{
	const size_t ranks = (size_t)m->ranks;
	memset(m->last, 0, ranks * sizeof *m->last);
	memset(m->idle_ns, 0, ranks * sizeof *m->idle_ns);
	memset(m->workers, 0, ranks * sizeof *m->workers);
	memset(m->met, 0, ranks * ranks * sizeof *m->met);
	for (int i = 0; i < count; i++) {
		const tsr_record_event_t *e = flags[i].event;
		const int rank = flags[i].rank;
		if (e->kind == TSR_RECORD_SIGNAL) {
			if (e->begin_ns > m->last[e->owner])
				m->last[e->owner] = e->begin_ns;
			continue;
		}
		m->met[rank * m->ranks + flags[i].raiser] = true;
		if (i > 0 && flags[i - 1].event->kind == TSR_RECORD_WAIT &&
		    same_worker(&flags[i], &flags[i - 1]))
			continue;
		m->workers[rank]++;
		if (m->last[rank] > e->begin_ns)
			m->idle_ns[rank] += (double)(m->last[rank] - e->begin_ns);
	}
	double sum = 0;
	for (int r = 0; r < m->ranks; r++) {
		for (int peer = 0; peer < m->ranks; peer++)
			if (peer != r && !m->met[r * m->ranks + peer])
				return false;
		if (m->last[r] == 0)
			return false;
		sum += m->idle_ns[r] / m->workers[r];
	}
	*idle_ns += sum / m->ranks;
	return true;
}

static void walk_meetings(meeting_t *m, const flag_row_t *flags, int count, bench_idling_t *idling)
{
	for (int begin = 0, end; begin < count; begin = end) {
		for (end = begin + 1; end < count && by_meeting(&flags[begin], &flags[end]) == 0;)
			end++;
		idling->meetings += idle_in(m, flags + begin, end - begin, &idling->idle_ns);
	}
}

static tsr_status_t find_meetings(const rank_rows_t *rows, int ranks, bench_idling_t *idling)
{
	const size_t n = (size_t)ranks;
	size_t all = 1;
	int count = 0;
	for (int r = 0; r < ranks; r++)
		all += (size_t)rows[r].event_count;
	flag_row_t *flags = malloc(all * sizeof *flags);
	meeting_t m = {.ranks = ranks,
		       .last = malloc(n * sizeof *m.last),
		       .idle_ns = malloc(n * sizeof *m.idle_ns),
		       .workers = malloc(n * sizeof *m.workers),
		       .met = malloc(n * n * sizeof *m.met)};
	const bool room = flags && m.last && m.idle_ns && m.workers && m.met;
	if (room) {
		for (int r = 0; r < ranks; r++)
			count = add_flags(&rows[r], r, ranks, flags, count);
		find_calls(flags, count);
		qsort(flags, (size_t)count, sizeof *flags, by_meeting_and_worker);
		if (ranks > 1)
			walk_meetings(&m, flags, count, idling);
	}
	free(flags);
	free(m.last);
	free(m.idle_ns);
	free(m.workers);
	free(m.met);
	return room ? TSR_OK : no_memory();
}

/* ------------------------------------------------------------------ overlap */

typedef struct span {
	uint64_t begin_ns, end_ns;
} span_t;

/** Spans, and once merged the times that any of them covers. */
typedef struct spans {
	span_t *span;
	int count;
} spans_t;

static int by_begin(const void *a, const void *b)
{
	const span_t *x = a, *y = b;
	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/** Merges the spans; returns how long they are together. */
static double merge(spans_t *spans)
{
	double sum = 0;
	int last = -1;
	qsort(spans->span, (size_t)spans->count, sizeof *spans->span, by_begin);
	for (int i = 0; i < spans->count; i++) {
		const span_t next = spans->span[i];
		if (last < 0 || next.begin_ns > spans->span[last].end_ns)
			spans->span[++last] = next;
		else if (next.end_ns > spans->span[last].end_ns)
			spans->span[last].end_ns = next.end_ns;
	}
	spans->count = last + 1;
	for (int i = 0; i < spans->count; i++)
		sum += (double)(spans->span[i].end_ns - spans->span[i].begin_ns);
	return sum;
}

/** How long both cover the same time. */
static double shared(const spans_t *a, const spans_t *b)
{
	double sum = 0;
	for (int i = 0, j = 0; i < a->count && j < b->count;) {
		const span_t x = a->span[i], y = b->span[j];
		const uint64_t begin = x.begin_ns > y.begin_ns ? x.begin_ns : y.begin_ns,
			       end = x.end_ns < y.end_ns ? x.end_ns : y.end_ns;
		if (end > begin)
			sum += (double)(end - begin);
		if (x.end_ns < y.end_ns)
			i++;
		else
			j++;
	}
	return sum;
}

/**
 * When a rank multiplied, and when it communicated: its sends, and the whole of
 * a worker that read from peers.
 */
static void list_spans(const rank_rows_t *rows, spans_t *products, spans_t *moves)
{
	for (int i = 0; i < rows->event_count; i++) {
		const tsr_record_event_t *e = &rows->events[i];
		const span_t span = {e->begin_ns, e->end_ns};
		if (e->launch < rows->first_launch)
			continue;
		if (e->kind == TSR_RECORD_PRODUCT)
			products->span[products->count++] = span;
		if (e->kind == TSR_RECORD_SEND)
			moves->span[moves->count++] = span;
	}
	for (int i = 0; i < rows->entry_count; i++) {
		const tsr_record_entry_t *e = &rows->entries[i];
		if (e->launch >= rows->first_launch && e->remote_read_bytes > 0)
			moves->span[moves->count++] = (span_t){e->begin_ns, e->end_ns};
	}
}

static tsr_status_t find_overlap(const rank_rows_t *rows, int ranks, double *overlap_out)
{
	double both = 0, shorter = 0;
	for (int r = 0; r < ranks; r++) {
		const size_t most = (size_t)rows[r].event_count + (size_t)rows[r].entry_count + 1;
		spans_t products = {.span = malloc(most * sizeof(span_t))},
			moves = {.span = malloc(most * sizeof(span_t))};
		const bool room = products.span && moves.span;
		if (room) {
			list_spans(&rows[r], &products, &moves);
			const double multiplied = merge(&products), moved = merge(&moves);
			both += shared(&products, &moves);
			shorter += multiplied < moved ? multiplied : moved;
		}
		free(products.span);
		free(moves.span);
		if (!room)
			return no_memory();
	}
	*overlap_out = shorter > 0 ? both / shorter : 0;
	return TSR_OK;
}

/* ------------------------------------------------------------------ both */

tsr_status_t bench_idling_of(const bench_recording_t *recording, bench_idling_t *idling_out)
{
	const bench_left_out_t left = bench_record_left_out(recording);
	bench_idling_t idling = {.known = left.events == 0};
	*idling_out = (bench_idling_t){.known = false};
	rank_rows_t *rows = calloc((size_t)recording->ranks, sizeof *rows);
	if (!rows)
		return no_memory();
	find_rows(recording, rows);
	for (int r = 0; r < recording->ranks; r++) {
		const int kernels = count_kernels(&rows[r]);
		idling.launches = kernels > idling.launches ? kernels : idling.launches;
	}
	tsr_status_t status = find_meetings(rows, recording->ranks, &idling);
	if (status == TSR_OK)
		status = find_overlap(rows, recording->ranks, &idling.overlap);
	free(rows);
	if (status == TSR_OK && idling.known)
		*idling_out = idling;
	return status;
}
