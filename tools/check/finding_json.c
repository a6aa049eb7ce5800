/* Findings from and to JSON. */
#include "tools/check/finding_json.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/program.h"
#include "tools/check/finding_text.h"

/** What tsr_finding_parse hands out: the finding first, and what it borrows from. */
typedef struct finding_read {
	tsr_finding_t finding;
	json_t *json;
	tsr_finding_node_t *nodes;
	tsr_finding_edge_t *edges;
} finding_read_t;

/* ---------------------------------------------------------------- reading */

/** Members that are missing, or of another type, are what is not known. */
static const char *text_of(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static int int_of(const json_t *object, const char *name, int missing)
{
	const json_t *member = json_object_get(object, name);
	const json_int_t value = json_integer_value(member);
	return json_is_integer(member) && value >= INT_MIN && value <= INT_MAX ? (int)value
									       : missing;
}

static uint64_t uint_of(const json_t *object, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(object, name));
}

static const char *kind_name(int kind)
{
	return tsr_finding_kind_name((tsr_finding_kind_t)kind);
}

static const char *order_name(int order)
{
	return tsr_finding_order_name((tsr_views_order_t)order);
}

static const char *scope_name(int scope)
{
	return tsr_finding_scope_name((tsr_views_scope_t)scope);
}

/** Which of the names that `name_of` gives the member is; the first where it is none of them. */
static int enum_of(const json_t *object, const char *member, const char *(*name_of)(int), int count)
{
	const char *text = text_of(object, member);
	for (int i = 0; text != NULL && i < count; i++)
		if (strcmp(name_of(i), text) == 0)
			return i;
	return 0;
}

static tsr_finding_who_t who_of(const json_t *object)
{
	return (tsr_finding_who_t){.rank = int_of(object, "rank", -1),
				   .kernel = text_of(object, "kernel"),
				   .team = text_of(object, "team"),
				   .team_rank = int_of(object, "team_rank", 0),
				   .variant = text_of(object, "variant"),
				   .launch = int_of(object, "launch", -1),
				   .block = int_of(object, "block", -1),
				   .worker = int_of(object, "worker", -1)};
}

static tsr_finding_form_t form_of(const json_t *object)
{
	const json_t *shape = json_object_get(object, "shape");
	const size_t dims = json_array_size(shape);
	tsr_finding_form_t form = {.element_bytes = uint_of(object, "element_bytes")};
	form.dims = dims <= TSR_FINDING_DIMS ? (int)dims : 0;
	for (int i = 0; i < form.dims; i++)
		form.shape[i] = (uint64_t)json_integer_value(json_array_get(shape, (size_t)i));
	return form;
}

static tsr_finding_access_t access_of(const json_t *object)
{
	const json_t *tile = json_object_get(object, "tile");
	return (tsr_finding_access_t){
		.who = who_of(object),
		.call = text_of(object, "call"),
		.kind = (tsr_finding_kind_t)enum_of(object, "kind", kind_name,
						    TSR_FINDING_CALL + 1),
		.file = text_of(object, "file"),
		.line = int_of(object, "line", 0),
		.tiled = json_array_size(tile) == 2,
		.row = json_integer_value(json_array_get(tile, 0)),
		.col = json_integer_value(json_array_get(tile, 1)),
		.target = int_of(object, "target", -1),
		.allocation = text_of(object, "allocation"),
		.allocation_bytes = uint_of(object, "allocation_bytes"),
		.form = form_of(object),
		.offset = uint_of(object, "offset"),
		.bytes = uint_of(object, "bytes"),
		.order = (tsr_views_order_t)enum_of(object, "order", order_name,
						    TSR_VIEWS_SEQ_CST + 1),
		.scope = (tsr_views_scope_t)enum_of(object, "scope", scope_name, TSR_VIEWS_SCOPES),
		.valued = json_object_get(object, "expected") != NULL,
		.expected = uint_of(object, "expected"),
		.seen = uint_of(object, "seen")};
}

static tsr_status_t parse_graph(json_t *object, finding_read_t *read)
{
	tsr_finding_t *f = &read->finding;
	const json_t *nodes = json_object_get(object, "nodes"),
		     *edges = json_object_get(object, "edges");
	const size_t node_count = json_array_size(nodes), edge_count = json_array_size(edges);
	read->nodes = calloc(node_count + 1, sizeof *read->nodes);
	read->edges = calloc(edge_count + 1, sizeof *read->edges);
	if (read->nodes == NULL || read->edges == NULL)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for a wait-for graph; free some");
	for (size_t i = 0; i < node_count; i++) {
		const json_t *node = json_array_get(nodes, i);
		read->nodes[i] = (tsr_finding_node_t){.who = who_of(node),
						      .name = text_of(node, "name"),
						      .call = text_of(node, "call"),
						      .file = text_of(node, "file"),
						      .line = int_of(node, "line", 0),
						      .state = text_of(node, "state")};
	}
	for (size_t i = 0; i < edge_count; i++) {
		const json_t *edge = json_array_get(edges, i);
		const int from = int_of(edge, "from", -1), to = int_of(edge, "to", -1);
		if (from < 0 || to < 0 || (size_t)from >= node_count || (size_t)to >= node_count)
			return tsr_error(TSR_ERR_CONFIG,
					 "a finding has an edge from or to a node that it has not");
		read->edges[i] =
			(tsr_finding_edge_t){.from = from, .to = to, .why = text_of(edge, "why")};
	}
	f->nodes = read->nodes;
	f->edges = read->edges;
	f->node_count = (int)node_count;
	f->edge_count = (int)edge_count;
	return TSR_OK;
}

static tsr_status_t parse_finding(json_t *object, finding_read_t *read)
{
	tsr_finding_t *f = &read->finding;
	const char *class = text_of(object, "class"), *severity = text_of(object, "severity");
	const json_t *access = json_object_get(object, "access");
	if (class == NULL || !tsr_finding_class_parse(class, &f->class))
		return tsr_error(TSR_ERR_CONFIG, "a finding has the class '%s', which there is not",
				 class != NULL ? class : "");
	f->severity = tsr_finding_class_severity(f->class);
	if (severity != NULL)
		f->severity =
			strcmp(severity, "warning") == 0 ? TSR_FINDING_WARNING : TSR_FINDING_ERROR;
	if (json_array_size(access) > TSR_FINDING_ACCESSES)
		return tsr_error(TSR_ERR_CONFIG, "a finding has %zu accesses; the most are %d",
				 json_array_size(access), TSR_FINDING_ACCESSES);
	f->accesses = (int)json_array_size(access);
	for (int i = 0; i < f->accesses; i++)
		f->access[i] = access_of(json_array_get(access, (size_t)i));
	f->message = text_of(object, "message");
	f->early = json_is_true(json_object_get(object, "early"));
	f->blames_loop = json_is_true(json_object_get(object, "blames_loop"));
	f->missing = text_of(object, "missing");
	f->change = text_of(object, "change");
	return parse_graph(object, read);
}

tsr_status_t tsr_finding_parse(json_t *object, tsr_finding_t **finding_out)
{
	finding_read_t *read = calloc(1, sizeof *read);
	if (read == NULL)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for a finding; free some");
	read->json = json_incref(object);
	const tsr_status_t status = parse_finding(object, read);
	if (status == TSR_OK)
		*finding_out = &read->finding;
	else
		tsr_finding_free(&read->finding);
	return status;
}

void tsr_finding_free(tsr_finding_t *finding)
{
	finding_read_t *read = (finding_read_t *)finding;
	if (read == NULL)
		return;
	json_decref(read->json);
	free(read->nodes);
	free(read->edges);
	free(read);
}

tsr_status_t tsr_finding_parse_script(const json_t *array, tsr_check_script_t *script_out)
{
	const size_t count = json_array_size(array);
	tsr_check_script_t script = {.count = count,
				     .at = count > 0 ? malloc(count * sizeof *script.at) : NULL};
	if (count > 0 && script.at == NULL)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for a schedule; free some");
	for (size_t i = 0; i < count; i++) {
		const json_t *pair = json_array_get(array, i), *choice = json_array_get(pair, 0),
			     *other = json_array_get(pair, 1);
		if (!json_is_integer(choice) || !json_is_integer(other)) {
			free(script.at);
			return tsr_error(
				TSR_ERR_CONFIG,
				"a schedule has a deviation that is not [choice, alternative]");
		}
		script.at[i] =
			(tsr_check_deviation_t){.choice = (uint64_t)json_integer_value(choice),
						.alternative = (uint32_t)json_integer_value(other)};
	}
	*script_out = script;
	return TSR_OK;
}

/* ---------------------------------------------------------------- writing */

json_t *tsr_finding_json(const tsr_finding_t *finding)
{
	const finding_read_t *read = (const finding_read_t *)finding;
	tsr_finding_advice_t advice;
	tsr_finding_advise(finding, &advice);
	json_t *script = json_array(), *object = json_copy(read->json);
	for (size_t i = 0; i < finding->script.count; i++)
		(void)json_array_append_new(
			script, json_pack("[I, I]", (json_int_t)finding->script.at[i].choice,
					  (json_int_t)finding->script.at[i].alternative));
	json_t *more =
		json_pack("{s:s, s:s, s:I, s:o}", "missing", advice.missing, "change",
			  advice.change, "seed", (json_int_t)finding->seed, "script", script);
	if (object == NULL || more == NULL || json_object_update(object, more) != 0 ||
	    json_object_del(object, "type") != 0) {
		json_decref(object);
		object = NULL;
	}
	json_decref(more);
	if (object != NULL) /* the command has looked into it */
		(void)json_object_del(object, "blames_loop");
	return object;
}
