/*
 * What is wrong with a program: what the exploring executor sends, and the
 * command prints.
 *
 * The executor fills a tsr_finding_t with what it knows and lets
 * tsr_report_finding (protocol.h) send it, which allocates nothing. The command
 * reads it back (tools/check/finding_json.h), derives which happens-before edge
 * is missing and what would supply it, and prints it
 * (tools/check/finding_text.h).
 */
#ifndef TESSERA_EXPLORE_WIRE_FINDING_H
#define TESSERA_EXPLORE_WIRE_FINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "src/explore/wire/options.h"
#include "src/views/views.h"

/** What is wrong. `access` is that of tsr_finding_t, and what its entries are for this class. */
typedef enum tsr_finding_class {
	/* 0: the later access; 1: the earlier one; 2, 3: the link, see below */
	TSR_FINDING_DATA_RACE,
	/* as a data race; both are ordered accesses, and a scope does not reach */
	TSR_FINDING_SCOPE_RACE,
	/* 0: the write; 1: the earlier read that it does not come after; 2, 3: the link */
	TSR_FINDING_REUSE,
	/* 0: the later access; 1: the earlier one, by the same coop */
	TSR_FINDING_COOP_RACE,
	/* 0: the read; 1: the copy that has brought it from where it was unwritten, if one has */
	TSR_FINDING_UNWRITTEN_READ,
	TSR_FINDING_OUT_OF_BOUNDS,  /* 0: the access */
	TSR_FINDING_FOREIGN_SLAB,   /* 0: the access; 1: who owns the slab, as far as known */
	TSR_FINDING_USE_AFTER_FREE, /* 0: the access; 1: the call that freed the memory */
	/* 0: the wait; 1: the last signal of that flag, if any; `value`: expected and seen */
	TSR_FINDING_LOST_SIGNAL,
	TSR_FINDING_DUPLICATE_SIGNAL, /* 0: the later signal; 1: the earlier one */
	TSR_FINDING_DEADLOCK,         /* 0: a wait of the cycle; the graph has the rest */
	TSR_FINDING_LIVELOCK,         /* 0: an access that goes round; the graph has the rest */
	/* 0: a wait for the block that cannot begin; the graph has the rest */
	TSR_FINDING_RESIDENCY,
	TSR_FINDING_COLLECTIVE, /* 0, 1: two ranks' calls that differ */
	TSR_FINDING_MISUSE,     /* 0: the call; `message` says what it did wrong */
	/* 0: the last load that saw an old value, if any; `message` says how the program ended */
	TSR_FINDING_PROGRAM_FAILURE,
	/* 0, 1: load and later store of one thread; 2, 3: of the next, which loads what it stores;
	 * and so on */
	TSR_FINDING_LOAD_BUFFERING,
	TSR_FINDING_CLASSES /* how many there are */
} tsr_finding_class_t;

/** A warning is told apart from findings, and does not fail the check. */
typedef enum tsr_finding_severity { TSR_FINDING_ERROR, TSR_FINDING_WARNING } tsr_finding_severity_t;

typedef enum tsr_finding_kind {
	TSR_FINDING_READ,
	TSR_FINDING_WRITE,
	TSR_FINDING_UPDATE,
	TSR_FINDING_WAIT,
	TSR_FINDING_CALL /* anything else: a meeting, a collective call, an allocation */
} tsr_finding_kind_t;

/** Who: a worker of a block, or the host program of a rank. */
typedef struct tsr_finding_who {
	int rank;            /* -1: nobody in particular */
	const char *kernel;  /* null: the host program */
	const char *variant; /* null: none */
	int launch;          /* of its rank, from 0; -1: the host program */
	int block, worker;   /* -1: the host program, or unknown */
	const char *team;    /* whose ranks the kernel sees; null: the world's */
	int team_rank;       /* of its rank in that team */
} tsr_finding_who_t;

/**
 * An access, or a call that waits. Zero or null is "not known" unless said
 * otherwise; TSR_FINDING_NOWHERE has it all unknown.
 */
typedef struct tsr_finding_access {
	tsr_finding_who_t who;
	const char *call; /* "tsr_put"; null: this entry says nothing */
	tsr_finding_kind_t kind;
	const char *file;
	int line;
	bool tiled;       /* row and col are known */
	int64_t row, col; /* of the tile, in elements */
	/* whose memory; -1: not known, or a block's shared memory (`allocation` says so) */
	int target;
	const char *allocation;
	uint64_t allocation_bytes;
	uint64_t offset, bytes; /* in the allocation; bytes 0: no memory is touched */
	tsr_views_order_t order;
	tsr_views_scope_t scope; /* of an order that is not plain */
	bool valued;             /* of a wait, signal or load: the two below are known */
	uint64_t expected,
		/* the value that a wait needs or a signal gives, and the one that is there; what
		 * was newer than a load saw */
		seen;
} tsr_finding_access_t;

#define TSR_FINDING_NOWHERE                                                                   \
	((tsr_finding_access_t){.who = {.rank = -1, .launch = -1, .block = -1, .worker = -1}, \
				.target = -1})

/**
 * A node of the wait-for graph: somebody, or a thing that somebody waits for (a
 * place on a device), which `name` says.
 */
typedef struct tsr_finding_node {
	tsr_finding_who_t who;
	const char *name; /* null: `who` is all there is to say */
	const char *call, *file;
	int line;
	/* "waits for flag 'ready'+8 >= 3, sees 2", "has not begun", "has ended" */
	const char *state;
} tsr_finding_node_t;

/** `from` waits for `to`: indices of nodes. */
typedef struct tsr_finding_edge {
	int from, to;
	const char *why; /* null: the node's state says it */
} tsr_finding_edge_t;

enum { TSR_FINDING_ACCESSES = 8 };

/**
 * A finding. The link of a race: what was signalled after the earlier access
 * (2), by its thread or by one that comes after it, and who read that before
 * the later access (3), where some value did go from one to the other without
 * ordering them. From their orders and scopes, or from whose they are in their
 * blocks, the command says what is too weak; without a link it says that
 * nothing stands between the two. Where 3 alone is not known, what was
 * signalled would do, and nobody has read it.
 */
typedef struct tsr_finding {
	tsr_finding_class_t class;
	tsr_finding_severity_t severity;
	tsr_finding_access_t access[TSR_FINDING_ACCESSES];
	int accesses; /* how many of them are written; an entry without a call is skipped */
	/* a sentence of the executor's, beside what the class says; null: none */
	const char *message;
	/* of a race: the link's signal was given before the read, by its thread, and the write
	 * waited for that */
	bool early;
	/* the edge and the change, where the executor knows better; null: derived */
	const char *missing, *change;
	const tsr_finding_node_t *nodes;
	int node_count;
	const tsr_finding_edge_t *edges;
	int edge_count;
	uint64_t seed;             /* filled in by the command */
	tsr_check_script_t script; /* likewise, from the line of the schedule; borrowed */
} tsr_finding_t;

/** "data-race": as in JSON and text. Never null. */
const char *tsr_finding_class_name(tsr_finding_class_t class);
/** False: there is no such class. */
bool tsr_finding_class_parse(const char *name, tsr_finding_class_t *class_out);
/** What it is unless the executor says otherwise: load buffering is a warning. */
tsr_finding_severity_t tsr_finding_class_severity(tsr_finding_class_t class);

/* "read" "write" "update" "wait" "call" */
const char *tsr_finding_kind_name(tsr_finding_kind_t kind);
const char *tsr_finding_order_name(tsr_views_order_t order); /* "plain" "relaxed" ... */
/* "thread" "wave" "block" "device" "system" */
const char *tsr_finding_scope_name(tsr_views_scope_t scope);

/** The narrowest scope that includes both; thread where they are one. The host's is system. */
tsr_views_scope_t tsr_finding_scope_between(const tsr_finding_who_t *a, const tsr_finding_who_t *b);

#endif
