/*
 * What this library uses of PMIx, as libpmix.so.2 has it: the interface that
 * the PMIx Standard fixes, unchanged from version 3 on. It is declared here, so
 * that no build needs PMIx's headers; tests/unit/bootstrap/test_pmix.c compares
 * this with <pmix.h> where that is.
 */
#ifndef TESSERA_BOOTSTRAP_PMIX_ABI_H
#define TESSERA_BOOTSTRAP_PMIX_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TSR_PMIX_NSPACE_BYTES = 256,
	TSR_PMIX_KEY_BYTES = 512,
	/* types of values */
	TSR_PMIX_BOOL = 1,
	TSR_PMIX_STRING = 3,
	TSR_PMIX_INT = 6,
	TSR_PMIX_UINT32 = 14,
	/* who may read what is put: all processes of the job */
	TSR_PMIX_GLOBAL = 3,
	/* statuses */
	TSR_PMIX_SUCCESS = 0,
	TSR_PMIX_ERR_TIMEOUT = -24,
	TSR_PMIX_ERR_UNREACH = -25,
	TSR_PMIX_ERR_PARTIAL_SUCCESS = -52
};

/** A rank that means the job. */
#define TSR_PMIX_WILDCARD (UINT32_MAX - 1)

#define TSR_PMIX_JOB_SIZE "pmix.job.size"    /* uint32 */
#define TSR_PMIX_LOCAL_PEERS "pmix.lpeers"   /* string: the ranks of this node, "0,1,4" */
#define TSR_PMIX_COLLECT_DATA "pmix.collect" /* bool */
#define TSR_PMIX_TIMEOUT "pmix.timeout"      /* int: seconds */

typedef struct tsr_pmix_proc {
	char nspace[TSR_PMIX_NSPACE_BYTES]; /* the job */
	uint32_t rank;
} tsr_pmix_proc_t;

typedef struct tsr_pmix_value {
	uint16_t type;
	union {
		bool flag;
		int integer;
		uint32_t uint32;
		char *string;
		void *widest[3];
	} data;
} tsr_pmix_value_t;

typedef struct tsr_pmix_info {
	char key[TSR_PMIX_KEY_BYTES];
	uint32_t flags;
	tsr_pmix_value_t value;
} tsr_pmix_info_t;

/** Its calls; all return a status but error_string. */
typedef struct tsr_pmix_calls {
	int (*init)(tsr_pmix_proc_t *me_out, tsr_pmix_info_t *info, size_t count);
	int (*finalize)(const tsr_pmix_info_t *info, size_t count);
	int (*get)(const tsr_pmix_proc_t *whose, const char *key, const tsr_pmix_info_t *info,
		   size_t count, tsr_pmix_value_t **value_out);
	int (*put)(uint8_t scope, const char *key, tsr_pmix_value_t *value);
	int (*commit)(void);
	int (*fence)(const tsr_pmix_proc_t *members, size_t members_count,
		     const tsr_pmix_info_t *info, size_t count);
	const char *(*error_string)(int status);
} tsr_pmix_calls_t;

#endif
