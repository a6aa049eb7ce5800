/* Body of tsr_coop_place (dev/coop.h): the coop's first thread places all keys. */
#include "cpuemu/dev/memory/memory.h"

enum { STAGE = 512 };

typedef struct placing {
	tsr_coop_t *coop;
	const char *call;
	tsr_mem_t places, keys, totals;
	bool counts_alone; /* there are no places */
	int bins;
	uint32_t *next; /* the totals, without a sign: they may wrap around */
} placing_t;

/** The place of a key, in place of it. False: a misuse was noted. */
static bool place_key(const placing_t *p, int32_t *key)
{
	if (*key >= p->bins)
		return tsr_cpu_misuse(p->coop, p->call,
				      "keys end before `bins`; a negative one "
				      "is left out",
				      "of key %d to %d bins", (int)*key, p->bins);
	*key = *key < 0 ? -1 : (int32_t)p->next[*key]++;
	return true;
}

/** All keys, a stage of them at a time. */
static void place_keys(const placing_t *p, size_t count)
{
	int32_t stage[STAGE];
	for (size_t first = 0; first < count; first += STAGE) {
		const size_t n = count - first < STAGE ? count - first : STAGE,
			     at = first * sizeof *stage;
		tsr_mem_read(&p->keys, stage, p->keys.at + at, n * sizeof *stage);
		for (size_t i = 0; i < n; i++)
			if (!place_key(p, &stage[i]))
				return;
		if (!p->counts_alone)
			tsr_mem_write(&p->places, p->places.at + at, stage, n * sizeof *stage);
	}
}

/** With the totals in memory of the thread. */
static void place(placing_t *p, int count)
{
	const size_t bytes = p->bins > 0 ? (size_t)p->bins * sizeof *p->next : 0;
	p->next = tsr_cpu_arena_take(p->coop, bytes + sizeof *p->next);
	if (!p->next)
		return;
	if (bytes > 0)
		tsr_mem_read(&p->totals, p->next, p->totals.at, bytes);
	place_keys(p, (size_t)count);
	if (bytes > 0)
		tsr_mem_write(&p->totals, p->totals.at, p->next, bytes);
	tsr_cpu_arena_drop(p->coop);
}

void tsr_coop_place(tsr_coop_t *coop, int32_t *places, const int32_t *keys, int count,
		    int32_t *totals, int bins)
{
	placing_t p = {.coop = coop, .call = __func__, .counts_alone = !places, .bins = bins};
	tsr_cpu_meet(coop, __func__);
	if (count > 0 && tsr_cpu_leads(coop) &&
	    tsr_mem_reach_shared(coop, __func__, "keys", keys, count, TSR_MEM_READ, &p.keys) &&
	    (bins < 1 || tsr_mem_reach_shared(coop, __func__, "totals", totals, bins, TSR_MEM_WRITE,
					      &p.totals)) &&
	    (!places || tsr_mem_reach_shared(coop, __func__, "places", places, count, TSR_MEM_WRITE,
					     &p.places)))
		place(&p, count);
	tsr_cpu_meet(coop, __func__);
}
