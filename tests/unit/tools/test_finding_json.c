/*
 * A finding goes through the line between executor and command, and comes out
 * as it was.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sample_findings.h"
#include "src/explore/wire/protocol.h"
#include "tessera/program.h"
#include "tools/check/finding_json.h"

/** Sends it through a pipe, and reads what comes out; null: no such line, or not JSON. */
static json_t *line_of(const tsr_finding_t *finding)
{
	static tsr_report_t report;
	char text[1 << 16];
	int fds[2];
	cr_assert_eq(pipe(fds), 0);
	tsr_report_open(&report, fds[1]);
	tsr_report_finding(&report, finding);
	close(fds[1]);
	size_t used = 0;
	for (ssize_t got; (got = read(fds[0], text + used, sizeof text - used)) > 0;)
		used += (size_t)got;
	close(fds[0]);
	cr_assert(used > 2 && text[0] == '\n' && text[used - 1] == '\n');
	cr_assert(memchr(text + 1, '\n', used - 2) == NULL);
	return json_loadb(text, used, 0, NULL);
}

static tsr_finding_t *through(const tsr_finding_t *finding)
{
	tsr_finding_t *read = NULL;
	json_t *line = line_of(finding);
	cr_assert(line != NULL);
	cr_assert_str_eq(json_string_value(json_object_get(line, "type")), "finding");
	cr_assert_eq(tsr_finding_parse(line, &read), TSR_OK, "%s", tsr_last_error());
	json_decref(line);
	return read;
}

static void assert_same_text(const char *a, const char *b)
{
	cr_assert_eq(a == NULL, b == NULL);
	if (a != NULL)
		cr_assert_str_eq(a, b);
}

static void assert_same_who(const tsr_finding_who_t *a, const tsr_finding_who_t *b)
{
	assert_same_text(a->kernel, b->kernel);
	assert_same_text(a->variant, b->variant);
	cr_assert(a->rank == b->rank && a->launch == b->launch && a->block == b->block &&
		  a->worker == b->worker);
}

static void assert_same_access(const tsr_finding_access_t *a, const tsr_finding_access_t *b)
{
	assert_same_who(&a->who, &b->who);
	assert_same_text(a->call, b->call);
	assert_same_text(a->file, b->file);
	assert_same_text(a->allocation, b->allocation);
	cr_assert(a->kind == b->kind && a->line == b->line && a->tiled == b->tiled &&
		  a->row == b->row && a->col == b->col);
	cr_assert(a->target == b->target && a->allocation_bytes == b->allocation_bytes &&
		  a->offset == b->offset);
	cr_assert(a->bytes == b->bytes && a->order == b->order && a->scope == b->scope &&
		  a->valued == b->valued);
	cr_assert(a->expected == b->expected && a->seen == b->seen);
}

Test(findings, go_through_the_line_as_they_are)
{
	const tsr_finding_node_t nodes[] = {
		{.who = worker_of(0, 1, 2),
		 .call = "tsr_wait",
		 .file = "k.c",
		 .line = 7,
		 .state = "waits for \"x\" \\ \n\x01 \xc3\xa9"},
		{.who = {.rank = -1, .launch = -1, .block = -1, .worker = -1},
		 .name = "a place on rank 0"},
	};
	const tsr_finding_edge_t edges[] = {{0, 1, NULL}, {1, 0, "it is taken"}};
	tsr_finding_t sent = race();
	sent.class = TSR_FINDING_RESIDENCY;
	sent.severity = TSR_FINDING_WARNING;
	sent.access[0].tiled = true;
	sent.access[0].row = -16;
	sent.access[0].col = (int64_t)1 << 60;
	sent.access[0].allocation_bytes = 8192;
	sent.access[1] = ordered(sent.access[1], TSR_VIEWS_ACQ_REL, TSR_VIEWS_DEVICE);
	sent.access[1].valued = true;
	sent.access[1].expected = UINT64_MAX;
	sent.access[1].seen = UINT64_C(0xa5a5a5a5a5a5a5a5);
	sent.access[2] = TSR_FINDING_NOWHERE;
	sent.access[3] = TSR_FINDING_NOWHERE;
	sent.access[3].call = "tsr_barrier";
	sent.access[3].who.rank = 5;
	sent.accesses = 4;
	sent.message = "said";
	sent.missing = "a";
	sent.change = "b";
	sent.nodes = nodes;
	sent.node_count = 2;
	sent.edges = edges;
	sent.edge_count = 2;
	tsr_finding_t *read = through(&sent);
	cr_assert(read->class == sent.class && read->severity == sent.severity &&
		  read->accesses == 4);
	for (int i = 0; i < 4; i++)
		assert_same_access(&sent.access[i], &read->access[i]);
	assert_same_text(sent.message, read->message);
	assert_same_text(sent.missing, read->missing);
	assert_same_text(sent.change, read->change);
	cr_assert(read->node_count == 2 && read->edge_count == 2);
	for (int i = 0; i < 2; i++) {
		assert_same_who(&nodes[i].who, &read->nodes[i].who);
		assert_same_text(nodes[i].name, read->nodes[i].name);
		assert_same_text(nodes[i].call, read->nodes[i].call);
		assert_same_text(nodes[i].file, read->nodes[i].file);
		assert_same_text(nodes[i].state, read->nodes[i].state);
		cr_assert(edges[i].from == read->edges[i].from && edges[i].to == read->edges[i].to);
		assert_same_text(edges[i].why, read->edges[i].why);
	}
	tsr_finding_free(read);
}

Test(findings, of_every_class_go_through_the_line)
{
	for (int class = 0; class < TSR_FINDING_CLASSES; class ++) {
		tsr_finding_t sent = {.class = (tsr_finding_class_t) class};
		sent.severity = tsr_finding_class_severity(sent.class);
		tsr_finding_t *read = through(&sent);
		cr_assert(read->class == sent.class && read->severity == sent.severity);
		tsr_finding_free(read);
	}
}

Test(findings, that_are_longer_than_the_buffer_go_through)
{
	char *text = malloc(3 * TSR_REPORT_BYTES + 1);
	memset(text, 'x', 3 * TSR_REPORT_BYTES);
	text[3 * TSR_REPORT_BYTES] = '\0';
	tsr_finding_t sent = race();
	sent.message = text;
	tsr_finding_t *read = through(&sent);
	cr_assert_str_eq(read->message, text);
	tsr_finding_free(read);
	free(text);
}

Test(findings, with_text_that_is_not_utf_8_are_still_json)
{
	static const char *const bad[] = {
		"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\xe2\x82"};
	static const char *const good[] = {"?", "?", "??", "???", "????", "a??"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		tsr_finding_t sent = {.message = bad[i]};
		tsr_finding_t *read = through(&sent);
		cr_assert_str_eq(read->message, good[i]);
		tsr_finding_free(read);
	}
}

Test(findings, that_are_malformed_are_refused)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"{}", "''"},
		{"{\"class\":\"datarace\"}", "'datarace'"},
		{"{\"class\":\"misuse\",\"access\":[{},{},{},{},{},{},{},{},{}]}", "9 accesses"},
		{"{\"class\":\"deadlock\",\"nodes\":[{}],\"edges\":[{\"from\":0,\"to\":1}]}",
		 "edge"},
		{"{\"class\":\"deadlock\",\"nodes\":[{}],\"edges\":[7]}", "edge"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		tsr_finding_t *read = NULL;
		json_t *object = json_loads(bad[i].text, 0, NULL);
		cr_assert_eq(tsr_finding_parse(object, &read), TSR_ERR_CONFIG, "%s", bad[i].text);
		cr_assert(read == NULL);
		cr_assert(strstr(tsr_last_error(), bad[i].says) != NULL, "%s", tsr_last_error());
		json_decref(object);
	}
}
