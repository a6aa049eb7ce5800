/*
 * Which happens-before edge is missing, and the smallest change that would
 * supply it: one table of rules.
 */
#include <stdarg.h>
#include <string.h>

#include "tools/check/finding_text.h"

/* What the rules ask about a finding. */
enum {
	LINKED = 1 << 0, /* a value went from the earlier access's thread to the later one's */
	/* the link's write releases nothing, or not as far as the other thread */
	SIGNAL_WEAK = 1 << 1,
	WAIT_WEAK = 1 << 2,   /* the link's read acquires nothing, or not as far */
	PAIR = 1 << 3,        /* both accesses are known */
	HOST_NOW = 1 << 4,    /* the first access is a host program's */
	HOST_BEFORE = 1 << 5, /* the second is */
	SAME_RANK = 1 << 6,   /* of both */
	SAME_BLOCK = 1 << 7,  /* of both, in one launch: two workers */
	PUT_BEFORE = 1 << 8,  /* the second is a put without a signal */
	/* an ordered access whose scope does not include the other's thread */
	NOW_NARROW = 1 << 9,
	BEFORE_NARROW = 1 << 10,
	ADD_BEFORE = 1 << 11,   /* the second is an update */
	OTHER_MEMORY = 1 << 12, /* the first touches another rank's memory */
	SIGNALLED = 1 << 13,    /* there is a write that would do, which nobody has read */
	/* the link's write is another worker's than the earlier access, of one block */
	SIGNAL_APART = 1 << 14,
	/* the link's read is another worker's than the later access, of one block */
	WAIT_APART = 1 << 15,
	CIRCLE = 1 << 16, /* of more threads than two */
	/* the second is a copy on a stream, which signals nothing and waits for nothing */
	COPY_BEFORE = 1 << 17,
	ANY_COPY = 1 << 18,     /* one of the two is */
	READ_BEFORE = 1 << 19,  /* the second is a read */
	OLD_VALUE = 1 << 20,    /* the first is a load that saw an old value */
	NOW_READS = 1 << 24,    /* the first is a read */
	EARLY = 1 << 23,        /* the link's write came before the second access */
	NOW_FAILS = 1 << 21,    /* the first is a compare-and-swap that fails, and so a load */
	SIGNAL_FAILS = 1 << 22, /* the third is */
	/* the link's read is by a signal, which acquires nothing and cannot be told to */
	WAIT_CALL = 1 << 19,
	SAME_PLACE = 1 << 21, /* both accesses are by one call in the source, made again */
	LOCKING = 1 << 25,    /* the first is a call that takes a lock */
	TAKING = 1 << 26,     /* the first is a call that takes words with a flag of their own */
	TAKEN = 1 << 27,      /* the link's read is by such a call */
	/* the link's write or read is inside a call that all blocks of all ranks make */
	GATHERED = 1 << 20,
};

#define BIT(class_) (1u << TSR_FINDING_##class_)
#define RACES (BIT(DATA_RACE) | BIT(SCOPE_RACE))
#define EDGES (BIT(DATA_RACE) | BIT(REUSE))

/*
 * The first rule that fits is taken: of one of the classes, with all facts of
 * `has`. Words in braces are filled in: now, before, signal, wait: call and
 * place of the four accesses; with -who: whose it is; with -is: order and
 * scope; with -needs: the order and scope that would do, with its article.
 * scope: the narrowest that includes both threads. memory: what the first
 * access touches.
 */
typedef struct advice_rule {
	unsigned classes, has;
	const char *missing, *change;
} advice_rule_t;

static const advice_rule_t rules[] = {
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
	 "make {signal} {signal-needs}, and wait for what it gives before {now}: tsr_wait, or an "
	 "acquire at {scope} scope"},
	{EDGES, LINKED | WAIT_WEAK | WAIT_CALL,
	 "{wait} finds what {signal} wrote, but does not wait for it",
	 "wait for what {signal} gives before {now}: tsr_wait, or an acquire at {scope} scope"},
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
	{EDGES, PAIR | SIGNALLED,
	 "{signal} of {signal-who} comes after {before}, but nothing waits for it before {now}",
	 "wait for what {signal} gives before {now}: tsr_wait, or an acquire at {scope} scope"},

	/* A scope that does not reach. */
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
	{BIT(REUSE), PAIR | ANY_COPY | SAME_RANK,
	 "{now} does not come after {before}: no event orders their streams",
	 "put both on one stream, or tsr_event_record behind {before} and let the stream of {now} "
	 "tsr_stream_wait_event"},
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
	{RACES, PAIR | ANY_COPY | SAME_RANK,
	 "{now} does not come after {before}: no event orders their streams",
	 "put both on one stream, or tsr_event_record behind {before} and let the stream of {now} "
	 "tsr_stream_wait_event"},
	{RACES, PAIR | SAME_RANK,
	 "nothing that {before-who} does after {before} is waited for before {now}",
	 "tsr_signal_local after {before} and tsr_wait_local before {now}, both at device scope"},
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
	{BIT(UNWRITTEN_READ), OTHER_MEMORY, "no write of {memory} comes before {now}",
	 "wait for the READY of whoever writes it before {now}, or write it first "
	 "(tsr_tensor_zeros, tsr_memset_heap and "
	 "tsr_barrier)"},
	{BIT(UNWRITTEN_READ), 0, "no write of {memory} comes before {now}",
	 "write it before {now} (tsr_tensor_zeros, tsr_shared_clear), or wait for whoever does"},
	{BIT(OUT_OF_BOUNDS), 0, "{memory} does not lie inside its allocation",
	 "give {now} a view of the allocation's own rows and columns, which masks its edges, or "
	 "allocate more"},
	{BIT(FOREIGN_SLAB), PAIR, "{memory} is in the slab of {before-who}",
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
	 "let somebody write what {now} looks for, or wait with tsr_wait, which has a deadline"},
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
	{BIT(PROGRAM_FAILURE), OLD_VALUE,
	 "{now} saw a value that was no longer the newest: nothing orders the store of that before "
	 "it",
	 "if the result hangs on it, order the two: a release behind the store and an acquire "
	 "before {now}, or a wait; or read by "
	 "an "
	 "update, which sees the newest"},

	/* What only a weaker machine shows. */
	{BIT(LOAD_BUFFERING), LINKED | CIRCLE,
	 "nothing keeps {now} before {before}, {signal} before {wait}, nor {third} before the "
	 "store behind it, and so on round: "
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

/* ---------------------------------------------------------------- facts */

static bool known(const tsr_finding_t *f, int index)
{
	return index < f->accesses && f->access[index].call != NULL;
}

static bool releases(const tsr_finding_access_t *access)
{
	return access->order == TSR_VIEWS_RELEASE || access->order == TSR_VIEWS_ACQ_REL ||
	       access->order == TSR_VIEWS_SEQ_CST;
}

static bool acquires(const tsr_finding_access_t *access)
{
	return access->order == TSR_VIEWS_ACQUIRE || access->order == TSR_VIEWS_ACQ_REL ||
	       access->order == TSR_VIEWS_SEQ_CST;
}

/** Whether they are two workers of one block. */
static bool are_apart(const tsr_finding_who_t *a, const tsr_finding_who_t *b)
{
	return a->worker != b->worker && a->kernel != NULL &&
	       tsr_finding_scope_between(a, b) <= TSR_VIEWS_BLOCK;
}

/** Whether the program says its order. */
static bool is_atomic(const tsr_finding_access_t *access)
{
	return strncmp(access->call, "tsr_atomic_", strlen("tsr_atomic_")) == 0;
}

static bool is_take(const tsr_finding_access_t *access)
{
	return strncmp(access->call, "tsr_take_marked", strlen("tsr_take_marked")) == 0;
}

/** Whether all blocks of all ranks make the call, and meet in it; by how names begin. */
static bool is_collective(const tsr_finding_access_t *access)
{
	static const char *const calls[] = {
		"tsr_all_gather",      "tsr_gather",      "tsr_all_to_all",     "tsr_scatter",
		"tsr_all_reduce_view", "tsr_reduce_view", "tsr_reduce_scatter", "tsr_broadcast"};
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (strncmp(access->call, calls[i], strlen(calls[i])) == 0)
			return true;
	return false;
}

static unsigned facts_of_link(const tsr_finding_t *f)
{
	const tsr_finding_access_t *signal = &f->access[2], *wait = &f->access[3];
	if (!known(f, 2) || !known(f, 3))
		return known(f, 2) ? SIGNALLED : 0;
	if (f->early)
		return EARLY;
	const tsr_views_scope_t scope = tsr_finding_scope_between(&signal->who, &wait->who);
	return LINKED | (is_atomic(wait) || acquires(wait) ? 0 : WAIT_CALL) |
	       (is_collective(signal) || is_collective(wait) ? GATHERED : 0) |
	       (is_take(wait) ? TAKEN : 0) | (known(f, 4) ? CIRCLE : 0) |
	       (are_apart(&signal->who, &f->access[1].who) ? SIGNAL_APART : 0) |
	       (are_apart(&wait->who, &f->access[0].who) ? WAIT_APART : 0) |
	       (!releases(signal) || signal->scope < scope ? SIGNAL_WEAK : 0) |
	       (!acquires(wait) || wait->scope < scope ? WAIT_WEAK : 0);
}

static bool is_copy(const tsr_finding_access_t *access)
{
	return strcmp(access->call, "tsr_stream_put_2d") == 0;
}

static bool is_same_place(const tsr_finding_access_t *a, const tsr_finding_access_t *b)
{
	return strcmp(a->call, b->call) == 0 && a->line == b->line && a->file && b->file &&
	       strcmp(a->file, b->file) == 0;
}

static unsigned facts_of_pair(const tsr_finding_access_t *now, const tsr_finding_access_t *before)
{
	const tsr_views_scope_t scope = tsr_finding_scope_between(&now->who, &before->who);
	const bool put =
		strcmp(before->call, "tsr_put") == 0 || strcmp(before->call, "tsr_put_2d") == 0;
	unsigned facts = PAIR;
	facts |= before->who.kernel == NULL ? HOST_BEFORE : 0;
	facts |= now->who.rank == before->who.rank ? SAME_RANK : 0;
	facts |= scope <= TSR_VIEWS_BLOCK && now->who.kernel != NULL ? SAME_BLOCK : 0;
	facts |= put ? PUT_BEFORE : 0;
	facts |= is_same_place(now, before) ? SAME_PLACE : 0;
	facts |= is_copy(before) ? COPY_BEFORE : 0;
	facts |= is_copy(before) || is_copy(now) ? ANY_COPY : 0;
	facts |= now->order != TSR_VIEWS_PLAIN && now->scope < scope ? NOW_NARROW : 0;
	facts |= before->order != TSR_VIEWS_PLAIN && before->scope < scope ? BEFORE_NARROW : 0;
	facts |= before->kind == TSR_FINDING_UPDATE ? ADD_BEFORE : 0;
	facts |= before->kind == TSR_FINDING_READ ? READ_BEFORE : 0;
	return facts;
}

static bool fails(const tsr_finding_access_t *access)
{
	return strcmp(access->call, "tsr_atomic_cas") == 0 && access->kind == TSR_FINDING_READ;
}

static unsigned facts_of(const tsr_finding_t *f)
{
	const tsr_finding_access_t *now = &f->access[0];
	unsigned facts = facts_of_link(f);
	facts |= known(f, 0) && fails(now) ? NOW_FAILS : 0;
	facts |= known(f, 2) && fails(&f->access[2]) ? SIGNAL_FAILS : 0;
	if (known(f, 0)) {
		facts |= now->who.kernel == NULL ? HOST_NOW : 0;
		facts |= now->target >= 0 && now->target != now->who.rank ? OTHER_MEMORY : 0;
		facts |= strncmp(now->call, "tsr_lock", strlen("tsr_lock")) == 0 ? LOCKING : 0;
		facts |= is_take(now) ? TAKING : 0;
		facts |= now->kind == TSR_FINDING_READ ? NOW_READS : 0;
		facts |= now->valued && now->kind == TSR_FINDING_READ ? OLD_VALUE : 0;
		facts |= known(f, 1) ? facts_of_pair(now, &f->access[1]) : 0;
	}
	return facts;
}

/* ---------------------------------------------------------------- words in braces */

typedef struct advice_text {
	char *text;
	size_t size, used;
} advice_text_t;

__attribute__((format(printf, 2, 3))) static void append(advice_text_t *to, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	const int length = vsnprintf(to->text + to->used, to->size - to->used, format, arguments);
	va_end(arguments);
	if ((size_t)length < to->size - to->used) {
		to->used += (size_t)length;
		return;
	}
	to->used = to->size - 1;
	/* a character that may be cut in two */
	while (to->used > 0 && (unsigned char)to->text[to->used - 1] >= 0x80)
		to->used--;
	to->text[to->used] = '\0';
}

static void append_is(advice_text_t *to, const tsr_finding_access_t *access)
{
	if (access->order == TSR_VIEWS_PLAIN)
		append(to, "a plain access");
	else
		append(to, "%s at %s scope", tsr_finding_order_name(access->order),
		       tsr_finding_scope_name(access->scope));
}

/**
 * The order that an access of a link needs, which keeps what it has, and the
 * scope that includes the other.
 */
static void append_needs(advice_text_t *to, const tsr_finding_t *f, int index)
{
	const tsr_finding_access_t *access = &f->access[index];
	const bool signal = index == 2;
	const tsr_views_scope_t scope =
		tsr_finding_scope_between(&f->access[2].who, &f->access[3].who);
	const char *order = signal             ? (acquires(access) ? "an acq_rel" : "a release")
			    : releases(access) ? "an acq_rel"
					       : "an acquire";
	if (access->order == TSR_VIEWS_SEQ_CST)
		order = "a seq_cst";
	append(to, "%s at %s scope", order,
	       tsr_finding_scope_name(scope > access->scope ? scope : access->scope));
}

static void append_value(advice_text_t *to, const tsr_finding_access_t *wait)
{
	char memory[256];
	append(to, "%s",
	       wait->bytes > 0 ? tsr_finding_memory_text(wait, memory, sizeof memory) : "the flag");
	if (wait->valued)
		append(to, " is %llu and %llu is waited for", (unsigned long long)wait->seen,
		       (unsigned long long)wait->expected);
	else
		append(to, " is waited for");
}

/** A word about one access: "" for call and place, "who", "is", "needs", "rank", "worker". */
static void append_about(advice_text_t *to, const tsr_finding_t *f, int index, const char *aspect)
{
	const tsr_finding_access_t *access = &f->access[index];
	char who[256];
	if (strcmp(aspect, "who") == 0)
		append(to, "%s", tsr_finding_who_text(&access->who, who, sizeof who));
	else if (strcmp(aspect, "is") == 0)
		append_is(to, access);
	else if (strcmp(aspect, "needs") == 0)
		append_needs(to, f, index);
	else if (strcmp(aspect, "rank") == 0)
		append(to, "%s", tsr_finding_rank_text(&access->who, who, sizeof who));
	else if (strcmp(aspect, "worker") == 0)
		append(to, "%d", access->who.worker);
	else if (access->call == NULL)
		append(to, "the access");
	else if (access->file != NULL)
		append(to, "%s at %s:%d", access->call, access->file, access->line);
	else
		append(to, "%s", access->call);
}

/** The narrowest that includes the threads of both accesses, or of all of a circle. */
static tsr_views_scope_t scope_of_all(const tsr_finding_t *f)
{
	const bool circle = f->class == TSR_FINDING_LOAD_BUFFERING;
	tsr_views_scope_t scope = TSR_VIEWS_THREAD;
	for (int i = 1; i < (circle ? f->accesses : 2); i++) {
		const tsr_views_scope_t between =
			tsr_finding_scope_between(&f->access[0].who, &f->access[i].who);
		scope = between > scope ? between : scope;
	}
	return scope;
}

static void append_word(advice_text_t *to, const tsr_finding_t *f, const char *word)
{
	static const char *const roles[] = {"now", "before", "signal", "wait", "third"};
	char memory[256];
	if (strcmp(word, "scope") == 0) {
		append(to, "%s", tsr_finding_scope_name(scope_of_all(f)));
	} else if (strcmp(word, "memory") == 0) {
		tsr_finding_memory_text(&f->access[0], memory, sizeof memory);
		append(to, "%s", *memory != '\0' ? memory : "what it touches");
	} else if (strcmp(word, "wait-value") == 0) {
		append_value(to, &f->access[0]);
	}
	for (int i = 0; i < (int)(sizeof roles / sizeof *roles); i++) {
		const size_t length = strlen(roles[i]);
		if (strncmp(word, roles[i], length) != 0 || strcmp(word, "wait-value") == 0)
			continue;
		if (word[length] == '\0' || word[length] == '-')
			append_about(to, f, i, word + length + (word[length] == '-'));
	}
}

static void fill_in(const char *template, const tsr_finding_t *f, char *text, size_t size)
{
	advice_text_t to = {.text = text, .size = size};
	*text = '\0';
	while (*template != '\0') {
		const size_t plain = strcspn(template, "{");
		append(&to, "%.*s", (int)plain, template);
		template += plain;
		if (*template == '\0')
			break;
		char word[24];
		const size_t length = strcspn(template, "}") - 1;
		snprintf(word, sizeof word, "%.*s", (int)length, template + 1);
		append_word(&to, f, word);
		template += length + 2;
	}
}

void tsr_finding_advise(const tsr_finding_t *f, tsr_finding_advice_t *advice)
{
	const unsigned facts = facts_of(f);
	const advice_rule_t *found = NULL;
	for (size_t i = 0; i < sizeof rules / sizeof *rules && found == NULL; i++)
		if ((rules[i].classes >> f->class & 1u) && (rules[i].has & ~facts) == 0)
			found = &rules[i];
	fill_in(f->missing != NULL ? ""
		: found != NULL    ? found->missing
				   : "",
		f, advice->missing, sizeof advice->missing);
	fill_in(f->change != NULL ? ""
		: found != NULL   ? found->change
				  : "",
		f, advice->change, sizeof advice->change);
	if (f->missing != NULL)
		snprintf(advice->missing, sizeof advice->missing, "%s", f->missing);
	if (f->change != NULL)
		snprintf(advice->change, sizeof advice->change, "%s", f->change);
}
