/*
 * Where hosts' calls stand in the program. All hosts share a thread, so that
 * each one's place is kept while others run.
 */
#include "src/explore/exploration_state.h"

/** Hosts are the first tasks, by rank. */
static bool is_host(const tsr_exploration_t *x, int task)
{
	return task >= 0 && task < x->size;
}

void tsr_places_switch(void *context, int from, int to)
{
	tsr_exploration_t *x = context;
	tsr_place_t *here = tsr_place_here();
	if (is_host(x, from))
		x->places[from] = *here;
	if (is_host(x, from) || is_host(x, to))
		*here = is_host(x, to) ? x->places[to] : (tsr_place_t){.line = 0};
}

tsr_source_t tsr_place_of_host(const tsr_exploration_t *x, int rank, const char *call)
{
	const tsr_place_t *place =
		tsr_explorer_self(x->explorer) == rank ? tsr_place_here() : &x->places[rank];
	return place->file ? (tsr_source_t){place->call, place->file, place->line}
			   : (tsr_source_t){.call = call};
}

const tsr_op_site_t *tsr_placed(const tsr_exploration_t *x, const tsr_op_site_t *said,
				tsr_op_site_t *room)
{
	const int self = tsr_explorer_self(x->explorer);
	if (!is_host(x, self))
		return said;
	const tsr_source_t source = tsr_place_of_host(x, self, said->call);
	*room = *said;
	room->call = source.call;
	room->file = source.file;
	room->line = source.line;
	return room;
}
