/* The lines of the protocol, member by member. */
#include "src/explore/wire/protocol.h"

#include "src/explore/wire/line.h"

void tsr_report_open(tsr_report_t *report, int fd)
{
	report->fd = fd;
	report->broken = false;
	report->used = 0;
}

void tsr_report_prefix(tsr_report_t *report, const tsr_report_prefix_t *prefix)
{
	tsr_line_begin(report, "prefix");
	tsr_line_int(report, "version", TSR_CHECK_VERSION);
	tsr_line_uint(report, "tasks", prefix->tasks);
	tsr_line_uint(report, "steps", prefix->steps);
	tsr_line_end(report);
}

void tsr_report_begin(tsr_report_t *report, uint64_t seed)
{
	tsr_line_begin(report, "begin");
	tsr_line_uint(report, "seed", seed);
	tsr_line_end(report);
}

void tsr_report_launch(tsr_report_t *report, uint64_t at_ns)
{
	tsr_line_begin(report, "launch");
	tsr_line_uint(report, "at_ns", at_ns);
	tsr_line_end(report);
}

/** Members of the object that is open; those that are not known are left out. */
static void write_who(tsr_report_t *report, const tsr_finding_who_t *who)
{
	if (who->rank >= 0)
		tsr_line_int(report, "rank", who->rank);
	tsr_line_text(report, "team", who->team);
	if (who->team != NULL)
		tsr_line_int(report, "team_rank", who->team_rank);
	tsr_line_text(report, "kernel", who->kernel);
	tsr_line_text(report, "variant", who->variant);
	if (who->launch >= 0)
		tsr_line_int(report, "launch", who->launch);
	if (who->block >= 0)
		tsr_line_int(report, "block", who->block);
	if (who->worker >= 0)
		tsr_line_int(report, "worker", who->worker);
}

static void write_site(tsr_report_t *report, const char *call, const char *file, int line)
{
	tsr_line_text(report, "call", call);
	tsr_line_text(report, "file", file);
	if (file != NULL)
		tsr_line_int(report, "line", line);
}

static void write_memory(tsr_report_t *report, const tsr_finding_access_t *access)
{
	if (access->target >= 0)
		tsr_line_int(report, "target", access->target);
	tsr_line_text(report, "allocation", access->allocation);
	if (access->allocation_bytes > 0)
		tsr_line_uint(report, "allocation_bytes", access->allocation_bytes);
	if (access->form.dims > 0) {
		tsr_line_uint(report, "element_bytes", access->form.element_bytes);
		tsr_line_open(report, "shape", '[');
		for (int i = 0; i < access->form.dims; i++)
			tsr_line_uint(report, NULL, access->form.shape[i]);
		tsr_line_close(report, ']');
	}
	if (access->bytes == 0)
		return;
	tsr_line_uint(report, "offset", access->offset);
	tsr_line_uint(report, "bytes", access->bytes);
}

/** An object of the array; one that says nothing is empty, so that the others keep their places. */
static void write_access(tsr_report_t *report, const tsr_finding_access_t *access)
{
	tsr_line_open(report, NULL, '{');
	if (access->call != NULL) {
		write_site(report, access->call, access->file, access->line);
		tsr_line_text(report, "kind", tsr_finding_kind_name(access->kind));
		write_who(report, &access->who);
		if (access->tiled) {
			tsr_line_open(report, "tile", '[');
			tsr_line_int(report, NULL, access->row);
			tsr_line_int(report, NULL, access->col);
			tsr_line_close(report, ']');
		}
		write_memory(report, access);
		tsr_line_text(report, "order", tsr_finding_order_name(access->order));
		if (access->order != TSR_VIEWS_PLAIN)
			tsr_line_text(report, "scope", tsr_finding_scope_name(access->scope));
		if (access->valued) {
			tsr_line_uint(report, "expected", access->expected);
			tsr_line_uint(report, "seen", access->seen);
		}
	}
	tsr_line_close(report, '}');
}

static void write_graph(tsr_report_t *report, const tsr_finding_t *finding)
{
	tsr_line_open(report, "nodes", '[');
	for (int i = 0; i < finding->node_count; i++) {
		const tsr_finding_node_t *node = &finding->nodes[i];
		tsr_line_open(report, NULL, '{');
		write_who(report, &node->who);
		tsr_line_text(report, "name", node->name);
		write_site(report, node->call, node->file, node->line);
		tsr_line_text(report, "state", node->state);
		tsr_line_close(report, '}');
	}
	tsr_line_close(report, ']');
	tsr_line_open(report, "edges", '[');
	for (int i = 0; i < finding->edge_count; i++) {
		tsr_line_open(report, NULL, '{');
		tsr_line_int(report, "from", finding->edges[i].from);
		tsr_line_int(report, "to", finding->edges[i].to);
		tsr_line_text(report, "why", finding->edges[i].why);
		tsr_line_close(report, '}');
	}
	tsr_line_close(report, ']');
}

void tsr_report_finding(tsr_report_t *report, const tsr_finding_t *finding)
{
	tsr_line_begin(report, "finding");
	tsr_line_text(report, "class", tsr_finding_class_name(finding->class));
	tsr_line_text(report, "severity",
		      finding->severity == TSR_FINDING_WARNING ? "warning" : "error");
	tsr_line_open(report, "access", '[');
	for (int i = 0; i < finding->accesses; i++)
		write_access(report, &finding->access[i]);
	tsr_line_close(report, ']');
	tsr_line_text(report, "message", finding->message);
	if (finding->early)
		tsr_line_bool(report, "early", true);
	if (finding->blames_loop)
		tsr_line_bool(report, "blames_loop", true);
	tsr_line_text(report, "missing", finding->missing);
	tsr_line_text(report, "change", finding->change);
	if (finding->node_count > 0)
		write_graph(report, finding);
	tsr_line_end(report);
}

void tsr_report_event(tsr_report_t *report, const tsr_report_event_t *event)
{
	tsr_line_begin(report, "event");
	tsr_line_text(report, "name", event->name);
	tsr_line_text(report, "kind", tsr_finding_kind_name(event->kind));
	write_who(report, &event->who);
	tsr_line_uint(report, "begin", event->begin);
	tsr_line_uint(report, "end", event->end);
	write_site(report, NULL, event->file, event->line);
	tsr_line_text(report, "detail", event->detail);
	if (event->flow_out > 0)
		tsr_line_uint(report, "flow_out", event->flow_out);
	if (event->flow_in > 0)
		tsr_line_uint(report, "flow_in", event->flow_in);
	tsr_line_end(report);
}

void tsr_report_hang(tsr_report_t *report, const tsr_report_hang_t *hang)
{
	tsr_line_begin(report, "hang");
	write_who(report, &hang->who);
	write_site(report, hang->call, hang->file, hang->line);
	tsr_line_bool(report, "goes_on", hang->goes_on);
	tsr_line_end(report);
}

static void write_digest(tsr_report_t *report, const uint64_t digest[2])
{
	char text[33];
	for (int i = 0; i < 32; i++)
		text[i] = "0123456789abcdef"[digest[i / 16] >> (60 - 4 * (i % 16)) & 15];
	text[32] = '\0';
	tsr_line_text(report, "digest", text);
}

void tsr_report_schedule(tsr_report_t *report, const tsr_report_schedule_t *schedule)
{
	tsr_line_begin(report, "schedule");
	tsr_line_uint(report, "seed", schedule->seed);
	write_digest(report, schedule->digest);
	tsr_line_uint(report, "choices", schedule->choices);
	tsr_line_uint(report, "steps", schedule->steps);
	tsr_line_uint(report, "tasks", schedule->tasks);
	tsr_line_uint(report, "shadow_bytes", schedule->shadow_bytes);
	tsr_line_uint(report, "heap_bytes", schedule->heap_bytes);
	if (schedule->scripted) {
		tsr_line_open(report, "script", '[');
		for (size_t i = 0; i < schedule->script_count; i++) {
			tsr_line_open(report, NULL, '[');
			tsr_line_uint(report, NULL, schedule->script[i].choice);
			tsr_line_uint(report, NULL, schedule->script[i].alternative);
			tsr_line_close(report, ']');
		}
		tsr_line_close(report, ']');
	}
	tsr_line_int(report, "exit", schedule->exit);
	tsr_line_bool(report, "pruned", schedule->pruned);
	tsr_line_end(report);
}

void tsr_report_end(tsr_report_t *report, bool complete, const char *why)
{
	tsr_line_begin(report, "end");
	tsr_line_bool(report, "complete", complete);
	tsr_line_text(report, "why", why);
	tsr_line_end(report);
}
