/* The library's settings: all TESSERA_* environment variables, in one table. */
#ifndef TESSERA_BASE_OPTIONS_H
#define TESSERA_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "src/base/log.h"
#include "tessera/program.h"

/** How emulated nodes reach each other. */
typedef enum tsr_node_network {
	TSR_NODES_BY_LOOPBACK = 0, /* in the network of the launcher */
	TSR_NODES_IN_NAMESPACES,   /* each in a network of its own (src/bootstrap/spaces/) */
	TSR_NODES_AS_PERMITTED     /* in namespaces where this machine permits them */
} tsr_node_network_t;

/** All settings, read and checked. Strings live as long as the process. */
typedef struct tsr_options {
	const char *backend; /* TESSERA_BACKEND; null if not set */
	bool threads;        /* TESSERA_PLACEMENT=process|thread */
	int rank, size;      /* TESSERA_RANK, TESSERA_SIZE; -1 if not set */
	const char *job;     /* TESSERA_JOB; null if not set */
	const char *secret;  /* TESSERA_SECRET; null if not set; never printed */
	int nodes;           /* TESSERA_NODES; default 1 */
	/* TESSERA_NODE_NETWORK=loopback|namespaces|auto; default loopback */
	tsr_node_network_t node_network;
	int node;         /* TESSERA_NODE; -1 if not set: the job is on one node */
	int local_rank;   /* TESSERA_LOCAL_RANK; -1 if not set */
	const char *root; /* TESSERA_ROOT, as HOST:PORT; null if not set */
	int root_fd;      /* TESSERA_ROOT_FD; 0 if not set */
	int ranks_fd;     /* TESSERA_RANKS_FD; 0 if not set */
	/* TESSERA_NET_INTERFACE, a name or an address; null if not set */
	const char *net_interface;
	/* TESSERA_NET_DELAY as TIME or TIME,JITTER; 0 if not set; jitter <= delay */
	uint64_t net_delay_ns, net_jitter_ns;
	size_t net_rate; /* TESSERA_NET_RATE: bytes a second; 0 if not set */
	/* TESSERA_HEAP_SIZE, such as 256M; default 1G (untouched pages stay unallocated) */
	size_t heap_bytes;
	uint64_t deadline_ns; /* TESSERA_DEADLINE, such as 30s or 500ms; default 30s */
	int resident_blocks;  /* TESSERA_CPUEMU_RESIDENT_BLOCKS; default 64 */
	int max_workers;      /* TESSERA_CPUEMU_WORKERS: most workers of a block; default 8 */
	int spread_passes;    /* TESSERA_SPREAD_PASSES: threads; default 1 */
	size_t shared_bytes;  /* TESSERA_CPUEMU_SHARED_SIZE; default 228K, as on an H200 */
	bool cuda_ipc;        /* TESSERA_CUDA_HEAP=vmm|ipc; default vmm */
	bool hip_uncached;    /* TESSERA_HIP_HEAP=fine|uncached; default fine */
	/* TESSERA_NET_PLUGIN; null if not set: looked for (src/net/load.c) */
	const char *net_plugin;
	/* TESSERA_CHECK_COLLECTIVES=0|1; default 0: on the emulator and in debug builds alone */
	bool check_collectives;
	const char *tune_file; /* TESSERA_TUNE_FILE; null if not set; read by the command */
	/* TESSERA_CHECK; null if not set; read by src/explore/wire/options.h */
	const char *check;
	tsr_log_wish_t log; /* TESSERA_LOG=LEVEL or LEVEL:FILE; default quiet */
} tsr_options_t;

/**
 * Reads the environment. A TESSERA_* variable that is not in the table is an
 * error; its sentence names the nearest one. A value that cannot be read is
 * TSR_ERR_CONFIG; its sentence quotes variable and value, and says what is
 * allowed.
 */
tsr_status_t tsr_options_read(tsr_options_t *options_out);

/** A variable as people see it. */
typedef struct tsr_setting {
	const char *name, *meaning;
	const char *value;    /* as set, or the default; "(set)" of a secret; null: not set */
	const char *fallback; /* null: none */
	bool set;
} tsr_setting_t;

/** The variable of an index from 0 on. False past the last one. */
bool tsr_setting_at(size_t index, tsr_setting_t *setting_out);

/** Prints name, value, default and meaning of every variable. */
void tsr_options_print(FILE *out);

#endif
