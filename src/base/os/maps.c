/* Mappings of this process. */
#include "src/base/os/maps.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/base/os/descriptor.h"

bool tsr_mapping_read(const char *line, tsr_mapping_t *mapping_out)
{
	unsigned long begin, end, offset, inode;
	unsigned major, minor;
	char access[5] = "";
	if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu", &begin, &end, access, &offset, &major, &minor,
		   &inode) != 7 ||
	    strlen(access) != 4 || begin >= end)
		return false;
	*mapping_out = (tsr_mapping_t){.begin = begin,
				       .end = end,
				       .readable = access[0] == 'r',
				       .writable = access[1] == 'w',
				       .shared = access[3] != 'p',
				       .offset = offset,
				       .device = (unsigned long)major << 20 | minor,
				       .inode = inode};
	return true;
}

bool tsr_mappings_each(uintptr_t begin, uintptr_t end, tsr_mapping_fn look, void *ctx)
{
	char line[512];
	bool on = true;
	tsr_mapping_t mapping;
	const int fd = tsr_fd_keep(open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
	FILE *list = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (!list) {
		tsr_fd_close(&fd, 1);
		return false;
	}
	while (on && fgets(line, sizeof line, list)) {
		if (tsr_mapping_read(line, &mapping) && mapping.begin < end && begin < mapping.end)
			on = look(ctx, &mapping);
		while (!strchr(line, '\n') && fgets(line, sizeof line, list))
			continue;
	}
	const bool whole = ferror(list) == 0;
	(void)fclose(list);
	return whole;
}
