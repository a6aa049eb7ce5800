/*
 * Pointers into heaps that a program dereferences itself. The addresses that
 * programs have are mapped without any permission, and values lie elsewhere, so
 * that such an access faults wherever and whenever it is made: in a kernel, on
 * the host, in a call of the C library. The fault is told as a finding, and
 * ends the schedule. So is that of a task that leaves its stack, of a pass of
 * a loop that is made without those before it (passes.c), and of a task that
 * uses a pointer to no memory, unless the program has a handler of its own. Not
 * told: what the system does for the program, which answers EFAULT, and faults
 * on threads that the program has started itself, which end it as ever.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "src/base/error.h"
#include "src/explore/exploration_state.h"
#include "src/explore/process/fibre_watch.h"

enum { STACK_BYTES = 64 << 10, SENTENCE_BYTES = 512 };

/** The access that was caught last. */
typedef struct fault {
	const unsigned char *at; /* what was accessed */
	const void *code;        /* by which instruction; null: not known on this processor */
	const unsigned char *stack;
	tsr_finding_kind_t kind;
	bool overflow; /* it left the task's stack: what is below is not known */
	bool window;   /* it used the program's own address of a window */
	bool pass;     /* it was made by a pass of a loop (passes.c), and nobody knows of what */
	bool stray;    /* it was made of what is in no heap */
	int area;
	size_t offset;
} fault_t;

struct tsr_guard {
	tsr_exploration_t *x;
	struct sigaction before;
	stack_t stack_before;
	fault_t fault;
	unsigned char stack[STACK_BYTES];
};

/*
 * A signal's handler is handed nothing of its own. All fibres of an exploration
 * run on one thread, which is this one.
 */
static _Thread_local tsr_guard_t *here;

/* ------------------------------------------------------------------ windows */

/** Memory of the program's that is a part of its heap, and inaccessible. */
typedef struct tsr_shown {
	struct tsr_shown *next;
	uintptr_t memory, heap;
	size_t bytes;
} shown_t;

tsr_status_t tsr_exploration_add_window(tsr_exploration_t *x, const void *heap, const void *memory,
					size_t bytes)
{
	shown_t *shown = malloc(sizeof *shown);
	if (!shown)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no host memory for the books of a window; free some");
	*shown = (shown_t){x->windows, (uintptr_t)memory, (uintptr_t)heap, bytes};
	x->windows = shown;
	return TSR_OK;
}

void tsr_exploration_end_window(tsr_exploration_t *x, const void *memory)
{
	for (shown_t **at = &x->windows; *at; at = &(*at)->next)
		if ((*at)->memory == (uintptr_t)memory) {
			shown_t *shown = *at;
			*at = shown->next;
			free(shown);
			return;
		}
}

/** The heap's address of an address in a window; any other is left as it is. */
static const unsigned char *through_window(const tsr_exploration_t *x, const unsigned char *at,
					   bool *window_out)
{
	for (const shown_t *shown = x->windows; shown; shown = shown->next)
		if ((uintptr_t)at - shown->memory < shown->bytes) {
			*window_out = true;
			return (const unsigned char *)(shown->heap +
						       ((uintptr_t)at - shown->memory));
		}
	return at;
}

/* ------------------------------------------------------------------ the signal */

/** What the processor was about to do. */
static void ask_processor(const ucontext_t *context, fault_t *fault)
{
	fault->kind = TSR_FINDING_CALL;
#if defined(__x86_64__)
	fault->kind =
		context->uc_mcontext.gregs[REG_ERR] & 2 ? TSR_FINDING_WRITE : TSR_FINDING_READ;
	fault->code = (const void *)(uintptr_t)context->uc_mcontext.gregs[REG_RIP];
	fault->stack = (const unsigned char *)(uintptr_t)context->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
	fault->code = (const void *)(uintptr_t)context->uc_mcontext.pc;
	fault->stack = (const unsigned char *)(uintptr_t)context->uc_mcontext.sp;
#else
	(void)context;
#endif
}

/**
 * Back to where the fibre began, on its own stack: from there everything may be
 * called again. Other faults are as they were.
 */
static void on_fault(int number, siginfo_t *info, void *context)
{
	tsr_guard_t *guard = here;
	if (!guard) { /* a thread of the program's own */
		signal(number, SIG_DFL);
		return;
	}
	const int task = tsr_explorer_self(guard->x->explorer);
	fault_t fault = {.at = info->si_addr};
	sigjmp_buf *begin = task == TSR_NO_TASK ? NULL : guard->x->actors[task].begin;
	ask_processor(context, &fault);
	fault.at = through_window(guard->x, fault.at, &fault.window);
	fault.overflow = begin && tsr_explorer_overflows(guard->x->explorer, fault.stack, fault.at);
	const bool known = begin && (fault.overflow || tsr_area_find(guard->x, fault.at, 1,
								     &fault.area, &fault.offset));
	fault.pass = begin && !known && guard->x->actors[task].loop.call;
	fault.stray = begin && !known && !fault.pass && guard->before.sa_handler == SIG_DFL;
	if (known || fault.pass || fault.stray) {
		guard->fault = fault;
		siglongjmp(*begin, 1);
	}
	/* the instruction is tried again, and faults again */
	sigaction(number, &guard->before, NULL);
}

/* ------------------------------------------------------------------ the finding */

/** "prog+0x12ab": for addr2line, since nobody here knows lines. */
static void place_of(const void *code, char *place, size_t size)
{
	Dl_info object;
	*place = '\0';
	if (!code || dladdr(code, &object) == 0 || !object.dli_fname)
		return;
	const char *name = strrchr(object.dli_fname, '/');
	snprintf(place, size, ", at %s+0x%zx (addr2line tells the line)",
		 name ? name + 1 : object.dli_fname,
		 (size_t)((const unsigned char *)code - (const unsigned char *)object.dli_fbase));
}

static _Noreturn void tell_overflow(tsr_exploration_t *x, const fault_t *fault)
{
	char place[256], sentence[SENTENCE_BYTES];
	const tsr_task_who_t *who = tsr_explorer_who(x->explorer, tsr_explorer_self(x->explorer));
	tsr_finding_t finding = {.class = TSR_FINDING_MISUSE, .accesses = 1, .message = sentence};
	place_of(fault->code, place, sizeof place);
	snprintf(sentence, sizeof sentence,
		 "the %s has more locals, with those of all that it calls, than its stack has room "
		 "for%s",
		 who->kernel ? "kernel" : "host", place);
	finding.change = who->kernel ? "keep large arrays in the heap or in shared memory, "
				       "and recurse less deeply: an emulated worker has 1 "
				       "MiB for locals"
				     : "keep large arrays in memory of malloc";
	finding.access[0] = TSR_FINDING_NOWHERE;
	finding.access[0].who = tsr_who_found(who);
	finding.access[0].call = "an access to a local";
	finding.access[0].kind = fault->kind;
	tsr_exploration_found(x, &finding);
	tsr_explorer_stop(x->explorer);
}

/** How a pointer is used that is not to be used by itself. */
static const char *change_of(const tsr_task_who_t *who, const fault_t *fault)
{
	if (who->kernel)
		return fault->kind == TSR_FINDING_WRITE
			       ? "hand the pointer to a call of the device API, such as "
				 "tsr_put_value, tsr_store or tsr_atomic_store"
			       : "hand the pointer to a call of the device API, such as "
				 "tsr_get, tsr_load or tsr_atomic_load";
	return fault->window
		       ? "copy with tsr_memcpy_to_heap and tsr_memcpy_from_heap as long as the "
			 "window is registered, behind tsr_stream_sync where a kernel writes or "
			 "reads it"
		       : "copy with tsr_memcpy_to_heap and tsr_memcpy_from_heap, behind "
			 "tsr_stream_sync where a kernel writes or reads it";
}

/** It is the program's own failure: no call of Tessera has to do with it, as far as is known. */
static _Noreturn void tell_stray(tsr_exploration_t *x, const fault_t *fault, const char *place)
{
	enum { PAGE_BYTES = 4096 }; /* a member of a struct that is not there, too */
	char sentence[SENTENCE_BYTES];
	const tsr_task_who_t *who = tsr_explorer_who(x->explorer, tsr_explorer_self(x->explorer));
	const bool null = (uintptr_t)fault->at < PAGE_BYTES;
	snprintf(sentence, sizeof sentence, "%s%s of rank %d %s %s%s",
		 who->kernel ? "kernel " : "the host", who->kernel ? who->kernel : "", who->rank,
		 fault->kind == TSR_FINDING_WRITE ? "wrote" : "read",
		 null ? "through a null pointer" : "memory that is not there, or not for it",
		 place);
	tsr_finding_t finding = {.class = TSR_FINDING_PROGRAM_FAILURE, .message = sentence};
	finding.change = null ? "let that pointer be set before it is used, or look whether it is "
				"null"
			      : "let that pointer lead to memory that is mapped, and may be read "
				"and written";
	tsr_exploration_found(x, &finding);
	tsr_explorer_stop(x->explorer);
}

static _Noreturn void tell(tsr_exploration_t *x, const fault_t *fault)
{
	char place[256], sentence[SENTENCE_BYTES];
	place_of(fault->code, place, sizeof place);
	if (fault->stray)
		tell_stray(x, fault, place);
	if (fault->overflow)
		tell_overflow(x, fault);
	if (fault->pass)
		tsr_passes_fault(x, place);
	tsr_area_t *area = &x->areas[fault->area];
	const tsr_piece_t *piece = tsr_area_piece(area, fault->offset);
	const tsr_task_who_t *who = tsr_explorer_who(x->explorer, tsr_explorer_self(x->explorer));
	tsr_finding_t finding = {.class = TSR_FINDING_MISUSE, .accesses = 1, .message = sentence};
	tsr_finding_access_t *access = &finding.access[0];
	snprintf(sentence, sizeof sentence, "the %s dereferenced a pointer into %s itself%s",
		 who->kernel ? "kernel" : "host",
		 fault->window ? "the memory of a window" : "the heap", place);
	finding.change = change_of(who, fault);
	*access = TSR_FINDING_NOWHERE;
	access->who = tsr_who_found(who);
	access->call = "an access that is no call of Tessera";
	access->kind = fault->kind;
	access->target = area->rank;
	access->allocation = piece ? piece->name : "no allocation";
	access->allocation_bytes = piece ? piece->bytes : 0;
	access->offset = piece ? fault->offset - piece->begin : fault->offset;
	access->bytes = 1; /* the first, of however many */
	tsr_exploration_found(x, &finding);
	tsr_explorer_stop(x->explorer);
}

/* ------------------------------------------------------------------ fibres */

void tsr_guard_run(tsr_exploration_t *x, void (*body)(void *ctx), void *ctx)
{
	sigjmp_buf begin;
	tsr_actor(x)->begin = &begin;
	/* the handler blocks no signals, so there are none to put back */
	if (sigsetjmp(begin, 0) == 0) {
		body(ctx);
		tsr_actor(x)->begin = NULL;
		return;
	}
#if TSR_WATCH_ADDRESSES
	/* frames that were left */
	const unsigned char *top = __builtin_frame_address(0), *bottom = here->fault.stack;
	if (bottom && bottom < top)
		__asan_unpoison_memory_region(bottom, (size_t)(top - bottom));
#endif
	tsr_actor(x)->begin = NULL; /* a fault in what follows is as it would be elsewhere */
	tell(x, &here->fault);
}

tsr_status_t tsr_guard_begin(tsr_exploration_t *x)
{
	struct sigaction action = {.sa_sigaction = on_fault,
				   .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	tsr_guard_t *guard = calloc(1, sizeof *guard);
	if (!guard)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no host memory for a signal's stack; free some");
	const stack_t stack = {.ss_sp = guard->stack, .ss_size = sizeof guard->stack};
	guard->x = x;
	sigemptyset(&action.sa_mask);
	sigaltstack(&stack, &guard->stack_before);
	sigaction(SIGSEGV, &action, &guard->before);
	x->guard = here = guard;
	return TSR_OK;
}

void tsr_guard_end(tsr_exploration_t *x)
{
	tsr_guard_t *guard = x->guard;
	if (!guard)
		return;
	sigaction(SIGSEGV, &guard->before, NULL);
	sigaltstack(&guard->stack_before, NULL);
	x->guard = here = NULL;
	free(guard);
}
