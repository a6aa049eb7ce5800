/* Rewinding a process: what it was, what has become of it since, and the way back. */
#include "src/explore/process/rewind.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/os/descriptor.h"
#include "src/explore/process/fibre_jump.h"

enum {
	PAGE = 4096,
	MOST_RANGES = 1024,
	MOST_RUNS = 1 << 16, /* of pages that are next to each other */
	AT_ONCE = 512,       /* pages that are asked about in one call */
	STACK_BYTES = 128 << 10,
	MOST_PAGES = 64 << 10, /* noted: 256 MiB */
	RELEASE_EVERY = 16,    /* ways back: then pages that were not needed are given up */
	SIGNALS = 65
};

/* ---------------------------------------------------------------- what the system says of pages */

/* As linux/fs.h has it from 6.7 on. */
struct page_run {
	uint64_t begin, end, categories;
};

struct page_scan {
	uint64_t size, flags, begin, end, walked, runs, most_runs, most_pages;
	uint64_t inverted, all_of, any_of, told;
};

#define PAGE_SCAN _IOWR('f', 16, struct page_scan)
#define SCAN_PRESENT (UINT64_C(1) << 3)
#define SCAN_SWAPPED (UINT64_C(1) << 4)

/* Of an entry of /proc/self/pagemap. */
#define ENTRY_OWN (UINT64_C(1) << 56)  /* mapped here and nowhere else */
#define ENTRY_FILE (UINT64_C(1) << 61) /* of a file, as it is there */
#define ENTRY_SWAPPED (UINT64_C(1) << 62)

/* ------------------------------------------------------------------ state */

/** Private memory that can be written. */
typedef struct range {
	uintptr_t begin, end;
	bool file; /* what has not been touched is that of a file, and not zero */
} range_t;

/** What cannot be rewound, as far as it is looked at. */
typedef struct outside {
	unsigned long threads, mapped_bytes;
	uint64_t descriptors; /* a sum over them */
} outside_t;

/** In memory that is shared, and so stays what it is. */
struct tsr_rewind {
	sigjmp_buf place;
	int pagemap, directory;
	range_t range[MOST_RANGES];
	int ranges;
	struct page_run run[MOST_RUNS], now[MOST_RUNS];
	size_t runs; /* noted, rising */
	unsigned char *image;
	size_t image_pages;
	uint64_t entry[AT_ONCE];
	unsigned backs;
	uintptr_t spare, spare_end; /* pages in a row that were zero */
	outside_t outside;
	struct sigaction action[SIGNALS];
	sigset_t mask;
	stack_t signal_stack;
	mode_t file_mode;
	tsr_jump_t from, to;
	unsigned char stack[STACK_BYTES];
};

/* ------------------------------------------------------------------ what there is */

static bool is_watched(void)
{
	return TSR_WATCH_ADDRESSES || TSR_WATCH_THREADS;
}

/** Adds the range of a line of /proc/self/maps. False: that cannot be rewound. */
static bool add_range(tsr_rewind_t *r, const char *line)
{
	unsigned long begin, end, inode;
	char access[5] = "";
	if (sscanf(line, "%lx-%lx %4s %*x %*x:%*x %lu", &begin, &end, access, &inode) != 4 ||
	    strstr(line, "vgpreload"))
		return false;
	if (access[1] != 'w' || access[3] != 'p')
		return true;
	if (r->ranges == MOST_RANGES)
		return false;
	r->range[r->ranges++] = (range_t){begin, end, inode != 0};
	return true;
}

static bool find_ranges(tsr_rewind_t *r)
{
	char line[512];
	bool all = true;
	const int fd = tsr_fd_keep(open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
	FILE *maps = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (!maps) {
		close(fd);
		return false;
	}
	r->ranges = 0;
	while (all && fgets(line, sizeof line, maps)) {
		all = add_range(r, line);
		while (!strchr(line, '\n') && fgets(line, sizeof line, maps))
			continue;
	}
	(void)fclose(maps);
	return all;
}

/** The pages of a range that are there. -1: nobody says. */
static long scan(const tsr_rewind_t *r, const range_t *range, struct page_run *runs, size_t most)
{
	struct page_scan scan = {.size = sizeof scan,
				 .begin = range->begin,
				 .end = range->end,
				 .runs = (uint64_t)(uintptr_t)runs,
				 .most_runs = most,
				 .any_of = SCAN_PRESENT | SCAN_SWAPPED,
				 .told = SCAN_PRESENT | SCAN_SWAPPED};
	const long count = ioctl(r->pagemap, PAGE_SCAN, &scan);
	/* there are more runs than room */
	return count >= 0 && scan.walked != range->end ? -1 : count;
}

static uint64_t sum_of_descriptor(int fd)
{
	struct stat file;
	if (fstat(fd, &file) != 0)
		return 0;
	const uint64_t mixed =
		(uint64_t)file.st_ino * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)file.st_dev;
	return (mixed ^ (uint64_t)fd) * UINT64_C(0xbf58476d1ce4e5b9);
}

static bool look_outside(outside_t *out)
{
	char text[1024];
	const int fd = tsr_fd_keep(open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
	const ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	const char *fields = strrchr(text, ')'); /* behind the name, which may be anything */
	DIR *descriptors = opendir("/proc/self/fd");
	bool known = fields && descriptors &&
		     sscanf(fields + 1,
			    "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			    "%lu %*s %*s %lu",
			    &out->threads, &out->mapped_bytes) == 2;
	out->descriptors = 0;
	for (const struct dirent *entry; known && (entry = readdir(descriptors)) != NULL;)
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(descriptors))
			out->descriptors += sum_of_descriptor(atoi(entry->d_name));
	if (descriptors)
		closedir(descriptors);
	return known && waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

/* ------------------------------------------------------------------ noting */

tsr_rewind_t *tsr_rewind_create(void)
{
	if (is_watched() || sysconf(_SC_PAGESIZE) != PAGE)
		return NULL;
	tsr_rewind_t *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r == MAP_FAILED)
		return NULL;
	r->pagemap = tsr_fd_keep(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
	r->directory = tsr_fd_keep(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (r->pagemap >= 0 && r->directory >= 0)
		return r;
	close(r->pagemap);
	close(r->directory);
	munmap(r, sizeof *r);
	return NULL;
}

sigjmp_buf *tsr_rewind_place(tsr_rewind_t *rewind)
{
	return &rewind->place;
}

/**
 * Pages of files that nobody has touched: so that what they were is known once
 * they have been written.
 */
static void touch(const range_t *range)
{
	for (uintptr_t at = range->begin; range->file && at < range->end; at += PAGE)
		(void)*(volatile const char *)at;
}

static bool find_runs(tsr_rewind_t *r)
{
	r->runs = r->image_pages = 0;
	for (int i = 0; i < r->ranges; i++) {
		touch(&r->range[i]);
		const long count = scan(r, &r->range[i], r->run + r->runs, MOST_RUNS - r->runs);
		if (count < 0)
			return false;
		for (long k = 0; k < count; k++)
			r->image_pages += (r->run[r->runs + (size_t)k].end -
					   r->run[r->runs + (size_t)k].begin) /
					  PAGE;
		r->runs += (size_t)count;
	}
	return r->runs < MOST_RUNS && r->image_pages <= MOST_PAGES;
}

static void note_system(tsr_rewind_t *r)
{
	for (int number = 1; number < SIGNALS; number++)
		(void)sigaction(number, NULL, &r->action[number]);
	(void)sigprocmask(SIG_SETMASK, NULL, &r->mask);
	(void)sigaltstack(NULL, &r->signal_stack);
	r->file_mode = umask(0);
	(void)umask(r->file_mode);
}

bool tsr_rewind_note(tsr_rewind_t *r)
{
	note_system(r);
	if (!find_ranges(r) || !find_runs(r))
		return false;
	const size_t bytes = r->image_pages * PAGE;
	unsigned char *image = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (image == MAP_FAILED)
		return false;
	r->image = image;
	/* all that is called on the way back has been called before */
	memset(r->now, 0, sizeof r->now[0]);
	(void)madvise(r, 0, MADV_DONTNEED);
	if (!look_outside(&r->outside) || r->outside.threads != 1)
		return false;
	for (size_t i = 0; i < r->runs; i++) {
		const size_t size = r->run[i].end - r->run[i].begin;
		memcpy(image, (const void *)(uintptr_t)r->run[i].begin, size);
		image += size;
	}
	return true;
}

/* ---------------------------------------------------------- the way back, on a stack of its own */

/** What was noted, in step with what is there now. */
typedef struct noted {
	size_t run;
	uintptr_t at; /* the next page of it */
	const unsigned char *image;
} noted_t;

static void next_noted(const tsr_rewind_t *r, noted_t *noted)
{
	noted->at += PAGE;
	noted->image += PAGE;
	if (noted->at == r->run[noted->run].end && ++noted->run < r->runs)
		noted->at = r->run[noted->run].begin;
}

/** Pages that were there, and are no more, up to this one. */
static void bring_back(const tsr_rewind_t *r, noted_t *noted, uintptr_t up_to)
{
	for (; noted->run < r->runs && noted->at < up_to; next_noted(r, noted))
		memcpy((void *)noted->at, noted->image, PAGE);
}

static bool is_written(uint64_t entry)
{
	return (entry & ENTRY_SWAPPED) || ((entry & ENTRY_OWN) && !(entry & ENTRY_FILE));
}

static bool is_zero(const uint64_t *word)
{
	for (int i = 0; i < PAGE / (int)sizeof *word; i += 8)
		if (word[i] | word[i + 1] | word[i + 2] | word[i + 3] | word[i + 4] | word[i + 5] |
		    word[i + 6] | word[i + 7])
			return false;
	return true;
}

/** Gives up the pages that were zero up to here, now and then. */
static void give_up_spare(tsr_rewind_t *r)
{
	if (r->spare_end > r->spare && r->backs % RELEASE_EVERY == 0)
		(void)madvise((void *)r->spare, r->spare_end - r->spare, MADV_DONTNEED);
	r->spare = r->spare_end = 0;
}

/**
 * A page that was not there when the process was noted, and so was zero. If this
 * schedule has not written it, it is zero still, and is not written again; the
 * pages of one long schedule would cost every schedule after it as much.
 */
static void clear(tsr_rewind_t *r, uintptr_t at)
{
	if (!is_zero((const uint64_t *)at)) {
		memset((void *)at, 0, PAGE);
		return;
	}
	if (r->spare_end != at) {
		give_up_spare(r);
		r->spare = at;
	}
	r->spare_end = at + PAGE;
}

/** Pages that are there. */
static void restore_run(tsr_rewind_t *r, noted_t *noted, const struct page_run *run)
{
	for (uintptr_t at = run->begin; at < run->end;) {
		const size_t left = (run->end - at) / PAGE, count = left < AT_ONCE ? left : AT_ONCE;
		const ssize_t bytes = (ssize_t)(count * sizeof r->entry[0]);
		if (pread(r->pagemap, r->entry, (size_t)bytes,
			  (off_t)(at / PAGE * sizeof r->entry[0])) != bytes)
			_exit(EXIT_FAILURE);
		for (size_t i = 0; i < count; i++, at += PAGE) {
			bring_back(r, noted, at);
			const bool known = noted->run < r->runs && noted->at == at;
			if (is_written(r->entry[i]) && known)
				memcpy((void *)at, noted->image, PAGE);
			else if (is_written(r->entry[i]))
				clear(r, at);
			if (known)
				next_noted(r, noted);
		}
	}
}

static void restore_memory(tsr_rewind_t *r)
{
	r->backs++;
	noted_t noted = {.at = r->runs ? r->run[0].begin : 0, .image = r->image};
	for (int i = 0; i < r->ranges; i++) {
		const long count = scan(r, &r->range[i], r->now, MOST_RUNS);
		if (count < 0)
			_exit(EXIT_FAILURE);
		for (long k = 0; k < count; k++)
			restore_run(r, &noted, &r->now[k]);
		give_up_spare(r);
		bring_back(r, &noted, r->range[i].end);
	}
}

static void restore_system(const tsr_rewind_t *r)
{
	const struct itimerval never = {.it_value = {0, 0}};
	for (int number = 1; number < SIGNALS; number++)
		(void)sigaction(number, &r->action[number], NULL);
	(void)sigprocmask(SIG_SETMASK, &r->mask, NULL);
	(void)sigaltstack(&r->signal_stack, NULL);
	(void)setitimer(ITIMER_REAL, &never, NULL);
	(void)setitimer(ITIMER_VIRTUAL, &never, NULL);
	(void)setitimer(ITIMER_PROF, &never, NULL);
	(void)umask(r->file_mode);
	(void)!fchdir(r->directory);
}

static void go_back(void *argument)
{
	tsr_rewind_t *r = argument;
	restore_memory(r);
	restore_system(r);
	siglongjmp(r->place, 1);
}

/** Whether all ranges are still mapped. As many bytes may be mapped as before, and elsewhere. */
static bool are_mapped(const tsr_rewind_t *r)
{
	for (int i = 0; i < r->ranges; i++)
		if (msync((void *)r->range[i].begin, r->range[i].end - r->range[i].begin,
			  MS_ASYNC) != 0)
			return false;
	return true;
}

void tsr_rewind_back(tsr_rewind_t *r)
{
	outside_t outside;
	if (!are_mapped(r) || !look_outside(&outside) || outside.threads != r->outside.threads ||
	    outside.mapped_bytes != r->outside.mapped_bytes ||
	    outside.descriptors != r->outside.descriptors)
		return;
	tsr_jump_prepare(&r->to, r->stack, sizeof r->stack, go_back, r);
	tsr_jump(&r->from, &r->to);
}
