/* Which rank is on which node. */
#include <stdio.h>

#include "src/bootstrap/control.h"

static int keeper_of(const tsr_boot_t *boot, int rank)
{
	/* relaxed: the first exchange orders it, or the state of the member */
	return atomic_load_explicit(&boot->control->member[rank].keeper, memory_order_relaxed);
}

/** How many nodes have a keeper below `rank`. On one node all ranks have rank 0. */
static int count_keepers(const tsr_boot_t *boot, int rank)
{
	int count = 0;
	for (int r = 0; r < rank; r++)
		count += keeper_of(boot, r) == r;
	return count;
}

int tsr_boot_node(const tsr_boot_t *boot, int rank)
{
	return boot->several ? count_keepers(boot, keeper_of(boot, rank)) : 0;
}

int tsr_boot_nodes(const tsr_boot_t *boot)
{
	return boot->several ? count_keepers(boot, boot->size) : 1;
}

const char *tsr_boot_on_nodes(const tsr_boot_t *boot, const bool *chosen, char *text, size_t size)
{
	bool nodes[TSR_MAX_RANKS] = {false};
	int count = 0, written = 0;
	text[0] = '\0';
	if (!boot->several)
		return text;
	for (int r = 0; r < boot->size; r++)
		if (chosen[r] && !nodes[tsr_boot_node(boot, r)]) {
			nodes[tsr_boot_node(boot, r)] = true;
			count++;
		}
	size_t used = (size_t)snprintf(text, size, " on node%s ", count == 1 ? "" : "s");
	for (int n = 0; n < boot->size && used < size; n++)
		if (nodes[n]) {
			const char *before = written == 0           ? ""
					     : written == count - 1 ? " and "
								    : ", ";
			used += (size_t)snprintf(text + used, size - used, "%s%d", before, n);
			written++;
		}
	return text;
}

int tsr_node_in_blocks(int rank, int ranks, int nodes, int *first_out)
{
	const int each = ranks / nodes, more = ranks % nodes;
	const int node = rank < more * (each + 1) ? rank / (each + 1) : (rank - more) / each;
	*first_out = node * each + (node < more ? node : more);
	return node;
}
