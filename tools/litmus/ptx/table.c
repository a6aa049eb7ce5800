/*
 * What each access is in PTX. ci/checks/ptx reads the table and
 * holds it against what nvcc makes of the headers.
 */
#include <string.h>

#include "tools/litmus/ptx/ptx.h"

/** S stands for the scope. The failure order counts for a CAS alone. */
typedef struct row {
	int8_t op, order, failure;
	const char *text;
} row_t;

static const row_t rows[] = {
	{LITMUS_RUN_LOAD, LITMUS_RUN_RELAXED, LITMUS_RUN_RELAXED, "ld.relaxed.S.b64"},
	{LITMUS_RUN_LOAD, LITMUS_RUN_ACQUIRE, LITMUS_RUN_RELAXED, "ld.acquire.S.b64"},
	{LITMUS_RUN_LOAD, LITMUS_RUN_SEQ_CST, LITMUS_RUN_RELAXED, "fence.sc.S; ld.acquire.S.b64"},
	{LITMUS_RUN_LOAD, LITMUS_RUN_PLAIN, LITMUS_RUN_RELAXED, "ld.weak.b64"},
	{LITMUS_RUN_STORE, LITMUS_RUN_RELAXED, LITMUS_RUN_RELAXED, "st.relaxed.S.b64"},
	{LITMUS_RUN_STORE, LITMUS_RUN_RELEASE, LITMUS_RUN_RELAXED, "st.release.S.b64"},
	{LITMUS_RUN_STORE, LITMUS_RUN_SEQ_CST, LITMUS_RUN_RELAXED, "fence.sc.S; st.relaxed.S.b64"},
	{LITMUS_RUN_STORE, LITMUS_RUN_PLAIN, LITMUS_RUN_RELAXED, "st.weak.b64"},
	{LITMUS_RUN_ADD, LITMUS_RUN_RELAXED, LITMUS_RUN_RELAXED, "atom.add.relaxed.S.u64"},
	{LITMUS_RUN_ADD, LITMUS_RUN_ACQUIRE, LITMUS_RUN_RELAXED, "atom.add.acquire.S.u64"},
	{LITMUS_RUN_ADD, LITMUS_RUN_RELEASE, LITMUS_RUN_RELAXED, "atom.add.release.S.u64"},
	{LITMUS_RUN_ADD, LITMUS_RUN_ACQ_REL, LITMUS_RUN_RELAXED, "atom.add.acq_rel.S.u64"},
	{LITMUS_RUN_ADD, LITMUS_RUN_SEQ_CST, LITMUS_RUN_RELAXED,
	 "fence.sc.S; atom.add.acquire.S.u64"},
	{LITMUS_RUN_XCHG, LITMUS_RUN_RELAXED, LITMUS_RUN_RELAXED, "atom.exch.relaxed.S.b64"},
	{LITMUS_RUN_XCHG, LITMUS_RUN_ACQUIRE, LITMUS_RUN_RELAXED, "atom.exch.acquire.S.b64"},
	{LITMUS_RUN_XCHG, LITMUS_RUN_RELEASE, LITMUS_RUN_RELAXED, "atom.exch.release.S.b64"},
	{LITMUS_RUN_XCHG, LITMUS_RUN_ACQ_REL, LITMUS_RUN_RELAXED, "atom.exch.acq_rel.S.b64"},
	{LITMUS_RUN_XCHG, LITMUS_RUN_SEQ_CST, LITMUS_RUN_RELAXED,
	 "fence.sc.S; atom.exch.acquire.S.b64"},
	{LITMUS_RUN_CAS, LITMUS_RUN_RELAXED, LITMUS_RUN_RELAXED, "atom.cas.relaxed.S.b64"},
	{LITMUS_RUN_CAS, LITMUS_RUN_RELAXED, LITMUS_RUN_ACQUIRE, "atom.cas.acquire.S.b64"},
	{LITMUS_RUN_CAS, LITMUS_RUN_RELAXED, LITMUS_RUN_SEQ_CST,
	 "fence.sc.S; atom.cas.acquire.S.b64"},
	{LITMUS_RUN_CAS, LITMUS_RUN_ACQUIRE, LITMUS_RUN_RELAXED, "atom.cas.acquire.S.b64"},
	{LITMUS_RUN_CAS, LITMUS_RUN_ACQUIRE, LITMUS_RUN_ACQUIRE, "atom.cas.acquire.S.b64"},
	{LITMUS_RUN_CAS, LITMUS_RUN_ACQUIRE, LITMUS_RUN_SEQ_CST,
	 "fence.sc.S; atom.cas.acquire.S.b64"},
	{LITMUS_RUN_CAS, LITMUS_RUN_RELEASE, LITMUS_RUN_RELAXED, "atom.cas.release.S.b64"},
	{LITMUS_RUN_CAS, LITMUS_RUN_RELEASE, LITMUS_RUN_ACQUIRE, "atom.cas.acq_rel.S.b64"},
	{LITMUS_RUN_CAS, LITMUS_RUN_RELEASE, LITMUS_RUN_SEQ_CST,
	 "fence.sc.S; atom.cas.acquire.S.b64"},
	{LITMUS_RUN_CAS, LITMUS_RUN_ACQ_REL, LITMUS_RUN_RELAXED, "atom.cas.acq_rel.S.b64"},
	{LITMUS_RUN_CAS, LITMUS_RUN_ACQ_REL, LITMUS_RUN_ACQUIRE, "atom.cas.acq_rel.S.b64"},
	{LITMUS_RUN_CAS, LITMUS_RUN_ACQ_REL, LITMUS_RUN_SEQ_CST,
	 "fence.sc.S; atom.cas.acquire.S.b64"},
	{LITMUS_RUN_CAS, LITMUS_RUN_SEQ_CST, LITMUS_RUN_RELAXED,
	 "fence.sc.S; atom.cas.acquire.S.b64"},
	{LITMUS_RUN_CAS, LITMUS_RUN_SEQ_CST, LITMUS_RUN_ACQUIRE,
	 "fence.sc.S; atom.cas.acquire.S.b64"},
	{LITMUS_RUN_CAS, LITMUS_RUN_SEQ_CST, LITMUS_RUN_SEQ_CST,
	 "fence.sc.S; atom.cas.acquire.S.b64"},
	{LITMUS_RUN_FENCE, LITMUS_RUN_ACQUIRE, LITMUS_RUN_RELAXED, "fence.acquire.S"},
	{LITMUS_RUN_FENCE, LITMUS_RUN_RELEASE, LITMUS_RUN_RELAXED, "fence.release.S"},
	{LITMUS_RUN_FENCE, LITMUS_RUN_ACQ_REL, LITMUS_RUN_RELAXED, "fence.acq_rel.S"},
	{LITMUS_RUN_FENCE, LITMUS_RUN_SEQ_CST, LITMUS_RUN_RELAXED, "fence.sc.S"},
};

static const char *const scopes[LITMUS_RUN_SCOPES] = {
	[LITMUS_RUN_BLOCK] = "cta", [LITMUS_RUN_DEVICE] = "gpu", [LITMUS_RUN_SYSTEM] = "sys"};

static const row_t *find(const litmus_run_step_t *step)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].op == step->op && rows[i].order == step->order &&
		    (rows[i].op != LITMUS_RUN_CAS || rows[i].failure == step->failure))
			return &rows[i];
	return NULL;
}

const char *litmus_ptx_access(const litmus_run_step_t *step, char *text, size_t size)
{
	const row_t *row = find(step);
	size_t used = 0;

	if (!row || size == 0)
		return NULL;
	for (const char *at = row->text; *at; at++) {
		const char one[] = {*at, '\0'};
		const char *piece = *at == 'S' ? scopes[step->scope] : one;
		if (used + strlen(piece) >= size)
			return NULL;
		memcpy(text + used, piece, strlen(piece));
		used += strlen(piece);
	}
	text[used] = '\0';
	return text;
}
