/*
 * Windows between processes whose memory has a descriptor for each part that
 * the program has allocated at once: parts travel in rounds, one of each rank,
 * until every rank has every window.
 */
#include <unistd.h>

#include "src/base/error.h"
#include "src/heap/heap.h"
#include "src/heap/window.h"
#include "src/world/team.h"

/** What a rank gives in a round. The descriptor itself travels beside it. */
typedef struct offer {
	int32_t verdict; /* tsr_status_t of what it has done so far */
	uint64_t begin, size_bytes;
} offer_t;

/** A window on its way. */
typedef struct sharing {
	TSR_HEAP void *heap;
	size_t size_bytes, exported_bytes;
	tsr_status_t verdict;
} sharing_t;

/** My next part; a part of no bytes and no descriptor after the last. */
static tsr_window_part_t next_part(tsr_world_t *world, sharing_t *sharing)
{
	tsr_window_part_t part = {.fd = -1, .begin = sharing->exported_bytes};
	if (sharing->verdict != TSR_OK || sharing->exported_bytes >= sharing->size_bytes)
		return part;
	sharing->verdict =
		world->backend->window->export_part(world->device, tsr_heap_raw(sharing->heap),
						    sharing->exported_bytes, &part);
	if (sharing->verdict == TSR_OK)
		sharing->exported_bytes = (size_t)(part.begin + part.size_bytes);
	return part;
}

static tsr_status_t judge(const tsr_world_t *world, const char *call, const char *arguments,
			  tsr_status_t mine, const offer_t *offers)
{
	for (int r = 0; mine == TSR_OK && r < world->size; r++)
		if (offers[r].verdict != TSR_OK)
			return tsr_window_undone(call, arguments, r,
						 (tsr_status_t)offers[r].verdict);
	return mine;
}

/** Maps what the others have sent, as far as nothing fails, and closes the descriptors. */
static void take_parts(tsr_world_t *world, sharing_t *sharing, const offer_t *offers,
		       const int *fds)
{
	for (int r = 0; r < world->size; r++) {
		const tsr_window_part_t part = {
			.fd = fds[r], .begin = offers[r].begin, .size_bytes = offers[r].size_bytes};
		if (part.fd < 0)
			continue;
		if (r != world->rank && sharing->verdict == TSR_OK)
			sharing->verdict =
				world->backend->window->import_part(world->device,
								    tsr_heap_raw(sharing->heap), r,
								    &part);
		close(part.fd);
	}
}

/** One part of each rank, to all. `left_out`: there are more. */
static tsr_status_t share_round(tsr_world_t *world, const char *call, const char *arguments,
				sharing_t *sharing, bool *left_out)
{
	offer_t offers[TSR_MAX_RANKS];
	int fds[TSR_MAX_RANKS];
	const tsr_window_part_t part = next_part(world, sharing);
	const offer_t mine = {
		.verdict = sharing->verdict, .begin = part.begin, .size_bytes = part.size_bytes};
	tsr_status_t status =
		tsr_world_exchange(world, call, arguments, &mine, offers, sizeof mine);
	/* all ranks judge alike: none goes on where another stops */
	if (status == TSR_OK)
		status = judge(world, call, arguments, sharing->verdict, offers);
	if (status == TSR_OK)
		status = tsr_boot_exchange_fds(world->boot, part.fd, fds);
	if (part.fd >= 0)
		close(part.fd);
	if (status != TSR_OK)
		return status;
	take_parts(world, sharing, offers, fds);
	*left_out = false;
	for (int r = 0; r < world->size; r++)
		*left_out |= offers[r].begin + offers[r].size_bytes < sharing->size_bytes;
	return TSR_OK;
}

tsr_status_t tsr_window_share(tsr_world_t *world, const char *call, const char *arguments,
			      TSR_HEAP void *heap, size_t size_bytes)
{
	sharing_t sharing = {.heap = heap, .size_bytes = size_bytes};
	bool left = true;
	while (left) {
		const tsr_status_t status = share_round(world, call, arguments, &sharing, &left);
		if (status != TSR_OK)
			return status;
	}
	return sharing.verdict;
}
