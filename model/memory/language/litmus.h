/*
 * A litmus test, as it is read: a few threads, where they are placed, and a
 * question about what they leave behind.
 */
#ifndef MODEL_MEMORY_LANGUAGE_LITMUS_H
#define MODEL_MEMORY_LANGUAGE_LITMUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tessera/status.h"

/*
 * The form is herd's LISA, so that herd7 reads the same files (all but `cas`,
 * which LISA lacks):
 *
 *   LISA MP                                     name, then optional lines: "a
 *     sentence", Key=value
 *   { x=0; 0:r3=7; int *p=&x; int a[2]={1,2}; } what is not zero at first; with
 *     types, if all numbers fit them, and arrays, whose elements are a[0], a[1]
 *    P0               | P1                ;     threads, in any order
 *    w[na,wi] x 1     | r[acq,agent] r0 y ;
 *    w[rel,agent] y 1 | mov r9 (eq r0 0)  ;
 *                     | b[] r9 E          ;
 *                     | r[na,wi] r1 x     ;
 *                     | E:                ;
 *   scopes: (system (agent (wg (wave (wi 0))) (wg (wave (wi 1)))))
 *   locations [x; 1:r0;]                        optional: shown beside what the
 *     question names
 *   filter (1:r0=1)                             optional: executions that do
 *     not satisfy it are left out
 *   exists (1:r0=1 /\ 1:r1=0)                   or ~exists, or forall; /\ binds
 *     closer than \/, and => closer than both, as herd has it
 *
 *   r[order,scope] REG ADDRESS                  na rlx acq sc
 *     ADDRESS: location, register, or either + register or number
 *   w[order,scope] ADDRESS OPERAND              na rlx rel sc
 *     OPERAND: number or register
 *   rmw[order,scope] REG VALUE ADDRESS          rlx acq rel acqrel sc   REG
 *     gets the old value, which VALUE sees as REG
 *   cas[order,failure,scope] REG EXPECTED DESIRED ADDRESS               REG
 *   gets the old value; failure: rlx acq sc, and may be
 *                                                                       left
 *                                                                         out:
 *                                                                         then
 *                                                                         it is
 *                                                                         `order`
 *                                                                         without
 *                                                                         its
 *                                                                         release
 *   f[order,scope]                              acq rel acqrel sc; behind it
 *     may stand two sets of labels, {L}{M}, which the model does not look at
 *   mov REG VALUE                               VALUE: operand, location or (F
 *     a b), F: add xor and or eq neq min max
 *   b[] REG LABEL, b[] LABEL, LABEL:            jumps where REG is not zero
 *
 * scope: wi (the thread), wave, wg (block), agent (device), system. `na,wi`, a
 * plain access, is what r[] and w[] mean.
 * Numbers have 64 bits and a sign: 7, -7, 0x1f; 0xffffffffffffffff is -1. min
 * and max compare them with their signs.
 * An address is a number like any other, LITMUS_ADDRESS(location): a program
 * may load it, and add a zero to it that depends on what it read. An execution
 * in which something that was read, and is no location's address, is used as
 * one does not count.
 */

enum {
	LITMUS_MAX_THREADS = 8,
	LITMUS_MAX_INSTRUCTIONS = 48, /* of one thread */
	LITMUS_MAX_REGISTERS = 32,    /* of one thread */
	LITMUS_MAX_LOCATIONS = 16,
	LITMUS_MAX_NAMED = 32,   /* registers with names, of all threads */
	LITMUS_NAMED = 10000000, /* the number of the first of these */
	LITMUS_MAX_OBSERVED = 64,
	LITMUS_MAX_TERMS = 256, /* of the question and the filter together */
	LITMUS_MAX_KEYS = 16,
	LITMUS_MAX_NAME = 96, /* of a name, with its end */
	LITMUS_MAX_TEXT = 256 /* of a sentence or a key's value, with its end */
};

/*
 * An odd number, so that none which a test computes with is taken for an
 * address; a test that writes it is refused.
 */
#define LITMUS_ADDRESS(location) (INT64_C(0x5e7ad0c493b16e00) + (int64_t)(location))

static inline bool litmus_is_address(int64_t number)
{
	return number >= LITMUS_ADDRESS(0) && number < LITMUS_ADDRESS(LITMUS_MAX_LOCATIONS);
}

typedef enum litmus_order {
	LITMUS_NA,
	LITMUS_RLX,
	LITMUS_ACQ,
	LITMUS_REL,
	LITMUS_ACQREL,
	LITMUS_SC
} litmus_order_t;
typedef enum litmus_scope {
	LITMUS_WI,
	LITMUS_WAVE,
	LITMUS_WG,
	LITMUS_AGENT,
	LITMUS_SYSTEM,
	LITMUS_SCOPES
} litmus_scope_t;

typedef enum litmus_op {
	LITMUS_LOAD,
	LITMUS_STORE,
	LITMUS_RMW,
	LITMUS_CAS,
	LITMUS_FENCE,
	LITMUS_MOV,
	LITMUS_BRANCH
} litmus_op_t;

typedef enum litmus_function {
	LITMUS_COPY, /* of the first operand */
	LITMUS_ADD,
	LITMUS_XOR,
	LITMUS_AND,
	LITMUS_OR,
	LITMUS_EQ, /* 1 or 0 */
	LITMUS_NEQ,
	LITMUS_MIN,
	LITMUS_MAX
} litmus_function_t;

/** A number (addresses included), or where reg >= 0 that register of the thread. */
typedef struct litmus_operand {
	int reg;
	int64_t number;
} litmus_operand_t;

typedef struct litmus_value {
	litmus_function_t function;
	litmus_operand_t a, b;
} litmus_value_t;

typedef struct litmus_instruction {
	litmus_op_t op;
	litmus_order_t order;   /* of a load, store, rmw, cas or fence */
	litmus_order_t failure; /* of a cas that fails */
	litmus_scope_t scope;   /* of what has an order */
	int reg;                /* load, rmw, cas, mov: the register that is written */
	litmus_value_t address; /* load, store, rmw, cas: LITMUS_COPY or LITMUS_ADD */
	/* store, rmw, cas: what is written; mov; branch: taken where it is not zero */
	litmus_value_t value;
	litmus_operand_t expected; /* cas */
	int target;                /* branch: an instruction, or the thread's count where it ends */
	int line, column;          /* where it stands */
} litmus_instruction_t;

/** Whether the instruction has an order and a scope. */
static inline bool litmus_is_ordered(const litmus_instruction_t *i)
{
	return i->op == LITMUS_LOAD || i->op == LITMUS_STORE || i->op == LITMUS_RMW ||
	       i->op == LITMUS_CAS || i->op == LITMUS_FENCE;
}

typedef struct litmus_thread {
	int count, registers;
	litmus_instruction_t code[LITMUS_MAX_INSTRUCTIONS];
	/* 90 for r90; LITMUS_NAMED + i for name_of[i] */
	int names[LITMUS_MAX_REGISTERS];
	int64_t initial[LITMUS_MAX_REGISTERS];
	/* of each scope, which of its instances the thread is in: equal numbers, same instance */
	int instance[LITMUS_SCOPES];
} litmus_thread_t;

/** What a final state shows: a register where thread >= 0, else a location. */
typedef struct litmus_observed {
	int thread, index;
} litmus_observed_t;

typedef enum litmus_connective {
	LITMUS_TRUE,
	LITMUS_NOT,
	LITMUS_BOTH,
	LITMUS_EITHER,
	LITMUS_IS,
	LITMUS_SAME
} litmus_connective_t;

/**
 * A term of the question: IS compares observed[left] with a number, SAME with
 * observed[right]; the others combine terms.
 */
typedef struct litmus_term {
	litmus_connective_t connective;
	int left, right;
	int64_t number;
} litmus_term_t;

typedef enum litmus_quantifier {
	LITMUS_EXISTS,
	LITMUS_NOT_EXISTS,
	LITMUS_FORALL
} litmus_quantifier_t;

typedef struct litmus_test {
	char name[LITMUS_MAX_NAME];
	char sentence[LITMUS_MAX_TEXT]; /* the one in quotes, or "" */
	int keys;
	struct {
		char key[LITMUS_MAX_NAME], value[LITMUS_MAX_TEXT];
	} info[LITMUS_MAX_KEYS];

	int threads, locations;
	litmus_thread_t thread[LITMUS_MAX_THREADS];
	char location[LITMUS_MAX_LOCATIONS][LITMUS_MAX_NAME]; /* "a[1]": of an array */
	int named;
	char name_of[LITMUS_MAX_NAMED][LITMUS_MAX_NAME]; /* "%a" */
	int64_t initial[LITMUS_MAX_LOCATIONS];

	/* registers by thread and number, then locations by name: herd's order */
	int observed_count;
	litmus_observed_t observed[LITMUS_MAX_OBSERVED];

	litmus_quantifier_t quantifier;
	int question, filter; /* terms; filter is -1 where there is none */
	int terms;
	litmus_term_t term[LITMUS_MAX_TERMS];
} litmus_test_t;

/**
 * Reads one test from `text`, which ends at its zero. `source` is how the
 * sentence calls it, such as its file. TSR_ERR_ARGUMENT: not a test;
 * tsr_last_error() is "SOURCE:LINE:COLUMN: one sentence". Any thread.
 */
tsr_status_t litmus_parse(const char *source, const char *text, litmus_test_t *test_out);

/** The value of a line Key=value, or null. */
const char *litmus_info(const litmus_test_t *test, const char *key);

/**
 * Whether a final state (one value for each of test->observed) satisfies a
 * term: the question's, or the filter's.
 */
bool litmus_holds(const litmus_test_t *test, int term, const int64_t *values);

/**
 * Whether two accesses name scopes that each include the other's thread. One
 * thread is always included.
 */
bool litmus_inclusive(const litmus_test_t *test, int thread_a, litmus_scope_t a, int thread_b,
		      litmus_scope_t b);

/** What `function` makes of two numbers. Sums wrap. */
int64_t litmus_apply(litmus_function_t function, int64_t a, int64_t b);

/** The location that an address names, or -1. */
int litmus_location(const litmus_test_t *test, int64_t address);

/*
 * Each writes as snprintf does, and as herd does: "1:r0" or "[x]" for observed
 * i; a number, or a location's name for an address; a final state "1:r0=0;
 * [x]=1;"; a term "(1:r0=1 /\\ [x]=2)"; an instruction of a thread as it stands
 * in a test.
 */
int litmus_print_observed(const litmus_test_t *test, int i, char *text, size_t size);
int litmus_print_number(const litmus_test_t *test, int64_t number, char *text, size_t size);
int litmus_print_state(const litmus_test_t *test, const int64_t *values, char *text, size_t size);
int litmus_print_term(const litmus_test_t *test, int term, char *text, size_t size);
int litmus_print_instruction(const litmus_test_t *test, int thread, int instruction, char *text,
			     size_t size);

const char *litmus_order_name(litmus_order_t order);
const char *litmus_scope_name(litmus_scope_t scope);

#endif
