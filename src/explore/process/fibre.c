#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/error.h"
#include "src/explore/process/fibre.h"
#include "src/explore/process/fibre_jump.h"
#include "src/explore/process/fibre_watch.h"

/** Fibres that have one stack in turn. */
typedef struct family {
	tsr_fibre_t *first; /* whose mapping it is */
	tsr_fibre_t *there; /* whose frames are on the stack; null: nobody's */
	int members;        /* that have not ended */
} family_t;

/*
 * Lies at the upper end of its stack's mapping, in a page that is touched
 * anyway; that of the thread's own stack lies in the pool, and that of a fibre
 * that was forked in memory of its own.
 */
struct tsr_fibre {
	tsr_jump_t jump;
	tsr_watch_t watch;
	tsr_fibres_t *fibres;
	tsr_fibre_fn body;
	void *argument;
	tsr_error_slot_t *slot; /* in use while it runs; null: the thread's own */
	unsigned char *mapping;
	size_t mapping_bytes;
	unsigned number;                   /* valgrind's, of the stack */
	struct tsr_fibre *next, *previous; /* among those in use; `next` among the free ones */
	tsr_error_slot_t errors;
	family_t *family;    /* null: it has its stack for itself */
	unsigned char *kept; /* its frames, while another one of the family is on the stack */
	size_t kept_bytes, kept_room;
};

struct tsr_fibres {
	tsr_fibre_t outside, *running, *from; /* `from` ran before */
	tsr_fibre_t *used, *free;
	/* has called tsr_fibre_leave, and can be reused once another stack is arrived at */
	tsr_fibre_t *left;
	/* moves frames from a stack of its own: null: nothing has forked; and what it is to do */
	tsr_fibre_t *mover, *moves, *forks;
	size_t page_bytes, bytes;
	unsigned char *common; /* stacks that forked processes have in common; null: none */
	size_t common_stack;   /* bytes of each */
	int common_count, common_used;
};

tsr_status_t tsr_fibres_create(tsr_fibres_t **fibres_out)
{
	tsr_fibres_t *fibres = calloc(1, sizeof *fibres);
	if (!fibres)
		return tsr_error(TSR_ERR_NO_MEMORY, "no memory for a pool of fibres; free some");
	fibres->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	fibres->running = &fibres->outside;
	fibres->outside.fibres = fibres;
	tsr_watch_thread(&fibres->outside.watch);
	*fibres_out = fibres;
	return TSR_OK;
}

size_t tsr_fibres_bytes(const tsr_fibres_t *fibres)
{
	return fibres->bytes;
}

bool tsr_fibre_overflows(const tsr_fibres_t *fibres, const void *stack_pointer, const void *touched)
{
	const unsigned char *mapping = fibres->running->mapping;
	const uintptr_t begin = (uintptr_t)mapping, pointer = (uintptr_t)stack_pointer,
			at = (uintptr_t)touched;
	if (!mapping)
		return false;
	return (pointer && pointer < begin + fibres->page_bytes) ||
	       (at >= begin && at < begin + fibres->page_bytes);
}

/* ------------------------------------------------------------------ stacks */

/** Where a mapping ends and its fibre begins. */
static tsr_fibre_t *fibre_of(unsigned char *mapping, size_t bytes)
{
	size_t at = bytes - sizeof(tsr_fibre_t);
	return (tsr_fibre_t *)(void *)(mapping + at / 64 * 64);
}

/** Memory for a stack: one of those in common, or a mapping of its own. MAP_FAILED: none. */
static unsigned char *stack_memory(tsr_fibres_t *fibres, size_t bytes)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
	if (bytes == fibres->common_stack && fibres->common_used < fibres->common_count)
		return fibres->common + bytes * (size_t)fibres->common_used++;
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
}

static tsr_fibre_t *map_stack(tsr_fibres_t *fibres, size_t bytes)
{
	unsigned char *mapping = stack_memory(fibres, bytes);
	if (mapping == MAP_FAILED)
		return NULL;
	if (mprotect(mapping, fibres->page_bytes, PROT_NONE) != 0) {
		munmap(mapping, bytes);
		return NULL;
	}
	tsr_fibre_t *fibre = fibre_of(mapping, bytes);
	fibre->mapping = mapping;
	fibre->mapping_bytes = bytes;
	fibre->number = tsr_watch_stack(mapping + fibres->page_bytes, bytes - fibres->page_bytes);
	fibres->bytes += bytes;
	return fibre;
}

static bool is_common(const tsr_fibres_t *fibres, const unsigned char *mapping)
{
	const size_t bytes = fibres->common_stack * (size_t)fibres->common_count;
	return fibres->common && mapping >= fibres->common && mapping < fibres->common + bytes;
}

static void unmap_stack(tsr_fibre_t *fibre)
{
	if (is_common(fibre->fibres, fibre->mapping))
		return;
	fibre->fibres->bytes -= fibre->mapping_bytes;
	tsr_watch_no_stack(fibre->number);
	munmap(fibre->mapping, fibre->mapping_bytes);
}

/**
 * A free stack of exactly that size, or null. There are few sizes, and those
 * used last come first.
 */
static tsr_fibre_t *reuse_stack(tsr_fibres_t *fibres, size_t bytes)
{
	for (tsr_fibre_t **at = &fibres->free; *at; at = &(*at)->next)
		if ((*at)->mapping_bytes == bytes) {
			tsr_fibre_t *fibre = *at;
			*at = fibre->next;
			return fibre;
		}
	return NULL;
}

static void use(tsr_fibres_t *fibres, tsr_fibre_t *fibre)
{
	fibre->previous = NULL;
	fibre->next = fibres->used;
	if (fibres->used)
		fibres->used->previous = fibre;
	fibres->used = fibre;
}

/** Leaves its family. The fibre whose stack is free now, or null: others are on it. */
static tsr_fibre_t *leave_family(tsr_fibre_t *fibre)
{
	family_t *family = fibre->family;
	tsr_fibre_t *first = family->first;
	if (family->there == fibre)
		family->there = NULL;
	free(fibre->kept);
	fibre->kept = NULL;
	fibre->kept_room = 0;
	if (fibre != first)
		free(fibre);
	if (--family->members > 0)
		return NULL;
	free(family);
	first->family = NULL;
	return first;
}

static void retire(tsr_fibres_t *fibres, tsr_fibre_t *fibre)
{
	*(fibre->previous ? &fibre->previous->next : &fibres->used) = fibre->next;
	if (fibre->next)
		fibre->next->previous = fibre->previous;
	tsr_watch_end(&fibre->watch);
	if (fibre->family)
		fibre = leave_family(fibre);
	if (!fibre)
		return;
	fibre->next = fibres->free;
	fibres->free = fibre;
}

/* ------------------------------------------------------------------ switches */

/** The first thing on a stack that has just been switched to. */
static void arrive(tsr_fibres_t *fibres)
{
	tsr_watch_arrive(&fibres->running->watch, &fibres->from->watch);
	if (fibres->left) {
		retire(fibres, fibres->left);
		fibres->left = NULL;
	}
}

static void begin(void *context)
{
	tsr_fibre_t *fibre = context;

	arrive(fibre->fibres);
	fibre->body(fibre->argument);
	tsr_fibre_leave(fibre->fibres, NULL);
}

static void prepare(tsr_fibre_t *fibre, unsigned char *bottom)
{
	const size_t usable = (size_t)((unsigned char *)fibre - bottom);

	tsr_watch_begin(&fibre->watch, bottom, usable);
	tsr_jump_prepare(&fibre->jump, bottom, usable, begin, fibre);
}

/** Of a mapping for a stack: with the fibre, and the page that nobody may touch. */
static size_t mapping_bytes(const tsr_fibres_t *fibres, size_t stack_bytes)
{
	const size_t page = fibres->page_bytes;
	return (stack_bytes + sizeof(tsr_fibre_t) + 64 + page - 1) / page * page + page;
}

void tsr_fibres_share(tsr_fibres_t *fibres, size_t stack_bytes, int count)
{
	const int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE;
	const size_t bytes = mapping_bytes(fibres, stack_bytes);
	unsigned char *common =
		mmap(NULL, bytes * (size_t)count, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (common == MAP_FAILED)
		return; /* each has a mapping of its own */
	fibres->common = common;
	fibres->common_stack = bytes;
	fibres->common_count = count;
}

tsr_status_t tsr_fibre_create(tsr_fibres_t *fibres, tsr_fibre_fn body, void *context,
			      size_t stack_bytes, tsr_fibre_t **fibre_out)
{
	const size_t page = fibres->page_bytes, bytes = mapping_bytes(fibres, stack_bytes);
	tsr_fibre_t *fibre = reuse_stack(fibres, bytes);

	if (!fibre)
		fibre = map_stack(fibres, bytes);
	if (!fibre)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no room for a stack of %zu bytes beside %zu of others: %s; each "
				 "takes two mappings of vm.max_map_count",
				 bytes, fibres->bytes, strerror(errno));
	fibre->fibres = fibres;
	fibre->body = body;
	fibre->argument = context;
	fibre->slot = &fibre->errors;
	fibre->errors = (tsr_error_slot_t){.printed = false};
	prepare(fibre, fibre->mapping + page);
	use(fibres, fibre);
	*fibre_out = fibre;
	return TSR_OK;
}

/*
 * Never a call of its own: ThreadSanitizer would see it begin on one fibre and
 * return on another.
 */
TSR_WATCH_INLINE void leave(tsr_fibres_t *fibres, tsr_fibre_t *from, tsr_fibre_t *to, bool for_good)
{
	fibres->from = from;
	fibres->running = to;
	from->slot = tsr_error_use(to->slot);
	tsr_watch_leave(&from->watch, &to->watch, for_good);
}

/** The fibre to switch to, so that `to` goes on: its frames may have to be moved first. */
static tsr_fibre_t *way_to(tsr_fibres_t *fibres, tsr_fibre_t *to)
{
	if (!to)
		return &fibres->outside;
	if (!to->family || to->family->there == to || fibres->running == fibres->mover)
		return to;
	fibres->moves = to;
	return fibres->mover;
}

void tsr_fibre_switch(tsr_fibres_t *fibres, tsr_fibre_t *to)
{
	tsr_fibre_t *from = fibres->running;
	const int error = errno;

	to = way_to(fibres, to);
	if (to == from)
		return;
	leave(fibres, from, to, false);
	tsr_jump(&from->jump, &to->jump);
	arrive(fibres);
	errno = error;
}

void tsr_fibre_leave(tsr_fibres_t *fibres, tsr_fibre_t *to)
{
	tsr_fibre_t *from = fibres->running;

	to = way_to(fibres, to);
	fibres->left = from;
	leave(fibres, from, to, true);
	tsr_jump(&from->jump, &to->jump);
	abort(); /* nobody jumps back to who has left for good */
}

/* ------------------------------------------------------------------ forks */

/** Keeps frames of the fibre that is on its family's stack in `as`, itself or one like it. */
static void keep(const tsr_fibre_t *fibre, tsr_fibre_t *as)
{
	unsigned char *frames = tsr_jump_frames(&fibre->jump);
	const size_t bytes = (size_t)((unsigned char *)fibre->family->first - frames);
	if (as->kept_room < bytes) {
		unsigned char *room = realloc(as->kept, 2 * bytes);
		if (!room)
			abort(); /* it cannot go on, and neither can the other */
		as->kept = room;
		as->kept_room = 2 * bytes;
	}
	tsr_watch_taken(frames, bytes);
	memcpy(as->kept, frames, bytes);
	as->kept_bytes = bytes;
}

static void put_back(tsr_fibre_t *fibre)
{
	unsigned char *frames = tsr_jump_frames(&fibre->jump);
	tsr_watch_given(frames, fibre->kept_bytes);
	memcpy(frames, fibre->kept, fibre->kept_bytes);
	fibre->family->there = fibre;
}

/** The mover's life: whoever switches to it has said what it is to do. */
static void move(void *context)
{
	tsr_fibres_t *fibres = context;
	for (;;) {
		tsr_fibre_t *to = fibres->moves, *fork = fibres->forks;
		if (fork) {
			fork->jump = to->jump;
			keep(to, fork);
			fibres->forks = NULL;
		} else {
			if (to->family->there)
				keep(to->family->there, to->family->there);
			put_back(to);
		}
		tsr_fibre_switch(fibres, to);
	}
}

/** A fibre on the stack of another, in the same family. */
static tsr_fibre_t *adopt(tsr_fibre_t *parent)
{
	tsr_fibre_t *fibre = calloc(1, sizeof *fibre);
	family_t *family = parent->family ? parent->family : calloc(1, sizeof *family);
	if (!fibre || !family) {
		free(fibre);
		if (!parent->family)
			free(family);
		return NULL;
	}
	if (!parent->family)
		*family = (family_t){.first = parent, .there = parent, .members = 1};
	family->members++;
	parent->family = fibre->family = family;
	fibre->fibres = parent->fibres;
	fibre->slot = &fibre->errors;
	fibre->mapping = parent->mapping;
	fibre->mapping_bytes = parent->mapping_bytes;
	fibre->watch.bottom = parent->watch.bottom;
	fibre->watch.bytes = parent->watch.bytes;
	use(fibre->fibres, fibre);
	return fibre;
}

bool tsr_fibres_fork(void)
{
	return TSR_JUMP_MOVES && tsr_watch_moves();
}

tsr_status_t tsr_fibre_fork(tsr_fibres_t *fibres, tsr_fibre_t **fork_out, bool *forked_out)
{
	tsr_fibre_t *self = fibres->running;
	/* of a size that there is already */
	const size_t stack = self->mapping_bytes - fibres->page_bytes - sizeof(tsr_fibre_t) - 64;
	if (!tsr_fibres_fork())
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "fibres cannot fork here; build for x86-64 or arm64, without "
				 "ThreadSanitizer");
	if (!fibres->mover) {
		const tsr_status_t status =
			tsr_fibre_create(fibres, move, fibres, stack, &fibres->mover);
		if (status != TSR_OK)
			return status;
	}
	tsr_fibre_t *fork = adopt(self);
	if (!fork)
		return tsr_error(TSR_ERR_NO_MEMORY, "no memory to fork a fibre; free some");
	*fork_out = fork;
	fibres->moves = self;
	fibres->forks = fork;
	tsr_fibre_switch(fibres, fibres->mover);
	*forked_out = fibres->running == fork; /* here the fork begins, too */
	return TSR_OK;
}

void tsr_fibre_abandon(tsr_fibres_t *fibres, tsr_fibre_t *fibre)
{
	retire(fibres, fibre);
}

void tsr_fibres_destroy(tsr_fibres_t *fibres)
{
	if (!fibres)
		return;
	while (fibres->used)
		retire(fibres, fibres->used);
	while (fibres->free) {
		tsr_fibre_t *fibre = fibres->free;
		fibres->free = fibre->next;
		unmap_stack(fibre);
	}
	if (fibres->common)
		munmap(fibres->common, fibres->common_stack * (size_t)fibres->common_count);
	free(fibres);
}
