/* Mappings of a process: lines of the kernel's list, and the list of this process. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/os/maps.h"

Test(maps, lines_are_read)
{
	tsr_mapping_t m;
	cr_assert(tsr_mapping_read("7f10a000-7f10c000 rw-s 00003000 fd:02 1234   /dev/shm/x y\n",
				   &m));
	cr_expect(m.begin == 0x7f10a000 && m.end == 0x7f10c000 && m.offset == 0x3000);
	cr_expect(m.readable && m.writable && m.shared && m.inode == 1234);
	cr_expect(m.device == (0xfdul << 20 | 2));
	cr_assert(tsr_mapping_read("400000-401000 ---p 00000000 00:00 0", &m));
	cr_expect(!m.readable && !m.writable && !m.shared && m.inode == 0);
}

Test(maps, lines_that_are_none_are_refused)
{
	static const char *const lines[] = {"",
					    "\n",
					    "hello",
					    "7f10a000-7f10c000",
					    "7f10a000-7f10c000 rw 0 0:0 0",
					    "7f10a000-7f10c000 rw-p 0 0:0",
					    "7f10c000-7f10a000 rw-p 0 0:0 0",
					    "7f10c000-7f10c000 rw-p 0 0:0 0",
					    "-7f10c000 rw-p 0 0:0 0",
					    "7f10a000-7f10c000 rw-p x 0:0 0"};
	tsr_mapping_t m = {.inode = 77};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		cr_expect(!tsr_mapping_read(lines[i], &m), "%s", lines[i]);
	cr_expect_eq(m.inode, 77, "written on failure");
}

/** What a walk has seen of a range. */
typedef struct seen {
	uintptr_t begin;
	int count, most;
	bool writable[8];
	bool apart;
} seen_t;

static bool note(void *ctx, const tsr_mapping_t *mapping)
{
	seen_t *seen = ctx;
	seen->apart = seen->apart && mapping->begin >= seen->begin;
	seen->writable[seen->count++] = mapping->writable;
	seen->begin = mapping->end;
	return seen->count < seen->most;
}

Test(maps, a_range_of_this_process_is_walked_in_order)
{
	const size_t unit = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *room =
		mmap(NULL, 3 * unit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert(room != MAP_FAILED && mprotect(room + unit, unit, PROT_READ) == 0);
	const uintptr_t begin = (uintptr_t)room;
	seen_t seen = {.most = 8, .apart = true};
	cr_assert(tsr_mappings_each(begin, begin + 3 * unit, note, &seen));
	cr_expect(seen.count == 3 && seen.apart, "%d", seen.count);
	cr_expect(seen.writable[0] && !seen.writable[1] && seen.writable[2]);
	seen = (seen_t){.most = 8, .apart = true};
	cr_assert(tsr_mappings_each(begin + unit, begin + unit + 1, note, &seen));
	cr_expect(seen.count == 1 && !seen.writable[0], "%d", seen.count);
	seen = (seen_t){.most = 1, .apart = true}; /* the walk ends where it is told to */
	cr_assert(tsr_mappings_each(begin, begin + 3 * unit, note, &seen));
	cr_expect_eq(seen.count, 1);
	munmap(room, 3 * unit);
	seen = (seen_t){.most = 8};
	cr_assert(tsr_mappings_each(begin, begin + unit, note, &seen));
	cr_expect_eq(seen.count, 0);
}
