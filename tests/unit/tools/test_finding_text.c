/*
 * How findings are told apart and printed, and how a graph of who waits for
 * whom is drawn.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample_findings.h"
#include "tools/check/finding_text.h"

Test(findings, are_one_by_class_sites_and_allocation)
{
	tsr_finding_t one = race(), other = race();
	other.access[0] = one.access[1];
	other.access[1] = one.access[0];
	other.access[0].who.block = 77;
	char *a = tsr_finding_key(&one), *b = tsr_finding_key(&other);
	cr_assert_str_eq(a, b); /* whichever comes first, and whoever it is */
	free(b);
	other.access[0].line++;
	b = tsr_finding_key(&other);
	cr_assert(strcmp(a, b) != 0);
	free(b);
	other = race();
	other.access[0].allocation = "outbox";
	b = tsr_finding_key(&other);
	cr_assert(strcmp(a, b) != 0);
	free(b);
	other = race();
	other.class = TSR_FINDING_REUSE;
	b = tsr_finding_key(&other);
	cr_assert(strcmp(a, b) != 0);
	free(b);
	free(a);
}

/** The key of a program that fails with this text; the caller frees it. */
static char *failure_key(const char *text)
{
	const tsr_finding_t f = {.class = TSR_FINDING_PROGRAM_FAILURE, .message = text};
	return tsr_finding_key(&f);
}

Test(findings, of_failures_are_one_whatever_their_numbers)
{
	char *a = failure_key("rank 0 ended with exit code 1: 17 of 64 are wrong, by 0.25"),
	     *b = failure_key("rank 12 ended with exit code 1: 3 of 64 are wrong, by 1.5"),
	     *c = failure_key("rank 0 ended with exit code 1: 17 of 64 are missing, by 0.25");
	cr_assert_str_eq(a, b);
	cr_assert(strcmp(a, c) != 0);
	free(a);
	free(b);
	free(c);
}

static char *printed(const tsr_finding_t *finding)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	tsr_finding_print(finding, out);
	fclose(out);
	return text;
}

Test(findings, are_printed_with_who_where_and_what)
{
	tsr_finding_t f =
		linked(TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM, TSR_VIEWS_ACQUIRE, TSR_VIEWS_SYSTEM);
	static const char *const wanted[] = {
		"finding: data-race: ",
		"tsr_get at kernel.c:40: read, plain",
		"tsr_put at kernel.c:28: write, plain",
		"rank 1, kernel send (f32), launch 2, block 0, worker 0, tile (0, 64)\n",
		"'inbox'+4096 (64 bytes) of rank 1\n",
		"tsr_atomic_store at kernel.c:30: write, relaxed at system scope",
		"\n  missing ",
		"\n  change ",
	};
	f.access[0].tiled = true;
	f.access[0].col = 64;
	char *text = printed(&f);
	int lines = 0, column = 0;
	for (const char *c = text; *c != '\0'; c++) {
		column = *c == '\n' ? 0 : column + 1;
		lines += *c == '\n';
		cr_assert(column <= 132);
	}
	cr_assert(lines >= 5 && lines <= 20, "%d lines", lines);
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		cr_assert(strstr(text, wanted[i]) != NULL, "no '%s' in\n%s", wanted[i], text);
	free(text);
}

Test(findings, say_how_large_an_allocation_is_that_was_left)
{
	tsr_finding_t f = race();
	f.class = TSR_FINDING_OUT_OF_BOUNDS;
	f.accesses = 1;
	f.access[0].allocation_bytes = 4100;
	char *text = printed(&f);
	cr_assert(strstr(text, "'inbox'+4096 (64 bytes) of rank 1, which has 4100 bytes") != NULL,
		  "%s", text);
	free(text);
}

Test(findings, draw_the_shortest_cycle_and_list_the_others)
{
	const tsr_finding_node_t nodes[] = {
		{.who = worker_of(2, 0, 0), .state = "waits for 'c'"},
		{.who = worker_of(0, 0, 0),
		 .state = "waits for 'a'",
		 .call = "tsr_wait",
		 .file = "k.c",
		 .line = 9},
		{.who = worker_of(3, 0, 0), .state = "waits for 'd'"},
		{.who = worker_of(1, 0, 0), .state = "waits for 'b'"},
		{.who = {.rank = -1}, .name = "a place on rank 0", .state = "8 of 8 are taken"},
	};
	/* 1 -> 3 -> 1 is the cycle; 1 -> 2 -> 3 -> 1 is longer; 0 waits for it, and 4 is a
	 * thing. */
	const tsr_finding_edge_t edges[] = {{0, 1, NULL}, {1, 2, NULL}, {1, 3, "its signal"},
					    {2, 3, NULL}, {3, 1, NULL}, {0, 4, NULL}};
	const tsr_finding_t f = {.class = TSR_FINDING_DEADLOCK,
				 .nodes = nodes,
				 .node_count = 5,
				 .edges = edges,
				 .edge_count = 6};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	tsr_finding_print_graph(&f, out);
	fclose(out);
	cr_assert_str_eq(
		text,
		"  the circle\n"
		"    +-> [1] rank 0, kernel send (f32), launch 2, block 0, worker 0: waits for 'a' "
		"(tsr_wait at k.c:9)\n"
		"    |    | waits for [3] (its signal)\n"
		"    |   [3] rank 1, kernel send (f32), launch 2, block 0, worker 0: waits for "
		"'b'\n"
		"    +--  | waits for [1]\n"
		"  the others\n"
		"    [0] rank 2, kernel send (f32), launch 2, block 0, worker 0: waits for 'c'\n"
		"        waits for [1], [4]\n"
		"    [2] rank 3, kernel send (f32), launch 2, block 0, worker 0: waits for 'd'\n"
		"        waits for [3]\n"
		"    [4] a place on rank 0: 8 of 8 are taken\n");
	free(text);
}

Test(findings, draw_a_chain_without_a_cycle)
{
	const tsr_finding_node_t nodes[] = {{.name = "a"}, {.name = "b"}};
	const tsr_finding_edge_t edges[] = {{0, 1, NULL}};
	const tsr_finding_t f = {.class = TSR_FINDING_LOST_SIGNAL,
				 .nodes = nodes,
				 .node_count = 2,
				 .edges = edges,
				 .edge_count = 1};
	char *text = printed(&f);
	cr_assert(strstr(text, "  who waits\n    [0] a\n        waits for [1]\n    [1] b\n") !=
			  NULL,
		  "%s", text);
	free(text);
}
