/*
 * Texts of litmus tests without names: equal where only names and the order of
 * threads differ, different otherwise, and soon written for eight threads.
 */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/memory/language/canonical.h"
#include "model/memory/language/weaken.h"
#include "tessera/random.h"

enum { FORM_BYTES = 1 << 14, TEXT_BYTES = 1 << 15, MOST_THREADS = 8, MOST_ROWS = 48, MANY = 100 };

/** A program: what each thread does in each row, at which location, and which GPU it is on. */
typedef struct program {
	int threads, rows, locations;
	int what[MOST_THREADS][MOST_ROWS], where[MOST_THREADS][MOST_ROWS], gpu[MOST_THREADS];
} program_t;

/** What a text calls the program's threads and locations, and in which column a thread stands. */
typedef struct names {
	int thread[MOST_THREADS], location[MOST_THREADS];
} names_t;

static const names_t as_they_are = {{0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}};

typedef struct text {
	char bytes[TEXT_BYTES];
	size_t used;
} text_t;

static void add(text_t *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	text->used += (size_t)vsnprintf(text->bytes + text->used, sizeof text->bytes - text->used,
					format, arguments);
	va_end(arguments);
	cr_assert(text->used < sizeof text->bytes);
}

static void add_row(text_t *text, const program_t *program, const names_t *names, int row)
{
	static const char *const code[] = {"r[acq,system] r0 v%d", "w[rel,agent] v%d 1",
					   "rmw[rlx,system] r1 (add r1 1) v%d"};

	for (int p = 0; p < program->threads; p++) {
		const int t = names->thread[p];
		add(text, code[program->what[t][row]], names->location[program->where[t][row]]);
		add(text, p + 1 < program->threads ? " | " : " ;\n");
	}
}

static void add_scopes(text_t *text, const program_t *program, const names_t *names)
{
	add(text, "scopes: (system");
	for (int gpu = 0; gpu < MOST_THREADS; gpu++) {
		bool any = false;
		for (int p = 0; p < program->threads; p++)
			if (program->gpu[names->thread[p]] == gpu) {
				add(text, any ? "" : " (agent");
				add(text, " (wg (wave (wi %d)))", p);
				any = true;
			}
		add(text, any ? ")" : "");
	}
	add(text, ")\nexists (0:r0=1)\n");
}

static litmus_test_t *parsed(const program_t *program, const names_t *names)
{
	static litmus_test_t test;
	static text_t text;

	text.used = 0;
	add(&text, "LISA drawn\n{ }\n");
	for (int p = 0; p < program->threads; p++)
		add(&text, " P%d %s", p, p + 1 < program->threads ? "|" : ";\n");
	for (int row = 0; row < program->rows; row++)
		add_row(&text, program, names, row);
	add_scopes(&text, program, names);
	cr_assert_eq(litmus_parse("drawn", text.bytes, &test), TSR_OK, "%s\n%s", tsr_last_error(),
		     text.bytes);
	return &test;
}

static int draw(uint64_t *place, int below)
{
	return (int)tsr_random_int(24, (*place)++, 0, below);
}

static void draw_program(program_t *program, uint64_t *place)
{
	*program = (program_t){.threads = 2 + draw(place, 4), .rows = 1 + draw(place, 3)};
	program->locations = 1 + draw(place, 3);
	for (int t = 0; t < program->threads; t++) {
		program->gpu[t] = draw(place, 2);
		for (int row = 0; row < program->rows; row++) {
			program->what[t][row] = draw(place, 3);
			program->where[t][row] = draw(place, program->locations);
		}
	}
}

static void shuffle(int *numbers, int count, uint64_t *place)
{
	for (int i = count - 1; i > 0; i--) {
		const int other = draw(place, i + 1), kept = numbers[i];
		numbers[i] = numbers[other];
		numbers[other] = kept;
	}
}

Test(canonical, names_and_the_order_of_threads_do_not_count)
{
	static char first[FORM_BYTES], second[FORM_BYTES];
	uint64_t place = 0;

	for (int i = 0; i < MANY; i++) {
		program_t program;
		names_t names = as_they_are;
		draw_program(&program, &place);
		litmus_print_canonical(parsed(&program, &as_they_are), first, sizeof first);
		shuffle(names.thread, program.threads, &place);
		shuffle(names.location, program.locations, &place);
		litmus_print_canonical(parsed(&program, &names), second, sizeof second);
		cr_assert_str_eq(first, second, "program %d", i);
		litmus_print_shape(parsed(&program, &as_they_are), first, sizeof first);
		litmus_print_shape(parsed(&program, &names), second, sizeof second);
		cr_assert_str_eq(first, second, "program %d", i);
	}
}

Test(canonical, a_step_weaker_is_another_text)
{
	static char first[FORM_BYTES], second[FORM_BYTES];
	static litmus_test_t weaker;
	uint64_t place = 1 << 20;

	for (int i = 0; i < MANY; i++) {
		program_t program;
		char what[LITMUS_MAX_TEXT];
		draw_program(&program, &place);
		const litmus_test_t *test = parsed(&program, &as_they_are);
		litmus_print_canonical(test, first, sizeof first);
		for (int step = 0; step < litmus_weakenings(test); step++) {
			litmus_weaken(test, step, &weaker, what);
			litmus_print_canonical(&weaker, second, sizeof second);
			cr_assert(strcmp(first, second) != 0, "program %d, %s", i, what);
		}
	}
}

Test(canonical, equal_threads_on_other_gpus_are_no_twins)
{
	static char first[FORM_BYTES], second[FORM_BYTES];
	program_t program = {.threads = 4, .rows = 1, .locations = 1, .gpu = {0, 0, 0, 1}};

	litmus_print_canonical(parsed(&program, &as_they_are), first, sizeof first);
	program.gpu[1] = 1;
	litmus_print_canonical(parsed(&program, &as_they_are), second, sizeof second);
	cr_assert(strcmp(first, second) != 0);
	program.gpu[0] = 1;
	program.gpu[2] = 1;
	program.gpu[1] = 0;
	litmus_print_canonical(parsed(&program, &as_they_are), second, sizeof second);
	cr_assert_str_eq(first, second);
}

Test(canonical, an_address_held_at_the_start_has_no_name)
{
	static const char *const same[] = {
		"LISA a\n{ x; y; 1:r1=x; }\n P0 | P1 ;\n w[rlx,system] x 1 | r[rlx,system] r0 r1 "
		";\n"
		"scopes: (system 0 1)\nexists (1:r0=1)\n",
		"LISA b\n{ x; y; 0:r2=y; }\n P0 | P1 ;\n r[rlx,system] r0 r2 | w[rlx,system] y 1 "
		";\n"
		"scopes: (system 0 1)\nexists (0:r0=1)\n",
	};
	static const char another[] = "LISA c\n{ x; y; 1:r1=y; }\n P0 | P1 ;\n w[rlx,system] x 1 | "
				      "r[rlx,system] r0 r1 ;\n"
				      "scopes: (system 0 1)\nexists (1:r0=1)\n";
	static char first[FORM_BYTES], second[FORM_BYTES];
	static litmus_test_t test;

	cr_assert_eq(litmus_parse("a", same[0], &test), TSR_OK, "%s", tsr_last_error());
	litmus_print_canonical(&test, first, sizeof first);
	cr_assert_eq(litmus_parse("b", same[1], &test), TSR_OK, "%s", tsr_last_error());
	litmus_print_canonical(&test, second, sizeof second);
	cr_assert_str_eq(first, second);
	cr_assert_eq(litmus_parse("c", another, &test), TSR_OK, "%s", tsr_last_error());
	litmus_print_canonical(&test, second, sizeof second);
	cr_assert(strcmp(first, second) != 0);
}

/** Eight threads of 48 instructions each: their 40320 orders took minutes when all were written. */
Test(canonical, eight_long_threads_are_soon_written, .timeout = 20)
{
	static char form[1 << 16];
	program_t program = {.threads = 8, .rows = MOST_ROWS, .locations = 8};

	for (int different = 0; different < 3; different++) {
		for (int t = 0; t < program.threads; t++)
			for (int row = 0; row < program.rows; row++) {
				program.what[t][row] = different == 1 ? (t >> row % 8) % 2 : 0;
				program.where[t][row] = different == 2 ? t : row % 8;
			}
		litmus_print_canonical(parsed(&program, &as_they_are), form, sizeof form);
		cr_assert(form[0] != '\0');
	}
}
