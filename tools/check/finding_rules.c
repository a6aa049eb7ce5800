/*
 * Which happens-before edge is missing, and the smallest change that would
 * supply it: one table of rules.
 */
#include "tools/check/finding_rules.h"

#include "src/explore/wire/finding.h"

#define BIT(class_) (1u << TSR_FINDING_##class_)
#define RACES (BIT(DATA_RACE) | BIT(SCOPE_RACE))
#define EDGES (BIT(DATA_RACE) | BIT(REUSE))

const tsr_advice_rule_t tsr_advice_rules[] = {
	/* A flag that is put, and not raised. */
	{RACES, PAIR | NOW_WAITS_FOR_PUT,
	 "{now} waits for what {before} puts, and a put releases nothing to a wait",
	 "raise the flag by {raise} in place of {before}"},
	{EDGES, PAIR | PUTS_WHAT_WAITS,
	 "{before} waits for what {now} puts, and a put releases nothing to a wait",
	 "raise the flag by {raise} in place of {now}"},

	/* A value went across, but inside a call that orders what stands before it on all blocks
	 * with what stands behind it on all. */
	{EDGES, LINKED | GATHERED,
	 "{before} of {before-who} does not stand before {wait}, or {now} not behind it",
	 "let all blocks of all ranks make that call between {before} and {now}"},

	/* A value went across too early. */
	{EDGES, PAIR | EARLY | NOW_READS,
	 "{wait} saw {signal}, which {signal-who} had given before {now}",
	 "give {signal} behind {now}"},
	{EDGES, PAIR | EARLY, "{wait} saw {signal}, which {signal-who} had given before {before}",
	 "give {signal} behind {before}; or, if it is for what came before that, let {wait} wait "
	 "for the next one"},

	/* A value went across in words that order only themselves. */
	{EDGES, LINKED | TAKEN,
	 "{wait} finds the words of {signal}, which order themselves and nothing beside them",
	 "tsr_fence(TSR_RELEASE, TSR_SCOPE_SYSTEM) between {before} and {signal}, and "
	 "tsr_fence(TSR_ACQUIRE, TSR_SCOPE_SYSTEM) between {wait} and {now}; or tsr_signal and "
	 "tsr_wait in their place"},

	/* A value went across, but somebody is too weak. */
	{EDGES, LINKED | SIGNAL_WEAK | WAIT_WEAK | WAIT_CALL,
	 "{wait} finds what {signal} ({signal-is}) wrote, but neither orders what is around it",
	 "make {signal} {signal-needs}, and wait for what it gives before {now}: {await}, or an "
	 "acquire at {scope} scope"},
	{EDGES, LINKED | WAIT_WEAK | WAIT_CALL,
	 "{wait} finds what {signal} wrote, but does not wait for it",
	 "wait for what {signal} gives before {now}: {await}, or an acquire at {scope} scope"},
	{EDGES, LINKED | SIGNAL_WEAK | WAIT_WEAK,
	 "{wait} ({wait-is}) reads what {signal} ({signal-is}) wrote, but neither orders what is "
	 "around it",
	 "make {signal} {signal-needs}, and {wait} {wait-needs}"},
	{EDGES, LINKED | SIGNAL_WEAK,
	 "{wait} reads what {signal} wrote, but {signal-is} does not release {before} to "
	 "{wait-who}",
	 "make {signal} {signal-needs}"},
	{EDGES, LINKED | WAIT_WEAK,
	 "{wait} reads what {signal} wrote, but {wait-is} does not acquire {before} of "
	 "{before-who}",
	 "make {wait} {wait-needs}"},
	{EDGES, LINKED | SIGNAL_APART,
	 "{wait} reads what {signal} of worker {signal-worker} wrote, which does not come after "
	 "{before} of worker {before-worker}",
	 "let the workers meet (tsr_sync of the block) between {before} and {signal}"},
	{EDGES, LINKED | WAIT_APART,
	 "{wait} of worker {wait-worker} comes after {before}, but {now} of worker {now-worker} "
	 "does not come after {wait}",
	 "let the workers meet (tsr_sync of the block) between {wait} and {now}"},

	/* Kernels and copies of one rank that no event orders: they are to come as launched. */
	{RACES, PAIR | COPY_BEFORE | SAME_RANK | IN_KERNELS | NOW_WAITS,
	 "{now} finds what {before} has copied, which signals nothing",
	 "raise what {now} waits for by tsr_signal, on another rank or in a kernel behind "
	 "{before} on its stream: a copy releases nothing to a wait"},
	{EDGES, PAIR | ANY_COPY | SAME_RANK | IN_KERNELS | NOW_LAUNCHED_FIRST,
	 "{before} does not come after {now}, which was launched first: no event orders their "
	 "streams",
	 "put both on one stream, or tsr_event_record behind {now} and let the stream of {before} "
	 "tsr_stream_wait_event"},
	{EDGES, PAIR | ANY_COPY | SAME_RANK | IN_KERNELS,
	 "{now} does not come after {before}: no event orders their streams",
	 "put both on one stream, or tsr_event_record behind {before} and let the stream of {now} "
	 "tsr_stream_wait_event"},

	/* A signal that nobody has waited for. */
	{EDGES, PAIR | SIGNALLED | SIGNAL_ADDS,
	 "{signal} of {signal-who} comes after {before}, but nothing waits for it before {now}: a "
	 "wait for less than all that is added does not",
	 "wait before {now} until all is there that is added to the flag of {signal}, this "
	 "signal included; where one who adds may be a round ahead of another, let each have a "
	 "flag of its own"},
	{EDGES, PAIR | SIGNALLED,
	 "{signal} of {signal-who} comes after {before}, but nothing waits for it before {now}",
	 "wait for what {signal} gives before {now}: {await}, or an acquire at {scope} scope"},

	/* A scope that does not reach. */
	{BIT(SCOPE_RACE), PAIR | NOW_NARROW | NOW_LOCAL | BEFORE_NARROW | BEFORE_LOCAL,
	 "{now} and {before} reach one device at most, and {now-who} and {before-who} are on two",
	 "call {now-far} in place of {now}, and {before-far} in place of {before}"},
	{BIT(SCOPE_RACE), PAIR | NOW_NARROW | NOW_LOCAL,
	 "{now} reaches one device at most, and not {before-who}",
	 "call {now-far} in place of {now}"},
	{BIT(SCOPE_RACE), PAIR | BEFORE_NARROW | BEFORE_LOCAL,
	 "{before} reaches one device at most, and not {now-who}",
	 "call {before-far} in place of {before}"},
	{BIT(SCOPE_RACE), PAIR | NOW_NARROW | BEFORE_NARROW | BOTH_RELAXED,
	 "{now} ({now-is}) and {before} ({before-is}) do not include each other's thread",
	 "widen both, and the fences that order what is around them, to {scope} scope"},
	{BIT(SCOPE_RACE), PAIR | NOW_NARROW | BEFORE_NARROW,
	 "{now} ({now-is}) and {before} ({before-is}) do not include each other's thread",
	 "widen both to {scope} scope, the narrowest that includes {now-who} and {before-who}"},
	{BIT(SCOPE_RACE), PAIR | NOW_NARROW, "{now} is {now-is}, which does not reach {before-who}",
	 "widen {now} to {scope} scope"},
	{BIT(SCOPE_RACE), PAIR | BEFORE_NARROW,
	 "{before} is {before-is}, which does not reach {now-who}",
	 "widen {before} to {scope} scope"},

	/* A buffer that is written again too early. */
	{BIT(REUSE), PAIR | HOST_NOW, "{before} is not known to be over when {now} writes again",
	 "wait for the reader's kernel (tsr_stream_sync, and tsr_barrier where it is another "
	 "rank's) before {now}"},
	{BIT(REUSE), PAIR | HOST_BEFORE, "{before} is not known to be over when {now} writes again",
	 "let the host read before it launches the kernel of {now}, with tsr_barrier between where "
	 "it is another rank's"},
	{BIT(REUSE), PAIR | SAME_BLOCK,
	 "{before} of one worker is not known to be over when {now} of another writes again",
	 "meet after the read (tsr_sync of the block), or signal RETIRED after {before} with "
	 "tsr_signal_local at block scope, and "
	 "wait for it with tsr_wait_local before {now}"},
	{BIT(REUSE), PAIR | SAME_RANK,
	 "{before} of one block is not known to be over when {now} of another writes again",
	 "signal RETIRED after the read with tsr_signal_local at device scope behind {before}, and "
	 "wait for it with tsr_wait_local "
	 "before the write, {now}"},
	{BIT(REUSE), PAIR,
	 "{before} of {before-who} is not known to be over when {now} writes again",
	 "signal RETIRED after the read (tsr_signal to rank {now-rank} behind {before}), and wait "
	 "for it before the write "
	 "(tsr_wait before {now})"},

	/* A race with nothing between. */
	{RACES, PAIR | HOST_NOW | HOST_BEFORE,
	 "nothing of the hosts stands between {before} and {now}",
	 "call tsr_barrier on all ranks between {before} and {now}"},
	{RACES, PAIR | HOST_NOW | SAME_RANK,
	 "{now} of the host does not come after the kernel of {before}",
	 "call tsr_stream_sync on the stream of that kernel before {now}"},
	{RACES, PAIR | HOST_NOW,
	 "{now} of the host does not come after the kernel of {before} on rank {before-rank}",
	 "let rank {before-rank} call tsr_stream_sync, then all ranks tsr_barrier, before {now}"},
	{RACES, PAIR | HOST_BEFORE | SAME_RANK,
	 "{before} of the host does not come after the kernel of {now}, which it has launched",
	 "call tsr_stream_sync on the stream of that kernel before {before}"},
	{RACES, PAIR | HOST_BEFORE | READ_BEFORE,
	 "{before} of the host does not come after the kernel of {now} on rank {now-rank}, nor "
	 "before it",
	 "let rank {now-rank} call tsr_stream_sync, then all ranks tsr_barrier, before {before}; "
	 "if {before} is to see what was "
	 "there "
	 "before, call tsr_barrier on all ranks between it and the launch"},
	{RACES, PAIR | HOST_BEFORE,
	 "the kernel of {now} does not come after {before} of the host of rank {before-rank}",
	 "call tsr_barrier on all ranks after {before}, and before the launch of the kernel of "
	 "{now}"},
	{RACES, PAIR | SAME_BLOCK,
	 "nothing that worker {before-worker} does after {before} is waited for before {now}",
	 "meet between the two (tsr_sync of the block), or tsr_signal_local after {before} and "
	 "tsr_wait_local before {now}, at "
	 "block scope"},
	{RACES, PAIR | SAME_RANK | SAME_PLACE | BOTH_WRITE,
	 "both {now-who} and {before-who} write {memory} by {now}, and nothing orders them",
	 "let each block write to a place of its own there, by its own tsr_block_index; or, where "
	 "the later one is to win, tsr_signal_local after {before} and tsr_wait_local before "
	 "{now}, both at device scope"},
	{RACES, PAIR | SAME_RANK,
	 "nothing that {before-who} does after {before} is waited for before {now}",
	 "tsr_signal_local after {before} and tsr_wait_local before {now}, both at device scope"},
	{RACES, PAIR | SAME_PLACE | BOTH_WRITE,
	 "both {now-who} and {before-who} write {memory} by {now}, and nothing orders them",
	 "let each rank write to a place of its own there, by its own tsr_rank and not that of "
	 "who gets it, or to another rank; or, where the later one is to win, tsr_signal to rank "
	 "{now-rank} after {before}, and tsr_wait for it before {now}"},
	{RACES, PAIR | COPY_BEFORE,
	 "nothing that rank {before-rank} does after {before} is waited for before {now}",
	 "launch a kernel behind {before} on its stream that does tsr_signal to rank {now-rank}, "
	 "and tsr_wait for it before {now}"},
	{RACES, PAIR | PUT_BEFORE,
	 "nothing that rank {before-rank} does after {before} is waited for before {now}",
	 "make {before} a tsr_put_signal to rank {now-rank} (or tsr_signal behind it), and "
	 "tsr_wait for its flag before {now}"},
	{RACES, PAIR,
	 "nothing that rank {before-rank} does after {before} is waited for before {now}",
	 "tsr_signal to rank {now-rank} after {before}, and tsr_wait for it before {now}: release "
	 "and acquire at {scope} scope"},

	/* A coop's own threads. */
	{BIT(COOP_RACE), PAIR | SAME_PLACE,
	 "the threads of the coop do not meet between one {now} and the next, so one of them may "
	 "be ahead of another",
	 "call tsr_sync, with the coop that makes both, between one {now} and the next"},
	{BIT(COOP_RACE), PAIR,
	 "the threads of the coop do not meet between {before} and {now}, so one of them may do "
	 "its part of the second while "
	 "another has yet to do its part of the first",
	 "call tsr_sync, with the coop that makes both, between {before} and {now}"},

	/* Memory that is not there to be touched. */
	{BIT(UNWRITTEN_READ), PAIR,
	 "{before} of {before-who} has copied it from where nobody had written it",
	 "write all that {before} copies before it does, or wait there for whoever does; or let "
	 "{now} read what was written alone"},
	{BIT(UNWRITTEN_READ), NOW_WAITS_SHARED,
	 "{memory} is waited for, and holds anything: nobody has cleared it before {now}",
	 "clear the flag at the begin of the kernel: tsr_shared_clear, which all of the block's "
	 "workers call, before {now} and before what raises it"},
	{BIT(UNWRITTEN_READ), OTHER_MEMORY, "no write of {memory} comes before {now}",
	 "wait for the READY of whoever writes it before {now}, or write it first "
	 "(tsr_tensor_zeros, tsr_memset_heap and "
	 "tsr_barrier)"},
	{BIT(UNWRITTEN_READ), 0, "no write of {memory} comes before {now}",
	 "write it before {now} (tsr_tensor_zeros, tsr_shared_clear), or wait for whoever does"},
	{BIT(OUT_OF_BOUNDS), NOW_COLLECTIVE, "{memory} does not lie inside its allocation",
	 "let all that {now} is given lie inside of its allocation, or allocate more: of a state "
	 "what its _bytes call says for all ranks of the team"},
	{BIT(OUT_OF_BOUNDS), NOW_POINTED, "{memory} does not lie inside its allocation",
	 "let {now} begin and end inside of the allocation: check its pointer, index and size; or "
	 "allocate more"},
	{BIT(OUT_OF_BOUNDS), 0, "{memory} does not lie inside its allocation",
	 "give {now} a view of the allocation's own rows and columns, which masks its edges, or "
	 "allocate more"},
	{BIT(FOREIGN_SLAB), PAIR, "{memory} is outside what {before} of {before-who} declares",
	 "let {now} touch its own slab, or declare what it writes anew"},
	{BIT(FOREIGN_SLAB), 0, "{memory} is in another's slab",
	 "let {now} touch its own slab, or declare what it writes anew"},
	{BIT(USE_AFTER_FREE), PAIR, "{now} does not come before {before}",
	 "call tsr_stream_sync, and tsr_barrier where other ranks use the memory, before {before}"},
	{BIT(USE_AFTER_FREE), 0, "{now} touches memory that was freed",
	 "free it after the last use: tsr_stream_sync, then tsr_barrier"},

	/* Waits that cannot end, and signals that went wrong. */
	{BIT(LOST_SIGNAL), PAIR,
	 "{wait-value}, and nobody who is left raises it further; the last was {before} of "
	 "{before-who}",
	 "signal once more, or wait for what {before} gives; with many producers signal "
	 "TSR_SIGNAL_ADD"},
	{BIT(LOST_SIGNAL), LOCKING,
	 "whoever has the lock does not give it back; its word is 1 + that rank in the kernel's "
	 "team: {wait-value}",
	 "call tsr_unlock on every path behind tsr_lock, also where a wait between them has "
	 "failed; a coop that has a lock does not take it again"},
	{BIT(LOST_SIGNAL), TAKING, "the epoch of {wait-value}, and nobody who is left puts it",
	 "put the words with that epoch to rank {now-rank} on every path, in a buffer that is not "
	 "put again before they are taken; is the peer right?"},
	{BIT(LOST_SIGNAL), 0, "{wait-value}, and nobody who is left raises it",
	 "signal the flag of rank {now-rank} on every path of its producer; is the peer right?"},
	{BIT(DUPLICATE_SIGNAL), PAIR | ADD_BEFORE, "{now} and {before} both count for one wait",
	 "signal once for each tile and round, or let the wait expect as many as there are "
	 "signals"},
	{BIT(DUPLICATE_SIGNAL), PAIR,
	 "{now} sets a value that {before} has set already, or one below it",
	 "raise the epoch with each signal; a flag with more than one producer needs "
	 "TSR_SIGNAL_ADD"},
	{BIT(DEADLOCK), LOCKING,
	 "who has the lock that {now} is to take waits for what comes behind {now}",
	 "take locks in one order everywhere, and wait for nobody between tsr_lock and tsr_unlock "
	 "who needs the lock"},
	{BIT(DEADLOCK), TAKING,
	 "each waits for words that the next one puts only after its own wait, or has put and "
	 "overwritten with those of a later epoch",
	 "let one of them put before it takes, and use two buffers by parity of the epoch"},
	{BIT(DEADLOCK), 0, "each waits for what the next one does only after its own wait",
	 "let one of them signal before it waits, or let all take the steps in one order"},
	{BIT(LIVELOCK), 0,
	 "all that are left go round, and nothing that they read changes any more",
	 "let somebody write what {now} looks for, or give back what was taken; tsr_wait and "
	 "tsr_lock, which have a deadline, would tell of it"},
	{BIT(RESIDENCY), 0,
	 "the block that is waited for can begin only when one of those that wait ends",
	 "launch no more blocks than are resident together, start them with tsr_launch_group, or "
	 "let blocks take work by number so "
	 "that none waits for a later one"},
	{BIT(COLLECTIVE), PAIR, "{now-who} calls {now}, while {before-who} calls {before}",
	 "let all ranks make the same collective calls with the same arguments in the same order"},
	{BIT(COLLECTIVE), 0, "the ranks do not make the same collective call",
	 "let all ranks make the same collective calls with the same arguments in the same order"},

	/* A program that fails. */
	{BIT(PROGRAM_FAILURE), OLD_VALUE | PAIR,
	 "{now} saw a value that was no longer the newest, and {before} of the same thread "
	 "stands before it: no release or acquire keeps a store before a later load",
	 "if the result hangs on it: tsr_fence(TSR_SEQ_CST, TSR_SCOPE_SYSTEM) between {before} and "
	 "{now}, and likewise between the store and the load of the other thread"},
	{BIT(PROGRAM_FAILURE), OLD_VALUE,
	 "{now} saw a value that was no longer the newest: nothing orders the store of that before "
	 "it",
	 "if the result hangs on it, order the two: a release behind the store and an acquire "
	 "before {now}, or a wait"},
	{BIT(PROGRAM_FAILURE), 0, "",
	 "look in the program itself why it ends so; the replay shows what it prints"},

	/* What only a weaker machine shows. */
	{BIT(LOAD_BUFFERING), LINKED | CIRCLE,
	 "too little keeps {now} before {before}, {signal} before {wait}, {third} before the "
	 "store behind it, and so on round (a release does where the load that reads it acquires): "
	 "each load may read what the store above it, and the first what the last, writes later",
	 "make all these stores releases and all these loads acquires at {scope} scope; one of "
	 "each may stay as it is"},
	{BIT(LOAD_BUFFERING), LINKED | NOW_FAILS,
	 "nothing keeps {now}, where it fails, before {before}, nor {signal} before {wait}: "
	 "each load may read what the other thread's store writes later",
	 "let {now} acquire where it fails too (its failure order), and make {wait} a release at "
	 "{scope} scope"},
	{BIT(LOAD_BUFFERING), LINKED | SIGNAL_FAILS,
	 "nothing keeps {now} before {before}, nor {signal}, where it fails, before {wait}: "
	 "each load may read what the other thread's store writes later",
	 "let {signal} acquire where it fails too (its failure order), and make {before} a release "
	 "at {scope} scope"},
	{BIT(LOAD_BUFFERING), LINKED,
	 "nothing keeps {now} before {before}, nor {signal} before {wait}: "
	 "each load may read what the other thread's store writes later",
	 "make {before} a release and {signal} an acquire at {scope} scope"},
};

const int tsr_advice_rule_count = sizeof tsr_advice_rules / sizeof *tsr_advice_rules;
