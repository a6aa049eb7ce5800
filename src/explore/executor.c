/* The executor for the code below it, which knows it by this table alone. */
#include "src/explore/exploration.h"

const tsr_executor_t tsr_executor = {
	.ranks = tsr_exploration_ranks,
	.compared = tsr_exploration_compared,
	.launched = tsr_exploration_launched,
	.create = tsr_exploration_create,
	.destroy = tsr_exploration_destroy,
	.run = tsr_exploration_run,
	.edge = tsr_exploration_edge,
	.edge_drop = tsr_exploration_edge_drop,
	.give = tsr_exploration_give,
	.take = tsr_exploration_take,
	.await = tsr_exploration_wait,
	.changed = tsr_exploration_changed,
	.settle = tsr_exploration_settle,
	.forgets = tsr_exploration_forgets,
	.node = tsr_exploration_node,
	.allocated = tsr_exploration_allocated,
	.freed = tsr_exploration_freed,
	.named = tsr_exploration_named,
	.mismatch = tsr_exploration_mismatch,
	.fails = tsr_exploration_fails,
	.abort = tsr_exploration_abort,
};
