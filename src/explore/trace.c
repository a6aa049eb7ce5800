/*
 * The interleaving of a schedule, as events for a timeline: what each fibre did
 * when, and which signal a wait has seen.
 */
#include "src/explore/exploration_state.h"

#include <inttypes.h>
#include <stdio.h>

#include "src/base/text.h"

uint64_t tsr_trace_now(const tsr_exploration_t *x)
{
	return tsr_explorer_count(x->explorer).steps;
}

/** "'C'+4096 (64 bytes) of rank 2, release at system, value 3" */
static void describe(const tsr_finding_access_t *access, uint64_t value, char *text, size_t size)
{
	size_t used = 0;
	char index[TSR_FINDING_INDEX_TEXT];
	text[0] = '\0';
	if (access->allocation && access->bytes > 0)
		used = (size_t)snprintf(text, size, "%s%s%s%s (%" PRIu64 " bytes)",
					access->target < 0 ? "" : "'", access->allocation,
					access->target < 0 ? "" : "'",
					tsr_finding_index_text(access, index), access->bytes);
	if (access->target >= 0 && used < size)
		used += (size_t)snprintf(text + used, size - used, " of rank %d%s", access->target,
					 tsr_of_world(access->who.team));
	if (access->order != TSR_VIEWS_PLAIN && used < size)
		snprintf(text + used, size - used, ", %s at %s, value %" PRIu64,
			 tsr_finding_order_name(access->order),
			 tsr_finding_scope_name(access->scope), value);
}

void tsr_trace_operation(tsr_exploration_t *x, uint32_t number, uint64_t begin, uint64_t value,
			 bool wrote, bool read)
{
	const tsr_operation_t *operation = &x->operations[number];
	tsr_finding_access_t access;
	char detail[256];
	if (!x->options.trace || x->phase != TSR_PHASE_SCHEDULE)
		return;
	tsr_operation_tell(x, number, operation->area, operation->offset, operation->bytes,
			   &access);
	describe(&access, value, detail, sizeof detail);
	tsr_last_write_t *last = NULL;
	uint64_t object = 0;
	if (operation->order != TSR_VIEWS_PLAIN && operation->area >= 0) {
		object = tsr_area_object(&x->areas[operation->area], operation->offset);
		last = &x->writes[object % TSR_WRITES];
	}
	const tsr_report_event_t event = {
		.who = access.who,
		.name = access.call,
		.kind = access.kind,
		.begin = begin,
		.end = tsr_trace_now(x),
		.file = access.file,
		.line = access.line,
		.detail = detail,
		.flow_out = wrote ? number : 0,
		.flow_in = read && last && last->object == object && last->value == value
				   ? last->operation
				   : 0,
	};
	tsr_report_event(&x->report, &event);
	if (wrote && last)
		*last = (tsr_last_write_t){object, value, number};
}
