/* The names of classes, kinds, orders and scopes. */
#include "src/explore/wire/finding.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const classes[TSR_FINDING_CLASSES] = {
	[TSR_FINDING_DATA_RACE] = "data-race",
	[TSR_FINDING_SCOPE_RACE] = "scope-race",
	[TSR_FINDING_REUSE] = "reuse",
	[TSR_FINDING_COOP_RACE] = "coop-race",
	[TSR_FINDING_UNWRITTEN_READ] = "unwritten-read",
	[TSR_FINDING_OUT_OF_BOUNDS] = "out-of-bounds",
	[TSR_FINDING_FOREIGN_SLAB] = "foreign-slab",
	[TSR_FINDING_USE_AFTER_FREE] = "use-after-free",
	[TSR_FINDING_LOST_SIGNAL] = "lost-signal",
	[TSR_FINDING_DUPLICATE_SIGNAL] = "duplicate-signal",
	[TSR_FINDING_DEADLOCK] = "deadlock",
	[TSR_FINDING_LIVELOCK] = "livelock",
	[TSR_FINDING_RESIDENCY] = "residency",
	[TSR_FINDING_COLLECTIVE] = "collective-mismatch",
	[TSR_FINDING_MISUSE] = "misuse",
	[TSR_FINDING_PROGRAM_FAILURE] = "program-failure",
	[TSR_FINDING_LOAD_BUFFERING] = "load-buffering",
};

const char *tsr_finding_class_name(tsr_finding_class_t class)
{
	return classes[class];
}

bool tsr_finding_class_parse(const char *name, tsr_finding_class_t *class_out)
{
	for (int i = 0; i < TSR_FINDING_CLASSES; i++) {
		if (strcmp(classes[i], name) == 0) {
			*class_out = (tsr_finding_class_t)i;
			return true;
		}
	}
	return false;
}

tsr_finding_severity_t tsr_finding_class_severity(tsr_finding_class_t class)
{
	return class == TSR_FINDING_LOAD_BUFFERING ? TSR_FINDING_WARNING : TSR_FINDING_ERROR;
}

const char *tsr_finding_kind_name(tsr_finding_kind_t kind)
{
	static const char *const names[] = {"read", "write", "update", "wait", "call"};
	return names[kind];
}

const char *tsr_finding_order_name(tsr_views_order_t order)
{
	static const char *const names[] = {"plain",   "relaxed", "acquire",
					    "release", "acq_rel", "seq_cst"};
	return names[order];
}

const char *tsr_finding_scope_name(tsr_views_scope_t scope)
{
	static const char *const names[TSR_VIEWS_SCOPES] = {"thread", "wave", "block", "device",
							    "system"};
	return names[scope];
}

/** Whether the bytes are whole elements, all in one row and inside the allocation. */
static bool are_elements(const tsr_finding_access_t *access)
{
	const tsr_finding_form_t *form = &access->form;
	if (form->dims < 1 || form->dims > TSR_FINDING_DIMS || form->element_bytes == 0 ||
	    access->bytes == 0 || access->offset % form->element_bytes != 0 ||
	    access->bytes % form->element_bytes != 0 ||
	    access->offset + access->bytes > access->allocation_bytes)
		return false;
	const uint64_t columns = form->shape[form->dims - 1],
		       first = access->offset / form->element_bytes;
	for (int i = 0; i < form->dims; i++)
		if (form->shape[i] == 0)
			return false;
	return first % columns + access->bytes / form->element_bytes <= columns;
}

const char *tsr_finding_index_text(const tsr_finding_access_t *access,
				   char text[TSR_FINDING_INDEX_TEXT])
{
	const tsr_finding_form_t *form = &access->form;
	if (!are_elements(access)) {
		snprintf(text, TSR_FINDING_INDEX_TEXT, "+%" PRIu64, access->offset);
		return text;
	}
	uint64_t at[TSR_FINDING_DIMS], left = access->offset / form->element_bytes;
	const uint64_t count = access->bytes / form->element_bytes;
	for (int i = form->dims - 1; i >= 0; i--) {
		at[i] = left % form->shape[i];
		left /= form->shape[i];
	}
	int used = 0;
	for (int i = 0; i < form->dims; i++)
		used += snprintf(text + used, (size_t)(TSR_FINDING_INDEX_TEXT - used), "%s%" PRIu64,
				 i ? ", " : " [", at[i]);
	if (count > 1)
		used += snprintf(text + used, (size_t)(TSR_FINDING_INDEX_TEXT - used), "..%" PRIu64,
				 at[form->dims - 1] + count - 1);
	snprintf(text + used, (size_t)(TSR_FINDING_INDEX_TEXT - used), "]");
	return text;
}

tsr_views_scope_t tsr_finding_scope_between(const tsr_finding_who_t *a, const tsr_finding_who_t *b)
{
	const bool hosts = a->kernel == NULL || b->kernel == NULL;
	if (a->rank != b->rank || hosts)
		return a->rank == b->rank && a->kernel == b->kernel ? TSR_VIEWS_THREAD
								    : TSR_VIEWS_SYSTEM;
	if (a->launch != b->launch || a->block != b->block)
		return TSR_VIEWS_DEVICE;
	return a->worker != b->worker ? TSR_VIEWS_BLOCK : TSR_VIEWS_THREAD;
}
