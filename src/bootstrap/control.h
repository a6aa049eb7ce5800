/*
 * The control segment: the memory through which the ranks of a world agree.
 * Shared by the parts of src/bootstrap only.
 */
#ifndef TESSERA_BOOTSTRAP_CONTROL_H
#define TESSERA_BOOTSTRAP_CONTROL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend.h"
#include "src/bootstrap/bootstrap.h"
#include "src/bootstrap/door.h"

/** Raised with every change of tsr_control_t: ranks of two builds must not meet. */
#define TSR_CONTROL_ABI 3u

enum {
	TSR_CALL_LENGTH = 48,
	TSR_ARGUMENTS_LENGTH = 208,
	TSR_CHUNK_BYTES = 16384,     /* payload of a rank in one round of the world, */
	TSR_TEAM_CHUNK_BYTES = 2048, /* and in one of a team */
	TSR_SENTENCE_LENGTH = 1024,
	TSR_WAIT_RECORDS = 64,
	TSR_REPORTS = 64
};

/** What one rank says in one round. Written by it before the round, read by all after it. */
typedef struct tsr_control_slot {
	char call[TSR_CALL_LENGTH];
	char arguments[TSR_ARGUMENTS_LENGTH]; /* as much as fits, for the sentence */
	uint64_t arguments_hash;              /* of all of it, for the comparison */
	uint64_t size_bytes;
	unsigned char payload[]; /* as much as the meeting's chunk */
} tsr_control_slot_t;

/**
 * Where a team meets: the world, or any other. Behind these words stand
 * `posted`, a u32 for each member (the last round it has come to: for reports,
 * orders nothing), and the slots: two a member, by the parity of the round,
 * because a member that comes to round n + 1 has read what was said in round n.
 */
typedef struct tsr_meeting_words {
	_Alignas(64) _Atomic uint32_t arrived; /* arrivals of all members at all rounds */
	_Alignas(64) _Atomic uint32_t round;   /* futex: rounds that all members have come to */
	_Atomic uint32_t left;                 /* members that have left it */
	/* ranks as fibres: what all did before a round, by the round's parity */
	struct tsr_views_token *edges[2];
} tsr_meeting_words_t;

/** A rank's view of a meeting. The words are everybody's, the rest is this rank's. */
struct tsr_meeting {
	struct tsr_boot *boot;
	tsr_meeting_words_t *words;
	int me, size;
	const int *ranks;   /* ranks[i]: the rank of member i in the world; null: i itself */
	const char *name;   /* of the team; null: the world */
	uint32_t round;     /* the last one this rank has come to */
	size_t chunk_bytes; /* payload of a member in one round */
	int32_t place;      /* its first unit */
};

/*
 * Memory of the control segment for meetings, handed out in units. A page that
 * nobody touches takes no memory.
 */
enum { TSR_MEETING_UNIT_BYTES = 16384, TSR_MEETING_UNITS = 4096 };

typedef enum {
	TSR_MEMBER_ABSENT = 0,
	TSR_MEMBER_PRESENT = 1,
	TSR_MEMBER_LEFT = 2
} tsr_member_state_t;

typedef struct tsr_control_member {
	_Alignas(64) _Atomic uint32_t state; /* tsr_member_state_t */
	/* descriptors, the last collective in which it sent its own to rank 0, */
	_Atomic uint32_t fds_sent;
	_Atomic uint32_t fds_given; /* in which rank 0 sent it all, */
	_Atomic uint32_t fds_taken; /* futex: and in which it has them */
	_Atomic uint32_t quiet;     /* not 0: it has called tsr_boot_quiesce */
	_Atomic int32_t pid;        /* its process, in its own namespace */
} tsr_control_member_t;

/** Zero at first; a fresh segment of the kernel is. */
typedef struct tsr_control {
	tsr_shared_words_t words;

	tsr_control_member_t member[TSR_MAX_RANKS];
	/* rank 0 raises it while it lets the others in: for reports, orders nothing */
	_Atomic uint32_t door_looks;

	/* not 0: somebody writes, or has written, the next four */
	_Alignas(64) _Atomic uint32_t end_claimed;
	int32_t end_status;
	int32_t end_rank; /* who ended it */
	int32_t end_code; /* of the process of a rank that ended it by failing, else 0 */
	char end_sentence[TSR_SENTENCE_LENGTH];

	/* hashes of the sentences that were printed; 0: free */
	_Atomic uint64_t reports[TSR_REPORTS];
	_Atomic uint32_t wait_records_taken;
	struct {
		_Atomic uint32_t ready;
		tsr_wait_record_t record;
	} wait_records[TSR_WAIT_RECORDS];

	_Atomic uint32_t users; /* ranks as threads: the last one unmaps */

	/* not 0: the unit belongs to a team's meeting. The world's stand first, and are not counted
	 * here */
	_Atomic uint8_t units_used[TSR_MEETING_UNITS];
	_Alignas(4096) unsigned char units[TSR_MEETING_UNITS][TSR_MEETING_UNIT_BYTES];
} tsr_control_t;

struct tsr_boot {
	tsr_control_t *control;
	int rank, size;
	bool in_threads;
	uint64_t deadline_ns;
	tsr_meeting_t world;                 /* of all ranks */
	bool may_spin;                       /* there is a processor for every rank */
	struct tsr_exploration *exploration; /* null where ranks are threads or processes */
	int control_fd;                      /* keeps this rank's lock; -1 for threads */
	uint64_t process;                    /* tsr_boot_process */
	/* how often this rank has called tsr_boot_exchange_fds */
	uint32_t fds_exchanges;
	tsr_door_t door; /* rank 0's, until all have come in */
	/* when this rank has looked for lost ranks while descriptors travelled */
	uint64_t looked_ns;
	/* rank 0: ranks that have been let in, itself included */
	int connected;
	/* rank 0: to each rank; others: [0] to rank 0; -1: none */
	int sockets[TSR_MAX_RANKS];
	uint64_t processes[TSR_MAX_RANKS]; /* rank 0: of those that have been let in */
};

/** A fresh member; the caller gives it a segment. Null where the host has no memory. */
tsr_boot_t *tsr_boot_make(int rank, int size, uint64_t deadline_ns);

/** A number that no other process has: random, but for its low byte, which is `kind`. */
tsr_status_t tsr_boot_name_process(unsigned kind, uint64_t *process_out);

/** Maps the segment behind `fd`, or (-1) fresh memory of this process. */
tsr_status_t tsr_control_map(int fd, tsr_control_t **control_out);

/** Says that this rank is there: from now on its end is noticed. */
tsr_status_t tsr_boot_arrive(tsr_boot_t *boot);

/** Rank 0: lets the others in until all are there. In rendezvous.c. */
tsr_status_t tsr_boot_await_ranks(tsr_boot_t *boot, const char *call, uint64_t begin_ns);

/**
 * Ends the world because `call` has waited since `begin_ns` past the deadline;
 *  keeps wait records. Returns the world's end; TSR_OK where all have come at
 *  the last moment.
 */
tsr_status_t tsr_meeting_expire(const tsr_meeting_t *meeting, const char *call, uint64_t begin_ns);

/** Points a meeting at its words: of `units` from `unit` on. */
void tsr_meeting_place(tsr_meeting_t *meeting, tsr_boot_t *boot, int unit);

/** The units that a meeting of that many members takes. */
int tsr_meeting_units(int members, size_t chunk_bytes);

/** Where the slots begin, in bytes from the words. */
size_t tsr_meeting_slots_at(int members);

/** The last round that a member has come to. */
static inline _Atomic uint32_t *tsr_meeting_posted(const tsr_meeting_t *meeting, int member)
{
	return (_Atomic uint32_t *)(void *)(meeting->words + 1) + member;
}

/**
 * How long a rank that waits lets pass between two looks for lost ranks. A look
 * asks the kernel about every rank, and in a large world all ranks look: one of
 * them that notices is enough.
 */
static inline uint64_t tsr_boot_look_ns(const tsr_boot_t *boot)
{
	return 20000000u * (uint64_t)(1 + boot->size / 16);
}

/** The rank of a member in the world. */
static inline int tsr_meeting_rank(const tsr_meeting_t *meeting, int member)
{
	return meeting->ranks ? meeting->ranks[member] : member;
}

/**
 * Writes "rank 3", "ranks 1 and 3" or "ranks 0, 1 and 3": those of `ranks` that
 * `chosen` says. Returns how many they are.
 */
int tsr_boot_list_ranks(const bool *chosen, int ranks, char *text, size_t size);
enum { TSR_RANKS_TEXT = 8 + 5 * TSR_MAX_RANKS };

/** Ends the world where a rank that `call` waits for has ended or left. TSR_OK: none has. */
tsr_status_t tsr_boot_check_ranks(tsr_boot_t *boot, const char *call);
tsr_status_t tsr_meeting_check_ranks(const tsr_meeting_t *meeting, const char *call);

/**
 * Ends the world because the socket to `rank` was closed from its side: says
 * why that rank is gone. Never TSR_OK.
 */
tsr_status_t tsr_boot_end_closed(tsr_boot_t *boot, int rank, const char *call);

/** Ends the world with a sentence made from `format`, and returns the status of the world's end. */
tsr_status_t tsr_boot_end(tsr_boot_t *boot, tsr_status_t status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
