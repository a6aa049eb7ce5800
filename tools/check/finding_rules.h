/*
 * The rules by which the command advises: what they ask about a finding, and
 * what they say.
 */
#ifndef TESSERA_TOOLS_CHECK_FINDING_RULES_H
#define TESSERA_TOOLS_CHECK_FINDING_RULES_H

#include <stdint.h>

#define FACT(n_) (UINT64_C(1) << (n_))

/* What the rules ask about a finding. */
/* a value went from the earlier access's thread to the later one's */
#define LINKED FACT(0)
/* the link's write releases nothing, or not as far as the other thread */
#define SIGNAL_WEAK FACT(1)
/* the link's read acquires nothing, or not as far */
#define WAIT_WEAK FACT(2)
/* the link's read is by a signal, which acquires nothing and cannot be told to */
#define WAIT_CALL FACT(3)
/* the link's write is another worker's than the earlier access, of one block */
#define SIGNAL_APART FACT(4)
/* the link's read is another worker's than the later access, of one block */
#define WAIT_APART FACT(5)
/* the link's read is by a call that takes words with a flag of their own */
#define TAKEN FACT(6)
/* the link's write or read is inside a call that all blocks of all ranks make */
#define GATHERED FACT(7)
/* the link's write came before the second access */
#define EARLY FACT(8)
/* there is a write that would do, which nobody has read */
#define SIGNALLED FACT(9)
/* the link's write is an update */
#define SIGNAL_ADDS FACT(10)
/* both accesses are known */
#define PAIR FACT(11)
/* the first access is a host program's */
#define HOST_NOW FACT(12)
/* the second is */
#define HOST_BEFORE FACT(13)
/* of both */
#define SAME_RANK FACT(14)
/* of both, in one launch: two workers */
#define SAME_BLOCK FACT(15)
/* both accesses are by one call in the source, made again */
#define SAME_PLACE FACT(16)
/* neither of them only reads */
#define BOTH_WRITE FACT(17)
/* both are relaxed */
#define BOTH_RELAXED FACT(18)
/* both accesses are kernels' */
#define IN_KERNELS FACT(39)
/* both are of one rank, which launched the kernel of the first one first */
#define NOW_LAUNCHED_FIRST FACT(19)
/* the first is a read */
#define NOW_READS FACT(20)
/* the first is a wait */
#define NOW_WAITS FACT(21)
/* the second is a read */
#define READ_BEFORE FACT(22)
/* the second is a put without a signal */
#define PUT_BEFORE FACT(23)
/* the second is an update */
#define ADD_BEFORE FACT(24)
/* the second is a copy on a stream, which signals nothing and waits for nothing */
#define COPY_BEFORE FACT(25)
/* one of the two is */
#define ANY_COPY FACT(26)
/* an ordered access whose scope does not include the other's thread */
#define NOW_NARROW FACT(27)
/* likewise the second */
#define BEFORE_NARROW FACT(28)
/* a call that has another name for ranks: tsr_wait_local, tsr_signal_local */
#define NOW_LOCAL FACT(29)
/* likewise the second */
#define BEFORE_LOCAL FACT(30)
/* the first touches another rank's memory */
#define OTHER_MEMORY FACT(31)
/* the first is a call that all ranks of a team make */
#define NOW_COLLECTIVE FACT(40)
/* the first is given a pointer, and no view */
#define NOW_POINTED FACT(32)
/* the first is a load that saw an old value */
#define OLD_VALUE FACT(33)
/* the first is a compare-and-swap that fails, and so a load */
#define NOW_FAILS FACT(34)
/* the third is */
#define SIGNAL_FAILS FACT(35)
/* of more threads than two */
#define CIRCLE FACT(36)
/* the first is a call that takes a lock */
#define LOCKING FACT(37)
/* the first is a call that takes words with a flag of their own */
#define TAKING FACT(38)
/* the first waits for what the second, a kernel's, puts */
#define NOW_WAITS_FOR_PUT FACT(41)
/* the other way round */
#define PUTS_WHAT_WAITS FACT(42)
/* the first waits for a flag in shared memory */
#define NOW_WAITS_SHARED FACT(43)

/*
 * The first rule that fits is taken: of one of the classes, with all facts of
 * `has`. Words in braces are filled in: now, before, signal, wait: call and
 * place of the four accesses; with -who: whose it is; with -is: order and
 * scope; with -needs: the order and scope that would do, with its article; with
 * -far: the call's name for ranks. scope: the narrowest that includes both
 * threads. memory: what the first access touches. raise: the call that raises a
 * flag there; await: the call that waits for the signal.
 */
typedef struct tsr_advice_rule {
	unsigned classes;
	uint64_t has;
	const char *missing, *change;
} tsr_advice_rule_t;

extern const tsr_advice_rule_t tsr_advice_rules[];
extern const int tsr_advice_rule_count;

#endif
