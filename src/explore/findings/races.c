/* What is wrong with an access: made into findings. */
#include "src/explore/exploration_state.h"
#include "src/explore/links.h"
#include "src/explore/overtaken.h"
#include "src/explore/satisfied.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"

/* ------------------------------------------------------------------ sending */

static uint64_t site_key(const tsr_finding_access_t *access)
{
	char text[512];
	snprintf(text, sizeof text, "%s:%s:%d:%s", access->call ? access->call : "",
		 access->file ? access->file : "", access->line,
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
	if (finding->severity == TSR_FINDING_ERROR)
		finding->severity = tsr_finding_class_severity(finding->class);
	if (is_known(x, key))
		return false;
	x->failed = x->failed || finding->severity == TSR_FINDING_ERROR;
	return true;
}

void tsr_exploration_found(tsr_exploration_t *x, tsr_finding_t *finding)
{
	if (is_new(x, finding))
		tsr_report_finding(&x->report, finding);
}

/* ------------------------------------------------------------------ accesses */

/** A host reads results: where a kernel writes them only then, it was to wait for that. */
static bool is_host_read(const tsr_exploration_t *x, uint32_t operation)
{
	return tsr_explorer_who(x->explorer, x->operations[operation].task)->kind == TSR_TASK_HOST;
}

/** Whether their rank launched the one before the other, and one of them is a copy on a stream. */
static bool is_launched_before(const tsr_exploration_t *x, uint32_t a, uint32_t b)
{
	const tsr_task_who_t *one = tsr_explorer_who(x->explorer, x->operations[a].task),
			     *other = tsr_explorer_who(x->explorer, x->operations[b].task);
	return (tsr_operation_is_copy(&x->operations[a]) ||
		tsr_operation_is_copy(&x->operations[b])) &&
	       one->kind == TSR_TASK_WORKER && other->kind == TSR_TASK_WORKER &&
	       one->rank == other->rank && one->launch < other->launch;
}

/**
 * A write that nothing orders after an earlier read of the same: the buffer is
 * used again too early. If its rank launched the write first, the read is what
 * comes too early.
 */
static tsr_finding_class_t race_class(const tsr_exploration_t *x, uint32_t operation,
				      const tsr_shadow_found_t *found, bool wrote)
{
	const bool plain = x->operations[operation].order == TSR_VIEWS_PLAIN;
	if (found->races & TSR_VIEWS_SCOPE_RACE && !(found->races & TSR_VIEWS_DATA_RACE))
		return TSR_FINDING_SCOPE_RACE;
	return wrote && plain && !found->other_wrote && !is_host_read(x, found->other) &&
			       !is_launched_before(x, operation, found->other)
		       ? TSR_FINDING_REUSE
		       : TSR_FINDING_DATA_RACE;
}

/** A copy both reads and writes, by one operation: what it did where it met the other. */
static void tell_kind(tsr_finding_access_t *access, bool wrote)
{
	if (access->order == TSR_VIEWS_PLAIN)
		access->kind = wrote ? TSR_FINDING_WRITE : TSR_FINDING_READ;
}

void tsr_exploration_judge_unmet(tsr_exploration_t *x, uint32_t operation, int area, bool wrote,
				 const tsr_shadow_unmet_t *unmet)
{
	if (!unmet->other)
		return;
	tsr_finding_t finding = {.class = TSR_FINDING_COOP_RACE, .accesses = 2};
	tsr_operation_tell(x, operation, area, unmet->offset, unmet->bytes, &finding.access[0]);
	tsr_operation_tell(x, unmet->other, area, unmet->offset, unmet->bytes, &finding.access[1]);
	tell_kind(&finding.access[0], wrote);
	tell_kind(&finding.access[1], unmet->other_wrote);
	tsr_exploration_found(x, &finding);
}

/**
 * The write came first, but it was to come behind the read, as that of the next
 * round, or of whom a worker has told that all have read: told as if it did.
 */
static void turn_round(tsr_finding_t *finding)
{
	const tsr_finding_access_t read = finding->access[0];
	finding->class = TSR_FINDING_REUSE;
	finding->access[0] = finding->access[1];
	finding->access[1] = read;
}

/** Sends a race of the access `now` with the one before it, which is new. */
static void tell_race(tsr_exploration_t *x, uint32_t before, uint32_t now, tsr_finding_t *finding)
{
	const bool reads_first = finding->access[1].kind == TSR_FINDING_READ,
		   writes_first = finding->access[0].kind == TSR_FINDING_READ && !reads_first &&
				  finding->access[1].order == TSR_VIEWS_PLAIN;
	const bool turned = writes_first && finding->class == TSR_FINDING_DATA_RACE &&
			    !is_host_read(x, now) &&
			    (tsr_rounds_reused(x, before, now) || tsr_links_spoken(x, now, before));
	tsr_advice_text_t text;
	if (turned)
		turn_round(finding);
	if (turned && !is_new(x, finding))
		return;
	const bool counted = (reads_first && finding->class == TSR_FINDING_REUSE &&
			      tsr_rounds_tell(x, now, before, &text, finding)) ||
			     (turned && tsr_rounds_tell(x, before, now, &text, finding));
	const bool overtaken =
		!counted && !turned &&
		(finding->class == TSR_FINDING_REUSE
			 ? tsr_overtaken_tell(x, now, before, &text, finding)
			 : writes_first && tsr_overtaken_tell(x, before, now, &text, finding));
	const uint32_t unread =
		counted || overtaken
			? 0
			: tsr_links_tell(x, turned ? now : before, turned ? before : now, finding);
	/* what came after the read of the round before comes after this one, too */
	const uint32_t earlier = turned && finding->accesses < 3 ? tsr_rounds_previous(x, now) : 0;
	if (earlier)
		(void)tsr_links_tell(x, earlier, before, finding);
	if (!counted && !overtaken && !turned &&
	    (finding->accesses < 4 || !finding->access[3].call))
		(void)tsr_satisfied_tell(x, before, now, unread, &text, finding);
	tsr_report_finding(&x->report, finding);
}

void tsr_exploration_judge(tsr_exploration_t *x, uint32_t operation, int area, bool wrote,
			   const tsr_shadow_found_t *found)
{
	tsr_exploration_judge_unmet(x, operation, area, wrote, &found->unmet);
	if (!found->races && !found->unwritten)
		return;
	tsr_finding_t finding = {.accesses = 1};
	if (found->races) {
		finding.class = race_class(x, operation, found, wrote);
		finding.accesses = 2;
		tsr_operation_tell(x, operation, area, found->offset, found->bytes,
				   &finding.access[0]);
		tsr_operation_tell(x, found->other, area, found->offset, found->bytes,
				   &finding.access[1]);
		tell_kind(&finding.access[0], wrote);
		tell_kind(&finding.access[1], found->other_wrote);
	} else {
		finding.class = TSR_FINDING_UNWRITTEN_READ;
		tsr_operation_tell(x, operation, area, found->unwritten_offset,
				   found->unwritten_bytes, &finding.access[0]);
		tell_kind(&finding.access[0], false);
		if (found->unwritten_by) {
			finding.accesses = 2;
			tsr_operation_tell(x, found->unwritten_by, area, found->unwritten_offset,
					   found->unwritten_bytes, &finding.access[1]);
			tell_kind(&finding.access[1], true);
		}
	}
	if (!is_new(x, &finding))
		return;
	if (found->races)
		tell_race(x, found->other, operation, &finding);
	else
		tsr_report_finding(&x->report, &finding);
}

tsr_finding_access_t tsr_access_at(tsr_exploration_t *x, const tsr_op_site_t *said)
{
	tsr_op_site_t placed;
	const tsr_op_site_t *site = tsr_placed(x, said, &placed);
	const tsr_task_who_t *who = tsr_explorer_who(x->explorer, tsr_explorer_self(x->explorer));
	tsr_finding_access_t access = TSR_FINDING_NOWHERE;
	access.who = tsr_who_found(who);
	access.call = site->call;
	access.kind = TSR_FINDING_CALL;
	access.file = site->file;
	access.line = site->line;
	access.tiled = site->tiled;
	access.row = site->row;
	access.col = site->col;
	return access;
}

_Noreturn void tsr_exploration_wrong(tsr_exploration_t *x, tsr_wrong_t wrong,
				     const tsr_op_site_t *site, const char *sentence)
{
	tsr_finding_t finding = {.class = wrong == TSR_WRONG_BOUNDS ? TSR_FINDING_OUT_OF_BOUNDS
								    : TSR_FINDING_MISUSE,
				 .accesses = 1,
				 .message = sentence};
	finding.access[0] = tsr_access_at(x, site);
	tsr_exploration_found(x, &finding);
	tsr_explorer_stop(x->explorer);
}

void tsr_exploration_mismatch(tsr_exploration_t *x, const tsr_made_call_t made[2],
			      const char *sentence)
{
	tsr_finding_t finding = {
		.class = TSR_FINDING_COLLECTIVE, .accesses = 2, .message = sentence};
	for (int i = 0; i < 2; i++) {
		const tsr_source_t source =
			made[i].file ? (tsr_source_t){made[i].call, made[i].file, made[i].line}
				     : tsr_place_of_host(x, made[i].rank, made[i].call);
		finding.access[i] = TSR_FINDING_NOWHERE;
		finding.access[i].who = (tsr_finding_who_t){
			.rank = made[i].rank, .launch = -1, .block = -1, .worker = -1};
		finding.access[i].kind = TSR_FINDING_CALL;
		finding.access[i].call = source.call;
		finding.access[i].file = source.file;
		finding.access[i].line = source.line;
	}
	tsr_exploration_found(x, &finding);
}
