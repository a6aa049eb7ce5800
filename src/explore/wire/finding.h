/*
 * Findings: what is wrong with a program. The exploring executor sends them,
 * and the command prints them.
 *
 * The executor fills a tsr_finding_t with what it knows, and tsr_report_finding
 * (protocol.h) sends it without allocating memory. The command reads it
 * (tools/check/finding_json.h), derives which happens-before edge is missing
 * and what would provide it, and prints it (tools/check/finding_text.h).
 */
#ifndef TESSERA_EXPLORE_WIRE_FINDING_H
#define TESSERA_EXPLORE_WIRE_FINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "src/explore/wire/options.h"
#include "src/views/views.h"

/**
 * The class of a finding. Each comment describes the entries of `access` in
 * tsr_finding_t for that class.
 */
typedef enum tsr_finding_class {
	/* 0: the later access; 1: the earlier one; 2, 3: the link, see below */
	TSR_FINDING_DATA_RACE,
	/* as for a data race; both accesses are ordered, and a scope is too narrow */
	TSR_FINDING_SCOPE_RACE,
	/* 0: the write; 1: the earlier read that is not ordered before it; 2, 3: the link */
	TSR_FINDING_REUSE,
	/* 0: the later access; 1: the earlier one, by the same coop */
	TSR_FINDING_COOP_RACE,
	/* 0: the read; 1: the copy that brought the unwritten bytes there, if there is one */
	TSR_FINDING_UNWRITTEN_READ,
	TSR_FINDING_OUT_OF_BOUNDS,  /* 0: the access */
	TSR_FINDING_FOREIGN_SLAB,   /* 0: the access; 1: the owner of the slab, as far as known */
	TSR_FINDING_USE_AFTER_FREE, /* 0: the access; 1: the call that freed the memory */
	/* 0: the wait; 1: the last signal of that flag, if any; `expected` and `seen` are set */
	TSR_FINDING_LOST_SIGNAL,
	TSR_FINDING_DUPLICATE_SIGNAL, /* 0: the later signal; 1: the earlier one */
	TSR_FINDING_DEADLOCK,         /* 0: a wait in the cycle; the graph has the others */
	TSR_FINDING_LIVELOCK,         /* 0: an access of the loop; the graph has the others */
	/* 0: a wait for the block that cannot begin; the graph has the others */
	TSR_FINDING_RESIDENCY,
	TSR_FINDING_COLLECTIVE, /* 0, 1: calls of two ranks that differ */
	/* 0: the call; `message` says what is wrong. If workers meet and one has ended, the graph
	 * has those that wait */
	TSR_FINDING_MISUSE,
	/* 0: the last load that saw an old value, if any; `message` says how the program ended */
	TSR_FINDING_PROGRAM_FAILURE,
	/* 0, 1: a load and a later store of one thread; 2, 3: those of the next thread, which loads
	 * what the first one stores; and so on */
	TSR_FINDING_LOAD_BUFFERING,
	TSR_FINDING_CLASSES /* number of classes */
} tsr_finding_class_t;

/** A warning is listed apart from errors, and does not fail the check. */
typedef enum tsr_finding_severity { TSR_FINDING_ERROR, TSR_FINDING_WARNING } tsr_finding_severity_t;

typedef enum tsr_finding_kind {
	TSR_FINDING_READ,
	TSR_FINDING_WRITE,
	TSR_FINDING_UPDATE,
	TSR_FINDING_WAIT,
	TSR_FINDING_CALL /* anything else: a meeting, a collective call, an allocation */
} tsr_finding_kind_t;

/** A worker of a block, or the host program of a rank. */
typedef struct tsr_finding_who {
	int rank;            /* -1: none in particular */
	const char *kernel;  /* null: the host program */
	const char *variant; /* null: none */
	int launch;          /* launch of its rank, from 0; -1: the host program */
	int block, worker;   /* -1: the host program, or unknown */
	const char *team;    /* the team whose ranks the kernel sees; null: the world */
	int team_rank;       /* its rank in that team */
} tsr_finding_who_t;

/** What an allocation is made of: a dense array of `dims` dimensions; 0: it is not known. */
enum { TSR_FINDING_DIMS = 8 };
typedef struct tsr_finding_form {
	int dims;
	uint64_t element_bytes;
	uint64_t shape[TSR_FINDING_DIMS];
} tsr_finding_form_t;

/**
 * An access, or a call that waits. Zero or null means "unknown" unless its
 * comment says otherwise; in TSR_FINDING_NOWHERE everything is unknown.
 */
typedef struct tsr_finding_access {
	tsr_finding_who_t who;
	const char *call; /* "tsr_put"; null: the entry is empty */
	tsr_finding_kind_t kind;
	const char *file;
	int line;
	bool tiled;       /* row and col are set */
	int64_t row, col; /* of the tile, in elements */
	/* rank whose memory is accessed; -1: unknown, or a block's shared memory (`allocation` says
	 * which) */
	int target;
	const char *allocation;
	uint64_t allocation_bytes;
	tsr_finding_form_t form;
	uint64_t offset, bytes; /* in the allocation; bytes 0: no memory is accessed */
	tsr_views_order_t order;
	tsr_views_scope_t scope; /* if the order is not plain */
	bool valued;             /* for a wait, signal or load: the next two are set */
	uint64_t expected,
		/* expected: the value that a wait needs or a signal gives; seen: the value that is
		 * there, or that is newer than the load saw */
		seen;
} tsr_finding_access_t;

#define TSR_FINDING_NOWHERE                                                                   \
	((tsr_finding_access_t){.who = {.rank = -1, .launch = -1, .block = -1, .worker = -1}, \
				.target = -1})

/**
 * A node of the wait-for graph: a task, or a thing that a task waits for (a
 * place on a device), which `name` describes.
 */
typedef struct tsr_finding_node {
	tsr_finding_who_t who;
	const char *name; /* null: `who` is enough */
	const char *call, *file;
	int line;
	/* "waits for flag 'ready'+8 >= 3, sees 2", "has not begun", "has ended" */
	const char *state;
} tsr_finding_node_t;

/** `from` waits for `to`: indices of nodes. */
typedef struct tsr_finding_edge {
	int from, to;
	const char *why; /* null: the node's state says why */
} tsr_finding_edge_t;

enum { TSR_FINDING_ACCESSES = 8 };

/**
 * A finding. The link of a race is a pair of accesses between the two racing
 * ones: what was signalled after the earlier access (2), by its thread or by
 * one ordered after it, and the read of that signal before the later access
 * (3). A value went from one to the other without ordering them. From their
 * orders and scopes, or from their coops, the command derives what is too weak.
 * Without a link it reports that nothing stands between the two accesses. If
 * only 3 is unknown, the signal would be sufficient, and nobody has read it.
 */
typedef struct tsr_finding {
	tsr_finding_class_t class;
	tsr_finding_severity_t severity;
	tsr_finding_access_t access[TSR_FINDING_ACCESSES];
	int accesses; /* number of entries; entries without a call are skipped */
	/* a sentence of the executor in addition to the class; null: none */
	const char *message;
	/* for a race: the thread of the read gave the link's signal before the read, and the write
	 * waited for that signal */
	bool early;
	/* for a program that fails: `missing` and `change` blame a loop whose passes the threads of
	 * a coop share. The command leaves them out where the program fails without that too */
	bool blames_loop;
	/* the missing edge and the change, if the executor knows better than the command; null:
	 * derived */
	const char *missing, *change;
	const tsr_finding_node_t *nodes;
	int node_count;
	const tsr_finding_edge_t *edges;
	int edge_count;
	uint64_t seed; /* set by the command */
	/* also set by the command, from the line of the schedule; borrowed */
	tsr_check_script_t script;
} tsr_finding_t;

/** "data-race": the name in JSON and text. Never null. */
const char *tsr_finding_class_name(tsr_finding_class_t class);
/** Returns false if there is no such class. */
bool tsr_finding_class_parse(const char *name, tsr_finding_class_t *class_out);
/**
 * The severity, unless the executor says otherwise: load buffering is a
 * warning.
 */
tsr_finding_severity_t tsr_finding_class_severity(tsr_finding_class_t class);

/* "read" "write" "update" "wait" "call" */
const char *tsr_finding_kind_name(tsr_finding_kind_t kind);
const char *tsr_finding_order_name(tsr_views_order_t order); /* "plain" "relaxed" ... */
/* "thread" "wave" "block" "device" "system" */
const char *tsr_finding_scope_name(tsr_views_scope_t scope);

/**
 * Writes which bytes of the allocation are accessed, as it follows the name:
 * " [3, 5]", " [3, 5..12]" or, where it is no array or they are no whole
 * elements in a row, "+132". Returns `text`.
 */
enum { TSR_FINDING_INDEX_TEXT = 192 };
const char *tsr_finding_index_text(const tsr_finding_access_t *access,
				   char text[TSR_FINDING_INDEX_TEXT]);

/**
 * The narrowest scope that includes both; thread if they are the same. For a
 * host it is system.
 */
tsr_views_scope_t tsr_finding_scope_between(const tsr_finding_who_t *a, const tsr_finding_who_t *b);

#endif
