/* --taxes: the table, and its rows in JSON. */
#include <math.h>
#include <stdio.h>

#include "tools/bench/bench.h"

/* Parts and whole that differ by less agree. */
static const double AGREED = 0.05;

/** "0.123 45.6%", or the share alone; "?": not known. */
static const char *part_text(const bench_taxes_t *t, bool times, double ns,
			     char text_out[BENCH_SHORT_TEXT])
{
	const double percent = t->whole_ns > 0 ? 100 * ns / t->whole_ns : 0;
	if (ns < 0)
		return "?";
	if (times)
		(void)snprintf(text_out, BENCH_SHORT_TEXT, "%.4f %5.1f%%", ns * 1e-6, percent);
	else
		(void)snprintf(text_out, BENCH_SHORT_TEXT, "%.1f%%", percent);
	return text_out;
}

/** The part of the whole that no part explains; negative: the parts are longer. */
static double left_of(const bench_taxes_t *t)
{
	return t->whole_ns - bench_taxes_sum(t);
}

/** By how much recording made the run longer. */
static void print_recording(const bench_taxes_t *t)
{
	if (t->idling.known && t->whole_ns > 0)
		(void)printf("; recorded %+.1f%%", 100 * (t->idling.run_ns / t->whole_ns - 1));
	(void)printf("\n");
}

static void print_left(const bench_taxes_t *t)
{
	const double left = t->whole_ns > 0 ? left_of(t) / t->whole_ns : 0;
	if (bench_taxes_sum(t) < 0)
		(void)printf("  parts not known");
	else if (fabs(left) <= AGREED)
		(void)printf("  parts agree with the whole, %+.1f%%", -100 * left);
	else
		(void)printf("  parts are %.1f%% of the whole %s", 100 * fabs(left),
			     left > 0 ? "short" : "too long");
}

/** What is left behind launches, idling and intermediates; negative: it is not known. */
static double remainder_of(const bench_taxes_t *t)
{
	if (t->idle_ns < 0 || t->between_ns < 0)
		return -1;
	const double left = t->whole_ns - t->launch_ns - t->idle_ns - t->between_ns;
	return left > 0 ? left : 0;
}

/** Computing or communicating, whichever takes longer alone; negative: one is not known. */
static double larger_of(const bench_taxes_t *t)
{
	if (t->compute_ns < 0 || t->send_ns < 0)
		return -1;
	return t->compute_ns > t->send_ns ? t->compute_ns : t->send_ns;
}

static void print_row(const bench_session_t *session, const bench_result_t *result, bool times)
{
	const bench_taxes_t *t = &result->taxes;
	char bytes[BENCH_SHORT_TEXT], part[BENCH_SHORT_TEXT], meetings[BENCH_SHORT_TEXT] = "?";
	const double parts[] = {t->compute_ns, t->send_ns, t->overlap_ns, remainder_of(t),
				larger_of(t)};
	const int width = times ? 14 : 8;
	if (t->met)
		(void)snprintf(meetings, sizeof meetings, "%d", t->idling.meetings);
	(void)printf("%-27s", session->workload->pattern(result->config.pattern));
	if (times)
		(void)printf(" %9.4f", t->whole_ns * 1e-6);
	(void)printf(" %4d %*s", t->launches, width, part_text(t, times, t->launch_ns, part));
	(void)printf(" %4s %*s", meetings, width, part_text(t, times, t->idle_ns, part));
	(void)printf(" %8s %*s", bench_bytes_text((uint64_t)t->between_bytes, bytes), width,
		     part_text(t, times, t->between_ns, part));
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		(void)printf(" %*s", width, part_text(t, times, parts[i], part));
	print_left(t);
	print_recording(t);
}

void bench_print_taxes(const bench_session_t *session, const bench_result_t *results, int count)
{
	static const char *const parts[] = {"compute", "send", "both", "remains", "larger"};
	const bool times = bench_taxes_have_times(session->world);
	const int width = times ? 14 : 8;
	(void)printf("taxes of a run, %s\n%-27s",
		     times ? "in ms and in percent of its time" : "in percent of its time",
		     "pattern");
	if (times)
		(void)printf(" %9s", "whole");
	(void)printf(" %*s %*s %*s", width + 5, "launches", width + 5, "meetings", width + 9,
		     "intermediates");
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		(void)printf(" %*s", width, parts[i]);
	(void)printf("\n");
	for (int i = 0; i < count; i++)
		print_row(session, &results[i], times);
	(void)fflush(stdout);
}

/* ------------------------------------------------------------------ JSON */

static json_t *ns_json(double ns, bool times)
{
	return ns < 0 || !times ? json_null() : json_real(ns);
}

static json_t *share_json(const bench_taxes_t *t, double ns)
{
	return ns < 0 || t->whole_ns <= 0 ? json_null() : json_real(ns / t->whole_ns);
}

json_t *bench_taxes_json(const tsr_world_t *world, const bench_taxes_t *t)
{
	const struct {
		const char *key;
		double ns;
	} parts[] = {{"launch", t->launch_ns},   {"idle", t->idle_ns}, {"between", t->between_ns},
		     {"compute", t->compute_ns}, {"send", t->send_ns}, {"overlap", t->overlap_ns},
		     {"sum", bench_taxes_sum(t)}};
	const bool times = bench_taxes_have_times(world);
	if (!t->measured)
		return json_null();
	json_t *taxes = json_pack("{s:i, s:o, s:f, s:f}", "launches", t->launches, "meetings",
				  t->met ? json_integer(t->idling.meetings) : json_null(),
				  "between_bytes", t->between_bytes, "send_bytes", t->send_bytes);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		char key[BENCH_KEY_TEXT];
		(void)snprintf(key, sizeof key, "%s_ns", parts[i].key);
		(void)json_object_set_new(taxes, key, ns_json(parts[i].ns, times));
		(void)snprintf(key, sizeof key, "%s_share", parts[i].key);
		(void)json_object_set_new(taxes, key, share_json(t, parts[i].ns));
	}
	(void)json_object_set_new(taxes, "recorded_share",
				  share_json(t, t->idling.known ? t->idling.run_ns : -1));
	return taxes;
}
