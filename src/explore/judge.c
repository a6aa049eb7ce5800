/* What is wrong with an access, a block's end, or a run: made into findings. */
#include "src/explore/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/text.h"

/* ------------------------------------------------------------------ sending */

static uint64_t site_key(const tsr_finding_access_t *access)
{
	char text[512];
	snprintf(text, sizeof text, "%s:%s:%d:%s", access->call ? access->call : "", access->file ? access->file : "", access->line,
		 access->allocation ? access->allocation : "");
	return tsr_text_hash(text);
}

/** True where an equal one was sent already. */
static bool is_known(tsr_exploration_t *x, uint64_t key)
{
	for (int i = 0; i < x->sent_count; i++)
		if (x->sent[i] == key)
			return true;
	if (x->sent_count == x->sent_room) {
		const int room = x->sent_room ? 2 * x->sent_room : 16;
		uint64_t *sent = realloc(x->sent, (size_t)room * sizeof *sent);
		if (!sent)
			return false; /* rather twice than never */
		x->sent = sent;
		x->sent_room = room;
	}
	x->sent[x->sent_count++] = key;
	return false;
}

/** Whether it is to be sent: none is twice. */
static bool is_new(tsr_exploration_t *x, tsr_finding_t *finding)
{
	uint64_t key = (uint64_t)finding->class;
	for (int i = 0; i < finding->accesses && i < 2; i++)
		key = key * UINT64_C(0x9e3779b97f4a7c15) + site_key(&finding->access[i]);
	finding->severity = tsr_finding_class_severity(finding->class);
	return !is_known(x, key);
}

void tsr_exploration_found(tsr_exploration_t *x, tsr_finding_t *finding)
{
	if (is_new(x, finding))
		tsr_report_finding(&x->report, finding);
}

/* ------------------------------------------------------------------ accesses */

/** A write that nothing orders after an earlier read of the same: the buffer is used again too early. */
static tsr_finding_class_t race_class(const tsr_shadow_found_t *found, bool wrote, bool plain)
{
	if (found->races & TSR_VIEWS_SCOPE_RACE && !(found->races & TSR_VIEWS_DATA_RACE))
		return TSR_FINDING_SCOPE_RACE;
	return wrote && plain && !found->other_wrote ? TSR_FINDING_REUSE : TSR_FINDING_DATA_RACE;
}

/** A copy both reads and writes, by one operation: what it did where it met the other. */
static void tell_kind(tsr_finding_access_t *access, bool wrote)
{
	if (access->order == TSR_VIEWS_PLAIN)
		access->kind = wrote ? TSR_FINDING_WRITE : TSR_FINDING_READ;
}

void tsr_exploration_judge(tsr_exploration_t *x, uint32_t operation, int area, bool wrote, const tsr_shadow_found_t *found)
{
	if (!found->races && !found->unwritten)
		return;
	tsr_finding_t finding = {.accesses = 1};
	if (found->races) {
		finding.class = race_class(found, wrote, x->operations[operation].order == TSR_VIEWS_PLAIN);
		finding.accesses = 2;
		tsr_operation_tell(x, operation, area, found->offset, found->bytes, &finding.access[0]);
		tsr_operation_tell(x, found->other, area, found->offset, found->bytes, &finding.access[1]);
		tell_kind(&finding.access[0], wrote);
		tell_kind(&finding.access[1], found->other_wrote);
	} else {
		finding.class = TSR_FINDING_UNWRITTEN_READ;
		tsr_operation_tell(x, operation, area, found->unwritten_offset, found->unwritten_bytes, &finding.access[0]);
		tell_kind(&finding.access[0], false);
	}
	if (!is_new(x, &finding))
		return;
	if (found->races)
		tsr_links_tell(x, found->other, operation, &finding);
	tsr_report_finding(&x->report, &finding);
}

void tsr_exploration_judge_end(tsr_exploration_t *x)
{
	const uint32_t put = tsr_actor(x)->put;
	if (put == 0)
		return;
	tsr_finding_t finding = {.class = TSR_FINDING_OUTSTANDING_PUTS, .accesses = 1};
	const tsr_operation_t *operation = &x->operations[put];
	tsr_operation_tell(x, put, operation->area, operation->offset, operation->bytes, &finding.access[0]);
	tsr_exploration_found(x, &finding);
}

tsr_finding_access_t tsr_access_at(tsr_exploration_t *x, const tsr_op_site_t *site)
{
	const tsr_task_who_t *who = tsr_explorer_who(x->explorer, tsr_explorer_self(x->explorer));
	tsr_finding_access_t access = TSR_FINDING_NOWHERE;
	access.who = (tsr_finding_who_t){who->rank, who->kernel, NULL, who->launch, who->block, who->worker};
	access.call = site->call;
	access.kind = TSR_FINDING_CALL;
	access.file = site->file;
	access.line = site->line;
	access.tiled = site->tiled;
	access.row = site->row;
	access.col = site->col;
	return access;
}

_Noreturn void tsr_exploration_wrong(tsr_exploration_t *x, tsr_wrong_t wrong, const tsr_op_site_t *site, const char *sentence)
{
	tsr_finding_t finding = {.class = wrong == TSR_WRONG_BOUNDS ? TSR_FINDING_OUT_OF_BOUNDS : TSR_FINDING_MISUSE,
				 .accesses = 1,
				 .message = sentence};
	finding.access[0] = tsr_access_at(x, site);
	tsr_exploration_found(x, &finding);
	tsr_explorer_stop(x->explorer);
}

void tsr_exploration_mismatch(tsr_exploration_t *x, const char *call, const char *sentence)
{
	const tsr_op_site_t site = {.call = call};
	tsr_finding_t finding = {.class = TSR_FINDING_COLLECTIVE, .accesses = 1, .message = sentence};
	finding.access[0] = tsr_access_at(x, &site);
	tsr_exploration_found(x, &finding);
}

/* ------------------------------------------------------------------ runs that end otherwise than well */

static const tsr_finding_class_t stuck_classes[] = {
	[TSR_STUCK_DEADLOCK] = TSR_FINDING_DEADLOCK,
	[TSR_STUCK_LOST_SIGNAL] = TSR_FINDING_LOST_SIGNAL,
	[TSR_STUCK_RESIDENCY] = TSR_FINDING_RESIDENCY,
	[TSR_STUCK_LIVELOCK] = TSR_FINDING_LIVELOCK,
};

static tsr_finding_who_t who_of(const tsr_task_who_t *who)
{
	return (tsr_finding_who_t){who->rank, who->kernel, NULL, who->launch, who->block, who->worker};
}

/** The wait that a report names first: of the cycle, or else of whoever waits for what nobody can give. */
static const tsr_stuck_node_t *first_node(const tsr_stuck_t *stuck)
{
	for (int i = 0; i < stuck->nodes; i++)
		if (stuck->class == TSR_STUCK_LOST_SIGNAL && stuck->node[i].root && stuck->node[i].kind == TSR_AWAIT_FLAG)
			return &stuck->node[i];
	for (int i = 0; i < stuck->cycle_count; i++)
		if (stuck->node[stuck->cycle[i]].task != TSR_NO_TASK && stuck->node[stuck->cycle[i]].who.kind == TSR_TASK_WORKER)
			return &stuck->node[stuck->cycle[i]];
	return stuck->cycle_count > 0 ? &stuck->node[stuck->cycle[0]] : stuck->nodes > 0 ? &stuck->node[0] : NULL;
}

static void tell_graph(const tsr_stuck_t *stuck, tsr_finding_node_t *nodes, tsr_finding_edge_t *edges, tsr_finding_t *finding)
{
	for (int i = 0; i < stuck->nodes; i++) {
		const tsr_stuck_node_t *node = &stuck->node[i];
		nodes[i] = (tsr_finding_node_t){.who = who_of(&node->who),
						.call = node->site.call,
						.file = node->site.file,
						.line = node->site.line,
						.state = node->sentence};
	}
	for (int i = 0; i < stuck->edges; i++)
		edges[i] = (tsr_finding_edge_t){.from = stuck->edge[i].from, .to = stuck->edge[i].to};
	finding->nodes = nodes;
	finding->node_count = stuck->nodes;
	finding->edges = edges;
	finding->edge_count = stuck->edges;
}

static void judge_stuck(tsr_exploration_t *x)
{
	tsr_stuck_t *stuck;
	if (tsr_explorer_stuck(x->explorer, &stuck) != TSR_OK)
		return;
	tsr_finding_t finding = {.class = stuck_classes[stuck->class], .accesses = 1};
	tsr_finding_node_t *nodes = calloc((size_t)stuck->nodes + 1, sizeof *nodes);
	tsr_finding_edge_t *edges = calloc((size_t)stuck->edges + 1, sizeof *edges);
	const tsr_stuck_node_t *first = first_node(stuck);
	const tsr_collective_call_t *apart[2];
	if (stuck->class == TSR_STUCK_LOST_SIGNAL && first && first->kind == TSR_AWAIT_COLLECTIVE)
		finding.class = TSR_FINDING_COLLECTIVE; /* a rank has ended, or calls something else */
	finding.access[0] = TSR_FINDING_NOWHERE;
	if (first) {
		finding.access[0].who = who_of(&first->who);
		finding.access[0].call = first->site.call;
		finding.access[0].file = first->site.file;
		finding.access[0].line = first->site.line;
		finding.access[0].kind = TSR_FINDING_WAIT;
		finding.message = first->sentence;
	}
	if (tsr_collectives_apart(x, stuck, apart)) {
		finding.class = TSR_FINDING_COLLECTIVE;
		finding.accesses = 2;
		finding.access[0] = apart[0]->access;
		finding.access[1] = apart[1]->access;
		finding.message = "each waits for the rank of the other, which has not made this call, or not by this state";
	}
	if (nodes && edges)
		tell_graph(stuck, nodes, edges, &finding);
	tsr_exploration_found(x, &finding);
	uint64_t key;
	if (stuck->class == TSR_STUCK_LIVELOCK && tsr_explorer_livelock(x->explorer, &key))
		tsr_exploration_learn(x, key);
	free(nodes);
	free(edges);
	tsr_stuck_destroy(stuck);
}

/** The last line that the program of this schedule has said as an error. */
static void last_said(const tsr_exploration_t *x, char *text, size_t size)
{
	char said[2048] = "";
	const off_t end = x->said_fd >= 0 ? lseek(x->said_fd, 0, SEEK_END) : 0;
	const off_t begin = end > (off_t)sizeof said - 1 ? end - (off_t)sizeof said + 1 : 0;
	ssize_t got = end > 0 ? pread(x->said_fd, said, (size_t)(end - begin), begin) : 0;
	while (got > 0 && said[got - 1] == '\n')
		got--;
	said[got > 0 ? got : 0] = '\0';
	const char *line = strrchr(said, '\n');
	snprintf(text, size, "%s", line ? line + 1 : said);
}

_Noreturn void tsr_exploration_abort(tsr_exploration_t *x, tsr_status_t status, int exit_code, const char *sentence)
{
	char said[1024] = "", message[2200];
	tsr_finding_t finding = {.class = status == TSR_ERR_MISMATCH ? TSR_FINDING_COLLECTIVE : TSR_FINDING_PROGRAM_FAILURE,
				 .message = message};
	if (exit_code != 0)
		last_said(x, said, sizeof said);
	snprintf(message, sizeof message, "%s%s%s", sentence, said[0] ? ": " : "", said);
	x->codes[tsr_explorer_who(x->explorer, tsr_explorer_self(x->explorer))->rank] = exit_code ? exit_code : EXIT_FAILURE;
	if (x->sent_count == 0) /* else it is what follows from the first */
		tsr_exploration_found(x, &finding);
	tsr_explorer_stop(x->explorer);
}

static void judge_codes(tsr_exploration_t *x)
{
	char said[1024], message[1200];
	for (int r = 0; x->sent_count == 0 && r < x->size; r++) {
		if (x->codes[r] == 0)
			continue;
		last_said(x, said, sizeof said);
		snprintf(message, sizeof message, "rank %d ended with exit code %d%s%s", r, x->codes[r], said[0] ? ": " : "", said);
		tsr_finding_t finding = {.class = TSR_FINDING_PROGRAM_FAILURE, .message = message};
		tsr_exploration_found(x, &finding);
		return; /* the others end because this one did */
	}
}

void tsr_exploration_finish(tsr_exploration_t *x, tsr_explorer_end_t end)
{
	if (end == TSR_EXPLORER_STUCK || end == TSR_EXPLORER_BOUND)
		judge_stuck(x);
	else if (end == TSR_EXPLORER_DONE)
		judge_codes(x);
	if (x->phase == TSR_PHASE_SCHEDULE)
		tsr_exploration_account(x, end);
}
