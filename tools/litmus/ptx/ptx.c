/*
 * From a plan to PTX: the frame that deals blocks and lanes their parts, and
 * the straight code of each thread of the test.
 */
#include "tools/litmus/ptx/ptx.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/program.h"

enum { WARP = 32, ACCESS_CHARS = 96 };

#define AT(field_) (int)offsetof(litmus_ptx_args_t, field_)

/** Text that grows, and what it is about. */
typedef struct writer {
	FILE *file;
	const litmus_plan_t *plan;
	const litmus_run_args_t *part; /* the device's */
	litmus_ptx_shape_t shape;
} writer_t;

__attribute__((format(printf, 2, 3))) static void say(const writer_t *w, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	(void)fputc('\t', w->file);
	(void)vfprintf(w->file, format, arguments); /* what fails shows when the file is closed */
	(void)fputc('\n', w->file);
	va_end(arguments);
}

static void label(const writer_t *w, const char *name)
{
	(void)fprintf(w->file, "%s:\n", name);
}

static void load_u32(const writer_t *w, const char *reg, int offset)
{
	say(w, "ld.param.u32 %%%s, [args+%d];", reg, offset);
}

static void load_u64(const writer_t *w, const char *reg, int offset)
{
	say(w, "ld.param.u64 %%%s, [args+%d];", reg, offset);
}

/** Goes to `target` where the comparison of the operands, such as "ne.u32" of "%lane, 0", holds. */
static void go_where(const writer_t *w, const char *target, const char *comparison,
		     const char *operands)
{
	say(w, "setp.%s %%no, %s;", comparison, operands);
	say(w, "@%%no bra %s;", target);
}

/* ----------------------------------------------------------- the code of one thread of the test */

static void write_operand(const writer_t *w, const char *reg, litmus_run_operand_t operand)
{
	if (operand.reg >= 0)
		say(w, "mov.b64 %%%s, %%x%d;", reg, operand.reg);
	else
		say(w, "mov.b64 %%%s, %d;", reg, operand.number);
}

/**
 * function(a, b) into %v. To both operands a zero is added that the compiler
 * does not know: it would see that x ^ x and x & 0 are 0, and the access behind
 * would depend on nothing any more.
 */
static void write_value(const writer_t *w, const litmus_run_step_t *step)
{
	static const char *const plain[] = {
		[LITMUS_RUN_SUM] = "add.s64", [LITMUS_RUN_XOR] = "xor.b64",
		[LITMUS_RUN_AND] = "and.b64", [LITMUS_RUN_OR] = "or.b64",
		[LITMUS_RUN_MIN] = "min.s64", [LITMUS_RUN_MAX] = "max.s64",
	};
	const bool compares =
		step->function == LITMUS_RUN_EQUAL || step->function == LITMUS_RUN_UNEQUAL;

	write_operand(w, "v", step->a);
	if (step->function == LITMUS_RUN_COPY)
		return;
	write_operand(w, "u", step->b);
	say(w, "add.s64 %%u, %%u, %%zero;");
	if (step->a.reg < 0)
		say(w, "add.s64 %%v, %%v, %%zero;");
	if (compares) {
		say(w, "setp.%s.s64 %%no, %%v, %%u;",
		    step->function == LITMUS_RUN_EQUAL ? "eq" : "ne");
		say(w, "selp.b64 %%v, 1, 0, %%no;");
	} else {
		say(w, "%s %%v, %%v, %%u;", plain[step->function]);
	}
}

/** The last instruction of the sequence is the access, what is before it are fences. */
static void write_access(const writer_t *w, const litmus_run_step_t *step)
{
	char text[ACCESS_CHARS] = "";
	/* which no compiler takes */
	const char *name = litmus_ptx_access(step, text, sizeof text) ? text : "unknown";
	const char *separator = strstr(name, "; ");

	if (separator) {
		say(w, "%.*s;", (int)(separator - name), name);
		name = separator + 2;
	}
	switch (step->op) {
	case LITMUS_RUN_FENCE:
		say(w, "%s;", name);
		break;
	case LITMUS_RUN_LOAD:
		say(w, "%s %%x%d, [%%a%d];", name, step->reg, step->location);
		break;
	case LITMUS_RUN_STORE:
		say(w, "%s [%%a%d], %%v;", name, step->location);
		break;
	case LITMUS_RUN_CAS:
		say(w, "%s %%x%d, [%%a%d], %%e, %%v;", name, step->reg, step->location);
		break;
	default:
		say(w, "%s %%x%d, [%%a%d], %%v;", name, step->reg, step->location);
	}
}

static bool writes_memory(const litmus_run_step_t *step)
{
	return step->op == LITMUS_RUN_STORE || step->op == LITMUS_RUN_ADD ||
	       step->op == LITMUS_RUN_XCHG || step->op == LITMUS_RUN_CAS;
}

static void write_step(const writer_t *w, const litmus_run_step_t *step)
{
	if (writes_memory(step) || step->op == LITMUS_RUN_MOVE || step->op == LITMUS_RUN_JUMP)
		write_value(w, step);
	switch (step->op) {
	case LITMUS_RUN_MOVE:
		say(w, "mov.b64 %%x%d, %%v;", step->reg);
		break;
	case LITMUS_RUN_JUMP:
		say(w, "setp.ne.s64 %%no, %%v, 0;");
		say(w, "@%%no bra step_%d;", step->target);
		break;
	case LITMUS_RUN_CAS:
		write_operand(w, "e", step->expected);
		write_access(w, step);
		break;
	default:
		write_access(w, step);
	}
}

static bool is_touched(const writer_t *w, int thread, int location)
{
	for (int at = 0; at < w->part->steps[thread]; at++) {
		const litmus_run_step_t *step = &w->part->step[thread][at];
		if ((writes_memory(step) || step->op == LITMUS_RUN_LOAD) &&
		    step->location == location)
			return true;
	}
	return false;
}

/**
 * What an access has read is left too, or the compiler would take the access
 * for a weaker one, or for none.
 */
static bool is_left(const writer_t *w, int thread, int reg)
{
	const litmus_test_t *test = w->plan->test;

	for (int i = 0; i < test->observed_count; i++)
		if (test->observed[i].thread == thread && test->observed[i].index == reg)
			return true;
	for (int at = 0; at < w->part->steps[thread]; at++) {
		const litmus_run_step_t *step = &w->part->step[thread][at];
		if (step->op != LITMUS_RUN_MOVE && step->reg == reg)
			return true;
	}
	return false;
}

/* ------------------------------------------------ an instance, as a thread of the test meets it */

/** Before the meeting, so that nothing but the test comes after it. */
static void write_addresses(const writer_t *w, int thread)
{
	for (int x = 0; x < w->plan->test->locations; x++) {
		if (!is_touched(w, thread, x))
			continue;
		load_u32(w, "t", AT(multiplier) + 4 * x);
		say(w, "mul.lo.u32 %%t, %%t, %%i;");
		say(w, "and.b32 %%t, %%t, %%last;");
		load_u64(w, "word", AT(location) + 8 * x);
		say(w, "mad.wide.u32 %%a%d, %%t, %d, %%word;", x, LITMUS_PTX_STRIDE);
	}
}

/**
 * The warps that play the same instances meet. Relaxed: it must order nothing
 * of the test. Who does not come in time is not waited for, and less and less:
 * that costs chances, not truth.
 */
static void write_pace(const writer_t *w)
{
	say(w, "bar.warp.sync 0xffffffff;");
	say(w, "add.u32 %%target, %%target, %d;", w->plan->test->threads);
	go_where(w, "met", "eq.u32", "%patience, 0");
	say(w, "and.b32 %%t, %%lane, %d;", WARP - 1);
	go_where(w, "met", "ne.u32", "%t, 0");
	say(w, "atom.add.relaxed.sys.u32 %%here, [%%pace], 1;");
	say(w, "mov.u32 %%looks, %%patience;");
	label(w, "look");
	say(w, "ld.relaxed.sys.u32 %%here, [%%pace];");
	go_where(w, "met", "ge.u32", "%here, %target");
	say(w, "sub.u32 %%looks, %%looks, 1;");
	go_where(w, "look", "ne.u32", "%looks, 0");
	say(w, "shr.u32 %%patience, %%patience, 1;");
	say(w, "add.u32 %%patience, %%patience, 4;");
	label(w, "met");
	say(w, "bar.warp.sync 0xffffffff;");
}

/**
 * Each warp lets some cycles pass, so that its accesses meet those of the
 * others in every phase.
 */
static void write_jitter(const writer_t *w, int thread)
{
	load_u32(w, "delay", AT(skew) + 4 * thread);
	load_u32(w, "t", AT(seed));
	say(w, "shr.u32 %%here, %%i, 5;");
	say(w, "mad.lo.u32 %%t, %%here, %u, %%t;", 2654435761u + 2 * (unsigned)thread);
	say(w, "mul.lo.u32 %%t, %%t, 2246822519;");
	say(w, "shr.u32 %%here, %%t, 15;");
	say(w, "xor.b32 %%t, %%t, %%here;");
	load_u32(w, "here", AT(jitter));
	say(w, "and.b32 %%t, %%t, %%here;");
	say(w, "add.u32 %%delay, %%delay, %%t;");
	say(w, "mov.u32 %%begin, %%clock;");
	label(w, "rest");
	say(w, "mov.u32 %%here, %%clock;");
	say(w, "sub.u32 %%here, %%here, %%begin;");
	go_where(w, "rest", "lt.u32", "%here, %delay");
	say(w, "bar.warp.sync 0xffffffff;");
}

static void write_leaving(const writer_t *w, int thread)
{
	for (int r = 0; r < LITMUS_RUN_REGISTERS; r++) {
		if (!is_left(w, thread, r))
			continue;
		say(w, "mad.lo.u32 %%t, %%instances, %d, %%i;", thread * LITMUS_RUN_REGISTERS + r);
		say(w, "mad.wide.u32 %%word, %%t, 8, %%results;");
		say(w, "st.weak.b64 [%%word], %%x%d;", r);
	}
}

static void write_code(const writer_t *w, int thread)
{
	const int steps = w->part->steps[thread];

	for (int r = 0; r < LITMUS_RUN_REGISTERS; r++)
		say(w, "mov.b64 %%x%d, %d;", r, w->part->initial[thread][r]);
	for (int at = 0; at <= steps; at++) {
		(void)fprintf(w->file, "step_%d:\n", at);
		if (at < steps)
			write_step(w, &w->part->step[thread][at]);
	}
}

static void write_thread(const writer_t *w, int thread)
{
	(void)fprintf(w->file, "thread_%d:\n\t{\n", thread);
	say(w, ".reg .b64 %%x<%d>, %%a<%d>, %%v, %%u, %%e;", LITMUS_RUN_REGISTERS,
	    LITMUS_RUN_LOCATIONS);
	label(w, "instance");
	go_where(w, "done", "ge.u32", "%i, %instances");
	write_addresses(w, thread);
	write_pace(w);
	write_jitter(w, thread);
	write_code(w, thread);
	write_leaving(w, thread);
	say(w, "add.u32 %%i, %%i, %%step;");
	say(w, "bra instance;");
	label(w, "done");
	say(w, "ret;");
	(void)fputs("\t}\n", w->file);
}

/* ------------------------------------------------------------------ the frame */

static void write_start(const writer_t *w)
{
	load_u64(w, "pace", AT(meetings));
	say(w, "mov.u32 %%lane, %%tid.x;");
	go_where(w, "started", "ne.u32", "%lane, 0");
	load_u64(w, "patience_ns", AT(start_ns));
	load_u32(w, "target", AT(arrivals));
	say(w, "mov.u64 %%began, %%globaltimer;");
	say(w, "mov.u32 %%block, %%ctaid.x;");
	go_where(w, "start", "ne.u32", "%block, 0");
	/* a kernel's first block comes for all */
	say(w, "atom.add.relaxed.sys.u32 %%here, [%%pace], 1;");
	label(w, "start");
	say(w, "ld.relaxed.sys.u32 %%here, [%%pace];");
	go_where(w, "started", "ge.u32", "%here, %target");
	say(w, "mov.u64 %%word, %%globaltimer;");
	say(w, "sub.u64 %%word, %%word, %%began;");
	go_where(w, "start", "lt.u64", "%word, %patience_ns");
	label(w, "started");
	say(w, "bar.sync 0;");
}

static void write_dealing(const writer_t *w)
{
	const int classes = w->part->classes;

	load_u32(w, "teams", AT(teams));
	load_u32(w, "t", AT(turn));
	say(w, "mov.u32 %%block, %%ctaid.x;");
	say(w, "mov.u32 %%blocks, %%nctaid.x;");
	say(w, "add.u32 %%block, %%block, %%t;");
	say(w, "rem.u32 %%block, %%block, %%blocks;");
	say(w, "mul.lo.u32 %%t, %%teams, %d;", classes);
	go_where(w, "stress", "ge.u32", "%block, %t");
	load_u32(w, "t", AT(apart));
	go_where(w, "apart", "ne.u32", "%t, 0");
	say(w, "rem.u32 %%class, %%block, %d;", classes);
	say(w, "div.u32 %%team, %%block, %d;", classes);
	say(w, "bra dealt;");
	label(w, "apart");
	say(w, "div.u32 %%class, %%block, %%teams;");
	say(w, "rem.u32 %%team, %%block, %%teams;");
	label(w, "dealt");
}

/** With class and team known: which thread of the test, which instances, where its warps meet. */
static void write_parts(const writer_t *w)
{
	const int lanes = w->shape.lanes;

	say(w, "div.u32 %%worker, %%lane, %d;", lanes);
	say(w, "and.b32 %%lane, %%lane, %d;", lanes - 1);
	load_u64(w, "zero", AT(zero));
	load_u64(w, "results", AT(results));
	load_u32(w, "patience", AT(patience));
	say(w, "mov.u32 %%target, 0;");
	say(w, "mad.lo.u32 %%i, %%team, %d, %%lane;", lanes);
	say(w, "mul.lo.u32 %%step, %%teams, %d;", lanes);
	say(w, "shr.u32 %%t, %%i, 5;");
	say(w, "mad.wide.u32 %%pace, %%t, %d, %%pace;", LITMUS_PTX_PACE_STRIDE);
	say(w, "add.u64 %%pace, %%pace, %d;", LITMUS_PTX_PACE_OFFSET);
	say(w, "mad.lo.u32 %%class, %%class, %d, %%worker;", LITMUS_RUN_WORKERS);
	for (int class = 0; class < w->part->classes; class ++)
		for (int worker = 0; worker < LITMUS_RUN_WORKERS; worker++)
			if (w->part->player[class][worker] >= 0) {
				say(w, "setp.eq.u32 %%no, %%class, %d;",
				    class * LITMUS_RUN_WORKERS + worker);
				say(w, "@%%no bra thread_%d;", w->part->player[class][worker]);
			}
	say(w, "ret;");
}

/**
 * Reads, writes and adds to the three words behind each location, wherever it
 * lies: nothing that the test looks at.
 */
static void write_stress(const writer_t *w)
{
	label(w, "stress");
	load_u32(w, "looks", AT(rounds));
	load_u32(w, "t", AT(seed));
	say(w, "mov.u32 %%blocks, %%ntid.x;");
	say(w, "mad.lo.u32 %%i, %%block, %%blocks, %%lane;");
	say(w, "mad.lo.u32 %%i, %%i, 2654435761, %%t;");
	label(w, "round");
	go_where(w, "rested", "eq.u32", "%looks, 0");
	for (int x = 0; x < w->plan->test->locations; x++) {
		load_u64(w, "word", AT(location) + 8 * x);
		say(w, "mad.lo.u32 %%i, %%i, 1664525, 1013904223;");
		say(w, "shr.u32 %%t, %%i, 8;");
		say(w, "and.b32 %%t, %%t, %%last;");
		say(w, "mad.wide.u32 %%word, %%t, %d, %%word;", LITMUS_PTX_STRIDE);
		say(w, "st.relaxed.sys.u32 [%%word+8], %%i;");
		say(w, "ld.relaxed.sys.u32 %%t, [%%word+16];");
		say(w, "add.u32 %%i, %%i, %%t;"); /* which is 0 */
		say(w, "red.add.relaxed.sys.u32 [%%word+24], 1;");
	}
	say(w, "sub.u32 %%looks, %%looks, 1;");
	say(w, "bra round;");
	label(w, "rested");
	say(w, "ret;");
}

static void write_module(const writer_t *w)
{
	(void)fprintf(w->file, "// %s\n.version 8.6\n.target sm_90\n.address_size 64\n",
		      w->plan->test->name);
	(void)fprintf(w->file,
		      ".visible .entry " LITMUS_PTX_KERNEL
		      "(.param .align 8 .b8 args[%zu])\n.maxntid %d, 1, 1\n{\n",
		      sizeof(litmus_ptx_args_t), LITMUS_PTX_THREADS);
	say(w, ".reg .pred %%no;");
	say(w, ".reg .b32 %%block, %%blocks, %%teams, %%team, %%class, %%worker, %%lane, %%i, "
	       "%%step, %%instances, %%last;");
	say(w, ".reg .b32 %%t, %%here, %%target, %%looks, %%patience, %%delay, %%begin;");
	say(w, ".reg .b64 %%word, %%zero, %%results, %%pace, %%began, %%patience_ns;");
	write_start(w);
	load_u32(w, "instances", AT(instances));
	say(w, "sub.u32 %%last, %%instances, 1;");
	write_dealing(w);
	write_parts(w);
	for (int t = 0; t < w->plan->test->threads; t++)
		if (&w->plan->args[w->plan->device[t]] == w->part)
			write_thread(w, t);
	write_stress(w);
	(void)fputs("}\n", w->file);
}

litmus_ptx_shape_t litmus_ptx_shape(const litmus_plan_t *plan)
{
	int workers = 1;

	for (int d = 0; d < plan->devices; d++)
		for (int class = 0; class < plan->classes[d]; class ++)
			for (int worker = 0; worker < LITMUS_RUN_WORKERS; worker++)
				if (plan->args[d].player[class][worker] >= 0 && worker >= workers)
					workers = worker + 1;
	int lanes = LITMUS_PTX_THREADS;
	while (lanes * workers > LITMUS_PTX_THREADS)
		lanes /= 2;
	return (litmus_ptx_shape_t){lanes, lanes * workers};
}

tsr_status_t litmus_ptx(const litmus_plan_t *plan, int device, char **text_out)
{
	char *text = NULL;
	size_t size = 0;
	writer_t w = {open_memstream(&text, &size), plan, &plan->args[device],
		      litmus_ptx_shape(plan)};

	if (w.file)
		write_module(&w);
	if (!w.file || ferror(w.file) | fclose(w.file)) {
		free(text);
		return tsr_error(TSR_ERR_NO_MEMORY, "no host memory for the code of %s; free some",
				 plan->test->name);
	}
	*text_out = text;
	return TSR_OK;
}
