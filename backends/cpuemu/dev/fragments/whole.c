/* Loads and stores of whole fragments, under the names of the API. */
#include "cpuemu/dev/fragments/value.h"

void tsr_load(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at, int peer)
{
	tsr_frag_load(coop, __func__, frag, view, at, peer);
}

void tsr_store(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at, const tsr_frag_t *frag, int peer)
{
	tsr_frag_store(coop, __func__, view, at, frag, peer);
}

/* A machine's caches take no hints. */
void tsr_load_hint(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at, int peer,
		   tsr_hint_t hint)
{
	(void)hint;
	tsr_frag_load(coop, __func__, frag, view, at, peer);
}

void tsr_store_hint(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at, const tsr_frag_t *frag,
		    int peer, tsr_hint_t hint)
{
	(void)hint;
	tsr_frag_store(coop, __func__, view, at, frag, peer);
}

void tsr_tile_load(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at)
{
	tsr_frag_load(coop, __func__, frag, view, at, tsr_rank(coop));
}

void tsr_tile_store(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at, const tsr_frag_t *frag)
{
	tsr_frag_store(coop, __func__, view, at, frag, tsr_rank(coop));
}

void tsr_rows_load(tsr_coop_t *coop, tsr_rows_t *rows, tsr_view_t view, tsr_pos_t at, int peer)
{
	if (tsr_frag_is_rows(coop, __func__, rows))
		tsr_frag_load(coop, __func__, rows, view, at, peer);
}

void tsr_rows_store(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at, const tsr_rows_t *rows,
		    int peer)
{
	if (tsr_frag_is_rows(coop, __func__, rows))
		tsr_frag_store(coop, __func__, view, at, rows, peer);
}
