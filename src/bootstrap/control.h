/*
 * The control segment: the memory through which the ranks of a world agree.
 * Only the files of src/bootstrap use it.
 */
#ifndef TESSERA_BOOTSTRAP_CONTROL_H
#define TESSERA_BOOTSTRAP_CONTROL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend.h"
#include "src/bootstrap/bootstrap.h"
#include "src/bootstrap/nodes/event.h"
#include "src/bootstrap/wire/door.h"

/**
 * Raised with every change of tsr_control_t, because ranks of two builds must
 * not share a segment.
 */
#define TSR_CONTROL_ABI 6u

enum {
	TSR_CALL_LENGTH = 48,
	TSR_ARGUMENTS_LENGTH = 208,
	TSR_CHUNK_BYTES = 16384,     /* payload of a rank in one round of the world */
	TSR_TEAM_CHUNK_BYTES = 2048, /* payload of a member in one round of a team */
	TSR_SENTENCE_LENGTH = 1024,
	TSR_WAIT_RECORDS = 64,
	TSR_REPORTS = 64
};

/**
 * One rank's message in one round. The rank writes it before the round, all
 * ranks read it after.
 */
typedef struct tsr_control_slot {
	char call[TSR_CALL_LENGTH];
	char arguments[TSR_ARGUMENTS_LENGTH]; /* as much as fits, for the sentence */
	uint64_t arguments_hash;              /* of the whole text, for the comparison */
	uint64_t size_bytes;
	unsigned char payload[]; /* as long as the meeting's chunk */
} tsr_control_slot_t;

/**
 * The shared words of a meeting, of the world or of a team. Behind them in
 * memory are `posted`, a u32 for each member (the last round in which it
 * arrived; only for reports, orders nothing), and the slots. Each member has
 * two slots, used in turn by the parity of the round: a member that arrives at
 * round n + 1 has read all messages of round n.
 */
typedef struct tsr_meeting_words {
	/* number of arrivals, of all members in all rounds */
	_Alignas(64) _Atomic uint32_t arrived;
	/* futex: number of rounds in which all members have arrived */
	_Alignas(64) _Atomic uint32_t round;
	_Atomic uint32_t left; /* number of members that have left */
	/* ranks as fibres: what all did before a round, by the round's parity */
	struct tsr_views_token *edges[2];
} tsr_meeting_words_t;

/**
 * A rank's view of a meeting. All members share the words; the rest belongs to
 * this rank.
 */
struct tsr_meeting {
	struct tsr_boot *boot;
	tsr_meeting_words_t *words;
	int me, size;
	const int *ranks;   /* ranks[i]: the world rank of member i; null: i itself */
	const char *name;   /* the team's name; null: the world */
	uint32_t round;     /* the last round in which this rank arrived */
	size_t chunk_bytes; /* payload of a member in one round */
	int32_t place;      /* its first unit */
	bool far;           /* some members may be on other nodes, which must be told */
};

/*
 * Memory of the control segment for meetings, handed out in units. Untouched
 * pages use no memory.
 */
enum { TSR_MEETING_UNIT_BYTES = 16384, TSR_MEETING_UNITS = 4096 };

/** A topic of the board (board.h); all of it guarded by `board_held`. */
typedef struct tsr_topic {
	uint64_t key;  /* 1 more than the key that it is for; 0: free */
	int32_t place; /* its first unit: a tsr_board_row_t for each rank of the world */
	uint32_t left; /* number of ranks of this node that need it no more */
} tsr_topic_t;

enum { TSR_TOPICS = 1024 };

typedef enum {
	TSR_MEMBER_ABSENT = 0,
	TSR_MEMBER_PRESENT = 1,
	TSR_MEMBER_LEFT = 2
} tsr_member_state_t;

typedef struct tsr_control_member {
	_Alignas(64) _Atomic uint32_t state; /* tsr_member_state_t */
	/* counts calls of tsr_boot_exchange_fds: the last one in which this rank sent its
	 * descriptor to rank 0 */
	_Atomic uint32_t fds_sent;
	/* the last one in which rank 0 sent all descriptors to this rank */
	_Atomic uint32_t fds_given;
	_Atomic uint32_t fds_taken; /* futex: the last one in which this rank received them */
	_Atomic uint32_t quiet;     /* not 0: this rank has called tsr_boot_quiesce */
	_Atomic int32_t pid;        /* its process number, in its own namespace */
	_Atomic int32_t keeper;     /* the lowest rank of its node; written before `state` */
} tsr_control_member_t;

/** Why a world has ended. */
typedef struct tsr_end {
	int32_t status;
	int32_t rank; /* the rank that ended it */
	int32_t code; /* exit code of the rank that ended it by failing, else 0 */
	char sentence[TSR_SENTENCE_LENGTH];
} tsr_end_t;

/** The segment. Zero at first, as the kernel provides it. */
typedef struct tsr_control {
	tsr_shared_words_t words;

	tsr_control_member_t member[TSR_MAX_RANKS];
	/* rank 0 raises it while it lets the others in; only for reports, orders nothing */
	_Atomic uint32_t door_looks;

	/* not 0: some rank is writing, or has written, `end` */
	_Alignas(64) _Atomic uint32_t end_claimed;
	tsr_end_t end;

	/* A world on several nodes; on one node these are not used. Node 0 decides why it ends: on
	 * the other nodes, ranks propose, and `end` is what node 0 decided. */
	int32_t keeper; /* the lowest rank of this node; written before others map the segment */
	_Atomic uint32_t proposal_claimed; /* as end_claimed */
	_Atomic uint32_t proposal_ready;
	tsr_end_t proposal;
	/* not 0: 1 + the keeper of a node of which this one has not heard for half a deadline; only
	 * for reports */
	_Atomic uint32_t silent;
	_Atomic uint32_t relay_gone; /* not 0: nobody passes anything on any more */
	tsr_event_ring_t events;     /* from this node's ranks to its relay */

	/* hashes of the sentences that were printed; 0: free */
	_Atomic uint64_t reports[TSR_REPORTS];
	_Atomic uint32_t wait_records_taken;
	struct {
		_Atomic uint32_t ready;
		tsr_wait_record_t record;
	} wait_records[TSR_WAIT_RECORDS];

	_Atomic uint32_t users; /* ranks as threads: the last one unmaps the segment */

	_Atomic uint32_t
		board_held;   /* not 0: a rank of this node looks for a topic, or makes one */
	uint32_t board_waits; /* ranks as fibres: not 0 once a rank has waited to post */
	/* futex: counts what the relay has written to the board */
	_Atomic uint32_t board_news;
	/* not 0: some node had no room for a post that another one may wait for */
	_Atomic uint32_t posts_lost;
	tsr_topic_t topics[TSR_TOPICS];

	/* not 0: the unit belongs to a team's meeting, or to a topic. The world's units come first,
	 * and are not marked here. */
	_Atomic uint8_t units_used[TSR_MEETING_UNITS];
	_Alignas(4096) unsigned char units[TSR_MEETING_UNITS][TSR_MEETING_UNIT_BYTES];
} tsr_control_t;

struct tsr_boot {
	tsr_control_t *control;
	int rank, size;
	bool several; /* the job is on several nodes */
	int keeper;   /* the lowest rank of this node: it owns the door and the relay */
	int bell_fd;  /* several nodes: an eventfd that wakes the relay of this node; else -1 */
	struct tsr_relay *relay; /* the keeper's, of a job on several nodes; else null */
	bool by_id;              /* as in tsr_job_t */
	bool in_threads;
	uint64_t deadline_ns;
	tsr_meeting_t world;                 /* the meeting of all ranks */
	bool may_spin;                       /* there is a processor for every rank */
	struct tsr_exploration *exploration; /* null if ranks are threads or processes */
	int control_fd;                      /* holds this rank's lock; -1 for threads */
	uint64_t process;                    /* tsr_boot_process */
	pid_t pid;                           /* of the process that has made this membership */
	/* number of this rank's calls of tsr_boot_exchange_fds */
	uint32_t fds_exchanges;
	tsr_door_t door; /* the keeper: open until all ranks have come in */
	/* when this rank last looked for lost ranks during an exchange of descriptors */
	uint64_t looked_ns;
	/* the keeper: number of ranks that have been let in, including itself */
	int connected;
	/* the keeper: sockets to each rank of its node; others: [0] is the one to it; -1: none */
	int sockets[TSR_MAX_RANKS];
	/* the keeper: processes of the ranks that have been let in */
	uint64_t processes[TSR_MAX_RANKS];
	/* the keeper: their process numbers, and its own, as its PID namespace has them; 0:
	 * unknown */
	pid_t pids[TSR_MAX_RANKS];
};

/**
 * Makes a membership without a segment; the caller adds that. Null if the host
 * has no memory.
 */
tsr_boot_t *tsr_boot_make(int rank, int size, uint64_t deadline_ns);

/**
 * Makes an identity that no other process has: random, except for its low byte,
 * which is `kind`.
 */
tsr_status_t tsr_boot_name_process(unsigned kind, uint64_t *process_out);

/** Maps the segment behind `fd`, or (-1) new memory of this process. */
tsr_status_t tsr_control_map(int fd, tsr_control_t **control_out);

/** Ends the world of this segment: the first call decides. Wakes all waiters. */
void tsr_control_end(tsr_control_t *control, const tsr_end_t *end);

/**
 * Keeps a wait record. Returns its index, or -1 if there is no room for one
 * more.
 */
int tsr_control_keep_record(tsr_control_t *control, const tsr_wait_record_t *record);

/** Where the ranks of a node must be, to go on in a sentence about one that never came. */
extern const char tsr_boot_in_one_network[];

/** Ends a sentence about two worlds that look like one: how to tell them apart. */
const char *tsr_boot_own_name(const tsr_boot_t *boot);

/** Announces this rank: from now on its end is noticed. */
tsr_status_t tsr_boot_arrive(tsr_boot_t *boot);

/** The keeper: lets the other ranks of its node in until all are there. In rendezvous.c. */
tsr_status_t tsr_boot_await_ranks(tsr_boot_t *boot, const char *call, uint64_t begin_ns);

/**
 * Ends the world because `call` has waited since `begin_ns`, past the deadline;
 * keeps wait records. Returns the status of the world's end, or TSR_OK if all
 * have arrived at the last moment.
 */
tsr_status_t tsr_meeting_expire(const tsr_meeting_t *meeting, const char *call, uint64_t begin_ns);

/**
 * Ends the world if an exchange of descriptors is not over that this rank has
 * left, and blames those that hold it up: the ranks that are still in it wait
 * themselves. TSR_OK: it is over, or there was none. In fds.c.
 */
tsr_status_t tsr_boot_expire_fds(tsr_boot_t *boot);

/** Sets the words of a meeting: the memory from unit `unit` on. */
void tsr_meeting_place(tsr_meeting_t *meeting, tsr_boot_t *boot, int unit);

/** The slot of a member, for the meeting's round. */
tsr_control_slot_t *tsr_meeting_slot(const tsr_meeting_t *meeting, int member);

/**
 * Counts the meeting's member `me` in, in this segment; the last one completes
 * the round and wakes the others. Its slot is filled.
 */
void tsr_meeting_count_in(tsr_meeting_t *meeting);

/**
 * Counts the member out: the last one returns the place, on the node that gave
 * it, and clears it on the others.
 */
void tsr_meeting_count_out(tsr_meeting_t *meeting);

/** Takes units of this node's share, side by side. Returns the first one, or -1: no room. */
int tsr_control_take_units(const tsr_boot_t *boot, int units);
void tsr_control_give_units(tsr_control_t *control, int first, int units);

/** The number of units that a meeting of this many members needs. */
int tsr_meeting_units(int members, size_t chunk_bytes);

/** The offset of the slots from the words, in bytes. */
size_t tsr_meeting_slots_at(int members);

/** The last round in which a member arrived. */
static inline _Atomic uint32_t *tsr_meeting_posted(const tsr_meeting_t *meeting, int member)
{
	return (_Atomic uint32_t *)(void *)(meeting->words + 1) + member;
}

/**
 * How long a waiting rank pauses between two looks for lost ranks. A look asks
 * the kernel about every rank. In a large world all ranks look, and it is
 * enough if one of them notices.
 */
static inline uint64_t tsr_boot_look_ns(const tsr_boot_t *boot)
{
	return 20000000u * (uint64_t)(1 + boot->size / 16);
}

/** Whether this rank and `rank`, which has arrived, are on different nodes. */
static inline bool tsr_boot_is_far(const tsr_boot_t *boot, int rank)
{
	/* relaxed: the state of the member orders it */
	return boot->several && atomic_load_explicit(&boot->control->member[rank].keeper,
						     memory_order_relaxed) != boot->keeper;
}

/** The socket to `rank` of this node: the keeper has one to each, the others to the keeper. */
static inline int tsr_boot_socket(const tsr_boot_t *boot, int rank)
{
	return boot->sockets[boot->rank == boot->keeper ? rank : 0];
}

/** The world rank of a member. */
static inline int tsr_meeting_rank(const tsr_meeting_t *meeting, int member)
{
	return meeting->ranks ? meeting->ranks[member] : member;
}

/**
 * Writes "rank 3", "ranks 1 and 3" or "ranks 0, 1 and 3": those of `ranks`
 * ranks for which `chosen` is true. Returns their number.
 */
int tsr_boot_list_ranks(const bool *chosen, int ranks, char *text, size_t size);
enum { TSR_RANKS_TEXT = 8 + 5 * TSR_MAX_RANKS };

/**
 * Writes " on node 1" or " on nodes 0 and 2": where those of `chosen` are.
 * Nothing in a world of one node. Returns `text`.
 */
const char *tsr_boot_on_nodes(const tsr_boot_t *boot, const bool *chosen, char *text, size_t size);
enum { TSR_NODES_TEXT = 16 + 5 * TSR_MAX_RANKS };

/**
 * Ends the world if a rank that `call` waits for has ended or left. TSR_OK:
 * none has.
 */
tsr_status_t tsr_boot_check_ranks(tsr_boot_t *boot, const char *call);
tsr_status_t tsr_meeting_check_ranks(const tsr_meeting_t *meeting, const char *call);

/**
 * Ends the world because rank `rank` closed its end of the socket; the sentence
 * says why that rank is gone. Never TSR_OK.
 */
tsr_status_t tsr_boot_end_closed(tsr_boot_t *boot, int rank, const char *call);

/**
 * Ends the world with a sentence made from `format`. Returns the status of the
 * world's end.
 */
tsr_status_t tsr_boot_end(tsr_boot_t *boot, tsr_status_t status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
