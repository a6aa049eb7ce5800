/* What a launcher says of a rank that the kernel killed for memory: with folders like /proc. */
#include <criterion/criterion.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/bootstrap/crew.h"
#include "src/bootstrap/memory_limit.h"

typedef struct machine {
	char root[64];
} machine_t;

/** Writes a file, and the folders that it is in. */
static void put(const machine_t *machine, const char *name, const char *text)
{
	char path[512];
	snprintf(path, sizeof path, "%s%s", machine->root, name);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0777);
		*slash = '/';
	}
	FILE *file = fopen(path, "w");
	cr_assert(file != NULL, "%s", path);
	fputs(text, file);
	fclose(file);
}

static void start(machine_t *machine, const char *groups)
{
	snprintf(machine->root, sizeof machine->root, "/tmp/tessera-limit-XXXXXX");
	cr_assert(mkdtemp(machine->root) != NULL);
	put(machine, "/proc/self/cgroup", groups);
}

static void end(const machine_t *machine)
{
	char command[128];
	snprintf(command, sizeof command, "rm -rf %s", machine->root);
	cr_expect_eq(system(command), 0);
}

/** That one more process was killed; `wanted` is a part of what is said, null: nothing is. */
static void expect(tsr_memory_limit_t *limit, const char *wanted)
{
	char text[TSR_MEMORY_LIMIT_TEXT];
	const char *why = tsr_memory_limit_why(limit, text);
	if (wanted)
		cr_expect(strstr(why, wanted) != NULL, "'%s' does not say '%s'", why, wanted);
	else
		cr_expect_str_eq(why, "");
}

#define V2 "/sys/fs/cgroup/system.slice/job"
#define V1 "/sys/fs/cgroup/memory/system.slice/job"

Test(memory_limit, of_version_2_is_named_with_the_cure)
{
	machine_t m;
	tsr_memory_limit_t limit;
	start(&m, "0::/system.slice/job\n");
	put(&m, V2 "/memory.events", "low 0\nhigh 0\nmax 7\noom 4\noom_kill 2\noom_group_kill 0\n");
	put(&m, V2 "/memory.max", "536870912\n");
	put(&m, "/sys/fs/cgroup/system.slice/memory.max", "max\n");
	tsr_memory_limit_begin(&limit, m.root);
	expect(&limit, NULL);
	put(&m, V2 "/memory.events", "low 0\nhigh 0\nmax 7\noom 5\noom_kill 3\noom_group_kill 0\n");
	expect(&limit, "(cgroup) has memory of 512 MiB at most: raise that limit (memory.max)");
	expect(&limit, NULL); /* each kill is told of once */
	end(&m);
}

Test(memory_limit, of_a_group_around_it_counts_if_it_is_less)
{
	machine_t m;
	tsr_memory_limit_t limit;
	start(&m, "0::/system.slice/job\n");
	put(&m, V2 "/memory.events", "oom_kill 0\n");
	put(&m, V2 "/memory.max", "max\n");
	put(&m, "/sys/fs/cgroup/system.slice/memory.max", "1048576\n");
	tsr_memory_limit_begin(&limit, m.root);
	put(&m, V2 "/memory.events", "oom_kill 1\n");
	expect(&limit, "has memory of 1 MiB at most");
	end(&m);
}

Test(memory_limit, of_version_1_too_and_that_of_the_machine)
{
	machine_t m;
	tsr_memory_limit_t limit;
	start(&m, "5:cpu:/other\n4:memory:/system.slice/job\n0::/\n");
	put(&m, V1 "/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 10\n");
	put(&m, V1 "/memory.limit_in_bytes", "9223372036854771712\n");
	tsr_memory_limit_begin(&limit, m.root);
	put(&m, V1 "/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 11\n");
	expect(&limit, "because this machine has no memory left: end other programs");
	put(&m, V1 "/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 12\n");
	put(&m, V1 "/memory.limit_in_bytes", "2097152\n");
	expect(&limit, "has memory of 2 MiB at most: raise that limit (memory.limit_in_bytes)");
	end(&m);
}

Test(memory_limit, in_a_container_is_where_its_groups_are_mounted)
{
	machine_t m;
	tsr_memory_limit_t limit;
	start(&m, "0::/docker/0123\n");
	put(&m, "/sys/fs/cgroup/memory.events", "oom_kill 0\n");
	put(&m, "/sys/fs/cgroup/memory.max", "4096\n");
	tsr_memory_limit_begin(&limit, m.root);
	put(&m, "/sys/fs/cgroup/memory.events", "oom_kill 1\n");
	expect(&limit, "has memory of 4 KiB at most");
	end(&m);
}

Test(memory_limit, that_cannot_be_read_is_not_spoken_of)
{
	static const char *const groups[] = {"", "nonsense\n", "0::/none\n", "4:memory:/none\n",
					     ":"};
	tsr_memory_limit_t limit;
	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
		machine_t m;
		start(&m, groups[i]);
		tsr_memory_limit_begin(&limit, m.root);
		expect(&limit, NULL);
		end(&m);
	}
	tsr_memory_limit_begin(&limit, "/no/such/root");
	expect(&limit, NULL);
}

/** A rank that is killed; the kernel's count rises meanwhile, or not. What the crew prints. */
static void run_crew(const machine_t *m, bool counted, char *printed, size_t size)
{
	int pipes[2];
	tsr_crew_t crew;
	cr_assert(pipe(pipes) == 0);
	const int err = dup(STDERR_FILENO);
	dup2(pipes[1], STDERR_FILENO);
	cr_assert(tsr_crew_begin(&crew, 1000000000u));
	tsr_memory_limit_begin(&crew.memory, m->root);
	if (counted)
		put(m, V2 "/memory.events", "oom_kill 1\n");
	if (tsr_crew_fork(&crew) == 0)
		raise(SIGKILL);
	cr_expect_eq(tsr_crew_wait(&crew), 137);
	tsr_crew_end(&crew);
	dup2(err, STDERR_FILENO);
	close(err);
	close(pipes[1]);
	const ssize_t got = read(pipes[0], printed, size - 1);
	printed[got > 0 ? got : 0] = '\0';
	close(pipes[0]);
}

Test(memory_limit, is_what_a_launcher_says_of_its_rank)
{
	machine_t m;
	char printed[1024];
	start(&m, "0::/system.slice/job\n");
	put(&m, V2 "/memory.events", "oom_kill 0\n");
	put(&m, V2 "/memory.max", "536870912\n");
	run_crew(&m, false, printed, sizeof printed);
	cr_expect_str_eq(printed, "tessera: rank 0 was killed by signal 9 (Killed)\n");
	run_crew(&m, true, printed, sizeof printed);
	cr_expect_str_eq(printed,
			 "tessera: rank 0 was killed by signal 9 (Killed) by the kernel, because "
			 "its control group (cgroup) has memory of 512 MiB at most: raise that "
			 "limit (memory.max), start fewer ranks, or set TESSERA_HEAP_SIZE lower\n");
	end(&m);
}
