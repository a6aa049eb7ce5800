/* The operations of tessera perf: their names, and what each of them needs. */
#include <stdio.h>
#include <string.h>

#include "tools/perf/perf.h"
#include "tools/usage.h"

enum { OP_LIST_BYTES = 256 };

static const char *const op_names[] = {
	[PERF_PUT] = "put",
	[PERF_GET] = "get",
	[PERF_COPY] = "copy",
	[PERF_LOAD] = "load",
	[PERF_STORE] = "store",
	[PERF_PUT_SIGNAL] = "put-signal",
	[PERF_MARKED] = "marked",
	[PERF_ATOMIC] = "atomic",
	[PERF_SIGNAL] = "signal",
	[PERF_BARRIER] = "barrier",
	[PERF_ALL_GATHER] = "all-gather",
	[PERF_ALL_REDUCE] = "all-reduce",
	[PERF_REDUCE_SCATTER] = "reduce-scatter",
	[PERF_ALL_TO_ALL] = "all-to-all",
	[PERF_BROADCAST] = "broadcast",
	[PERF_REDUCE] = "reduce",
	[PERF_GATHER] = "gather",
	[PERF_SCATTER] = "scatter",
	[PERF_SCATTER + 1] = NULL,
};

const char *perf_op_name(perf_op_t op)
{
	return op_names[op];
}

bool perf_op_moves(perf_op_t op)
{
	return op == PERF_PUT || op == PERF_GET || op == PERF_COPY || perf_op_tiles(op);
}

bool perf_op_tiles(perf_op_t op)
{
	return op == PERF_LOAD || op == PERF_STORE;
}

bool perf_op_collects(perf_op_t op)
{
	return op >= PERF_ALL_GATHER;
}

bool perf_op_sized(perf_op_t op)
{
	return perf_op_moves(op) || op == PERF_PUT_SIGNAL || op == PERF_MARKED ||
	       perf_op_collects(op);
}

bool perf_op_blocks(perf_op_t op)
{
	return perf_op_moves(op) || perf_op_collects(op);
}

bool perf_op_sums(perf_op_t op)
{
	return op == PERF_ALL_REDUCE || op == PERF_REDUCE || op == PERF_REDUCE_SCATTER;
}

void perf_op_pair(const perf_options_t *options, int ranks, char *text, size_t text_bytes)
{
	const perf_op_t op = options->op;
	const char *rest = ranks > 2 ? "; the other ranks wait" : "";

	if (options->pairs) {
		snprintf(text, text_bytes, "every rank with every rank, the other ranks wait");
		return;
	}
	if (op == PERF_SIGNAL && options->scope != PERF_SCOPE_SYSTEM) {
		snprintf(text, text_bytes, "between two %s of rank 0%s",
			 options->scope == PERF_SCOPE_DEVICE ? "blocks" : "workers of a block",
			 ranks > 1 ? "; the other ranks wait" : "");
		return;
	}
	if (ranks == 1) {
		snprintf(text, text_bytes,
			 "rank 0 is alone: nothing crosses a link, and there is no bus bandwidth");
		return;
	}
	switch (op) {
	case PERF_PUT:
	case PERF_STORE:
		snprintf(text, text_bytes, "rank 0 stores to rank %d%s", 1 % ranks, rest);
		break;
	case PERF_LOAD:
	case PERF_GET:
		snprintf(text, text_bytes, "rank 0 loads from rank %d%s", 1 % ranks, rest);
		break;
	case PERF_COPY:
		snprintf(text, text_bytes, "rank 0 copies from rank %d to rank %d%s", 1 % ranks,
			 2 % ranks, rest);
		break;
	case PERF_SIGNAL:
	case PERF_PUT_SIGNAL:
	case PERF_MARKED:
		snprintf(text, text_bytes, "between ranks 0 and 1%s", rest);
		break;
	case PERF_ATOMIC:
		snprintf(text, text_bytes, "rank 0 at rank %d's word, then all ranks at rank 0's",
			 1 % ranks);
		break;
	default:
		snprintf(text, text_bytes, "all ranks, each with each");
	}
}

int perf_op_misused(const char *text)
{
	char all[OP_LIST_BYTES] = "";
	size_t length = 0;

	for (int i = 0; op_names[i]; i++)
		length += (size_t)snprintf(all + length, sizeof all - length, "%s%s",
					   i == 0            ? ""
					   : op_names[i + 1] ? ", "
							     : " and ",
					   op_names[i]);
	return text ? tool_misuse("perf", "unknown operation '%s'; there are %s", text, all)
		    : tool_misuse("perf", "which operation? There are %s", all);
}

int perf_op_parse(const char *text, perf_op_t *op_out)
{
	for (int i = 0; op_names[i]; i++) {
		if (strcmp(op_names[i], text) == 0) {
			*op_out = (perf_op_t)i;
			return TOOL_OK;
		}
	}
	const char *near = tsr_nearest_name(text, op_names);
	if (near)
		return tool_misuse("perf", "unknown operation '%s'; did you mean '%s'?", text,
				   near);
	return perf_op_misused(text);
}
