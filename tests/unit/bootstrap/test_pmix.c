/*
 * Ranks that ask PMIx who and where they are. The library that they load is
 * tests/fakes/pmix.c; tests/nodes/pmix.py has real servers. This program is its
 * own rank, as that of test_foreign_launchers.c.
 */
#include <criterion/criterion.h>

#include <fcntl.h>

#include "clean_environment.h"
#include "foreign_ranks.h"
#include "src/base/os/clock.h"
#include "src/base/settings/options.h"
#include "src/bootstrap/bootstrap.h"
#include "src/bootstrap/pmix/pmix.h"

#if __has_include(<pmix.h>)
#include <pmix.h>

#define SAME(mine_, theirs_) _Static_assert((mine_) == (theirs_), #theirs_)
SAME(TSR_PMIX_BOOL, PMIX_BOOL);
SAME(TSR_PMIX_STRING, PMIX_STRING);
SAME(TSR_PMIX_INT, PMIX_INT);
SAME(TSR_PMIX_UINT32, PMIX_UINT32);
SAME(TSR_PMIX_GLOBAL, PMIX_GLOBAL);
SAME(TSR_PMIX_SUCCESS, PMIX_SUCCESS);
SAME(TSR_PMIX_ERR_TIMEOUT, PMIX_ERR_TIMEOUT);
SAME(TSR_PMIX_ERR_UNREACH, PMIX_ERR_UNREACH);
SAME(TSR_PMIX_ERR_PARTIAL_SUCCESS, PMIX_ERR_PARTIAL_SUCCESS);
SAME(TSR_PMIX_WILDCARD, PMIX_RANK_WILDCARD);
SAME(sizeof(tsr_pmix_proc_t), sizeof(pmix_proc_t));
SAME(offsetof(tsr_pmix_proc_t, rank), offsetof(pmix_proc_t, rank));
SAME(sizeof(tsr_pmix_value_t), sizeof(pmix_value_t));
SAME(offsetof(tsr_pmix_value_t, data), offsetof(pmix_value_t, data));
SAME(sizeof(tsr_pmix_info_t), sizeof(pmix_info_t));
SAME(offsetof(tsr_pmix_info_t, flags), offsetof(pmix_info_t, flags));
SAME(offsetof(tsr_pmix_info_t, value), offsetof(pmix_info_t, value));
SAME(sizeof(int), sizeof(pmix_status_t));
SAME(sizeof(uint8_t), sizeof(pmix_scope_t));
SAME(sizeof(uint16_t), sizeof(pmix_data_type_t));

/** Each call compiles with the header's declaration, in places of what ours take. */
static void compare_calls(pmix_proc_t *proc, pmix_info_t *info, pmix_value_t *value)
{
	(void)PMIx_Init(proc, info, (size_t)1);
	(void)PMIx_Finalize((const pmix_info_t *)info, (size_t)1);
	(void)PMIx_Get((const pmix_proc_t *)proc, (const char *)"", (const pmix_info_t *)info,
		       (size_t)1, &value);
	(void)PMIx_Put((uint8_t)1, (const char *)"", value);
	(void)PMIx_Commit();
	(void)PMIx_Fence((const pmix_proc_t *)proc, (size_t)1, (const pmix_info_t *)info,
			 (size_t)1);
	(void)PMIx_Error_string(0);
}

Test(pmix, what_is_declared_is_what_the_header_has)
{
	cr_expect_str_eq(TSR_PMIX_JOB_SIZE, PMIX_JOB_SIZE);
	cr_expect_str_eq(TSR_PMIX_LOCAL_PEERS, PMIX_LOCAL_PEERS);
	cr_expect_str_eq(TSR_PMIX_COLLECT_DATA, PMIX_COLLECT_DATA);
	cr_expect_str_eq(TSR_PMIX_TIMEOUT, PMIX_TIMEOUT);
	cr_expect(sizeof &compare_calls > 0);
}
#else
Test(pmix, what_is_declared_is_what_the_header_has)
{
	cr_skip_test("there is no <pmix.h> (ci/install-deps installs it)");
}
#endif

/* ------------------------------------------------------------------ reading */

typedef struct peers {
	const char *list;
	int rank, lowest, local_rank, local_size; /* lowest -1: refused */
} peers_t;

static const peers_t all_peers[] = {
	{"0", 0, 0, 0, 1},     {"0,1,2", 2, 0, 2, 3},   {"3,4", 4, 3, 1, 2},
	{"4,3", 4, 3, 1, 2},   {"7,5,6", 6, 5, 1, 3},   {"0-3", 2, 0, 2, 4},
	{"1,4-6", 5, 1, 2, 4}, {"255", 255, 255, 0, 1}, {"1,1", 1, 1, 0, 1},
	{"", 0, -1, 0, 0},     {"0,1", 2, -1, 0, 0},    {"0,", 0, -1, 0, 0},
	{",0", 0, -1, 0, 0},   {"0,x", 0, -1, 0, 0},    {"3-1", 2, -1, 0, 0},
	{"1-", 1, -1, 0, 0},   {"256", 0, -1, 0, 0},    {"0-256", 0, -1, 0, 0},
	{"-1", 1, -1, 0, 0},   {"0 1", 0, -1, 0, 0},    {"0-1-2", 1, -1, 0, 0},
	{"0", -1, -1, 0, 0},   {"0", 256, -1, 0, 0},    {"99999999999999999999", 0, -1, 0, 0},
};

Test(pmix, a_list_of_peers_says_who_keeps_the_node)
{
	for (size_t i = 0; i < sizeof all_peers / sizeof *all_peers; i++) {
		const peers_t *peers = &all_peers[i];
		int lowest = -1, local_rank = 0, local_size = 0;
		const bool read = tsr_pmix_read_peers(peers->list, peers->rank, &lowest,
						      &local_rank, &local_size);
		cr_expect(read == (peers->lowest >= 0), "'%s'", peers->list);
		cr_expect(lowest == peers->lowest && local_rank == peers->local_rank &&
				  local_size == peers->local_size,
			  "'%s': %d, %d of %d", peers->list, lowest, local_rank, local_size);
	}
}

Test(pmix, what_rank_0_publishes_is_read_or_refused)
{
	char secret[40], root[256], sentence[64], big[400], text[600];
	cr_expect(tsr_pmix_read_published("abc h:1,[::1]:2", secret, root, sentence,
					  sizeof sentence) &&
		  strcmp(secret, "abc") == 0 && strcmp(root, "h:1,[::1]:2") == 0);
	cr_expect(tsr_pmix_read_published("abc -", secret, root, sentence, sizeof sentence) &&
		  root[0] == '\0');
	cr_expect(!tsr_pmix_read_published("! no port", secret, root, sentence, sizeof sentence) &&
		  strcmp(sentence, "no port") == 0);
	memset(big, 'x', sizeof big);
	big[300] = '\0';
	snprintf(text, sizeof text, "abc %s", big);
	cr_expect(!tsr_pmix_read_published(text, secret, root, sentence, sizeof sentence) &&
		  sentence[0] == '\0');
	snprintf(text, sizeof text, "%.40s h:1", big);
	cr_expect(!tsr_pmix_read_published(text, secret, root, sentence, sizeof sentence));
	const char *const wrong[] = {"", "abc", "abc ", " h:1", "!", "! "};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		cr_expect(!tsr_pmix_read_published(wrong[i], secret, root, sentence,
						   sizeof sentence) &&
				  sentence[0] == '\0',
			  "'%s'", wrong[i]);
}

/* ------------------------------------------------------------------ worlds */

static int count_descriptors(void)
{
	int open = 0;
	for (int fd = 0; fd < 1024; fd++)
		open += fcntl(fd, F_GETFD) >= 0;
	return open;
}

/** Joins one world; returns whether all is well. */
static bool join_once(void)
{
	tsr_options_t options;
	tsr_job_t job;
	tsr_boot_t *boot;
	int all[TSR_MAX_RANKS], sum = 0;
	const int before = count_descriptors();
	if (tsr_options_read(&options) != TSR_OK || tsr_job_detect(&job) != TSR_OK ||
	    tsr_boot_join(&job, options.deadline_ns, &boot) != TSR_OK)
		return false;
	const int me = tsr_boot_rank(boot), size = tsr_boot_size(boot);
	tsr_status_t status = tsr_boot_exchange(boot, "gather", "", &me, all, sizeof me);
	for (int r = 0; r < size && status == TSR_OK; r++)
		sum += all[r];
	if (status == TSR_OK)
		status = tsr_boot_exchange(boot, "end", "", NULL, NULL, 0);
	if (status == TSR_OK)
		printf("[%d of %d: %d] node %d of %d\n", me, size, sum, tsr_boot_node(boot, me),
		       tsr_boot_nodes(boot));
	if (status == TSR_OK && me == 0)
		printf("listens at %s\n", tsr_boot_listens(boot));
	tsr_boot_leave(boot);
	if (count_descriptors() != before)
		printf("%d descriptors are open, %d were\n", count_descriptors(), before);
	return status == TSR_OK && count_descriptors() == before;
}

__attribute__((constructor)) static void be_a_rank(void)
{
	if (getenv("FOREIGN_RANK") == NULL)
		return;
	const uint64_t begin_ns = tsr_now_ns();
	for (int left = atoi(getenv("FOREIGN_RANK")); left > 0; left--)
		if (!join_once()) {
			printf("tessera: %s (%.1f s)\n", tsr_last_error(),
			       (double)(tsr_now_ns() - begin_ns) / 1e9);
			exit(1);
		}
	exit(0);
}

/** Starts `size` ranks, of which those of `left_out` ("3|4") are missing. */
static int run_ranks(int size, int nodes, int worlds, const char *library, const char *left_out,
		     char *output, size_t output_size)
{
	char command[1024];
	snprintf(command, sizeof command,
		 "export FAKE_PMIX_FOLDER=$(mktemp -d) FAKE_PMIX_SIZE=%d FAKE_PMIX_NODES=%d "
		 "FOREIGN_RANK=%d PMIX_NAMESPACE=test.$$ "
		 "LD_LIBRARY_PATH=${SELF%%/unit/*}/fakes/%s; pids=; for r in $(seq 0 %d); do "
		 "case $r in %s) continue;; esac; PMIX_RANK=$r $SELF 2>&1 & pids=\"$pids $!\"; "
		 "done; "
		 "code=0; for p in $pids; do wait $p || code=$?; done; "
		 "echo \"$(ls $FAKE_PMIX_FOLDER | grep -c finalized) finalized\"; "
		 "rm -r $FAKE_PMIX_FOLDER; exit $code",
		 size, nodes, worlds, library, size - 1, left_out);
	return run(command, output, output_size);
}

static void begin(const char *settings)
{
	clean_environment();
	unsetenv("FAKE_PMIX");
	unsetenv("FAKE_PMIX_AT");
	unsetenv("LD_LIBRARY_PATH");
	set_environment("TESSERA_DEADLINE=60s");
	if (*settings != '\0')
		set_environment(settings);
}

static int count(const char *text, const char *part)
{
	int found = 0;
	for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
		found++;
	return found;
}

static void expect_ranks(int size, int nodes, int worlds)
{
	char output[8192];
	const int code = run_ranks(size, nodes, worlds, "pmix", "none", output, sizeof output);
	cr_expect_eq(code, 0, "%d ranks on %d nodes: exit code %d: %s", size, nodes, code, output);
	for (int r = 0; r < size; r++) {
		char line[64];
		snprintf(line, sizeof line, "[%d of %d: %d] node %d of %d\n", r, size,
			 size * (size - 1) / 2, r * nodes / size, nodes);
		cr_expect_eq(count(output, line), worlds, "no %s in: %s", line, output);
	}
	char ended[32];
	snprintf(ended, sizeof ended, "\n%d finalized\n", size);
	cr_expect(strstr(output, ended) != NULL, "not%s but: %s", ended, output);
}

Test(pmix, ranks_find_each_other_on_one_node_and_on_several)
{
	static const int places[][2] = {{1, 1}, {2, 1}, {3, 1}, {8, 1}, {2, 2},
					{3, 2}, {3, 3}, {5, 2}, {5, 3}, {8, 4}};
	begin("");
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		expect_ranks(places[i][0], places[i][1], 1);
}

Test(pmix, a_process_joins_one_world_after_the_other)
{
	begin("");
	expect_ranks(3, 1, 3);
	expect_ranks(3, 2, 3);
}

Test(pmix, settings_go_before_it)
{
	char output[8192];
	begin("TESSERA_SECRET=s FAKE_PMIX=other_secret FAKE_PMIX_AT=2");
	expect_ranks(3, 2, 1);
	begin("TESSERA_NET_INTERFACE=127.0.0.1");
	cr_expect_eq(run_ranks(2, 2, 1, "pmix", "none", output, sizeof output), 0, "%s", output);
	cr_expect(strstr(output, "listens at 127.0.0.1:") != NULL, "%s", output);
	begin("TESSERA_NET_INTERFACE=lo");
	cr_expect_eq(run_ranks(2, 2, 1, "pmix", "none", output, sizeof output), 0, "%s", output);
	cr_expect(strstr(output, "listens at 127.0.0.1:") != NULL, "%s", output);
	/* one port after the other, if another test or program has the first */
	char root[64];
	for (int port = 23457; port < 23467; port++) {
		snprintf(root, sizeof root, "TESSERA_ROOT=127.0.0.1:%d", port);
		begin(root);
		if (run_ranks(2, 2, 1, "pmix", "none", output, sizeof output) == 0 ||
		    strstr(output, "another process has this port") == NULL)
			break;
	}
	snprintf(root, sizeof root, "listens at %s\n", strstr(getenv("TESSERA_ROOT"), "127"));
	cr_expect(strstr(output, root) != NULL, "no %s in: %s", root, output);
}

/* ------------------------------------------------------------------ what goes wrong */

typedef struct wrong {
	const char *settings, *library, *says;
	int saying; /* how many of three ranks on two nodes */
} wrong_t;

static const wrong_t wrongs[] = {
	{"FAKE_PMIX=init_fails", "pmix", "is told 'FAKE-FAILURE' by PMIx_Init", 3},
	{"FAKE_PMIX=no_server", "pmix", "is told 'UNREACHABLE' by PMIx_Init", 3},
	{"FAKE_PMIX=no_server", "pmix", "\n3 finalized\n", 1},
	{"FAKE_PMIX=init_hangs TESSERA_DEADLINE=1s", "pmix", "PMIx server has not answered rank ",
	 3},
	{"FAKE_PMIX=other_job", "pmix", " of 'singleton': unset those that are stale", 3},
	{"FAKE_PMIX=other_rank", "pmix", "unset those that are stale", 3},
	{"FAKE_PMIX=too_many", "pmix", "is one of 257; a world has 1 to 256 ranks", 3},
	{"FAKE_PMIX=size_is_text", "pmix", "PMIx has a value of type 6 for pmix.job.size", 3},
	{"FAKE_PMIX=no_peers", "pmix", "PMIx says that the ranks 'here and there'", 3},
	{"FAKE_PMIX=fence_fails", "pmix", "is told 'FAKE-FAILURE' by PMIx_Fence", 3},
	{"FAKE_PMIX=fence_late", "pmix", "has waited 60 s for the other ranks", 3},
	{"FAKE_PMIX=fence_partial", "pmix", "another of the 3 ranks ended before all had joined",
	 3},
	{"FAKE_PMIX=get_late", "pmix", "has waited 60 s for the other ranks", 3},
	{"FAKE_PMIX=rubbish", "pmix", "rank 0 has published through PMIx what is no address", 3},
	{"TESSERA_NET_INTERFACE=nonesuch", "pmix", "TESSERA_NET_INTERFACE is 'nonesuch', but no ",
	 3},
	{"TESSERA_NET_INTERFACE=192.0.2.77", "pmix",
	 "rank 0 cannot listen at a port for the other nodes: ", 3},
	/* rank 0 says why, the others wait for it till the deadline */
	{"FAKE_PMIX=put_fails FAKE_PMIX_AT=0 TESSERA_DEADLINE=1s", "pmix",
	 "rank 0 is told 'FAKE-FAILURE' by PMIx_Put", 1},
	{"FAKE_PMIX=put_fails FAKE_PMIX_AT=0 TESSERA_DEADLINE=1s", "pmix",
	 "has waited 1 s for the other ranks, but not all have come", 2},
	{"FAKE_PMIX=commit_fails FAKE_PMIX_AT=0 TESSERA_DEADLINE=1s", "pmix",
	 "rank 0 is told 'FAKE-FAILURE' by PMIx_Commit", 1},
	/* what rank 0 has published is the secret */
	{"FAKE_PMIX=other_secret FAKE_PMIX_AT=2 TESSERA_DEADLINE=2s", "pmix",
	 "does not know the secret of the job", 1},
	{"FAKE_PMIX=other_secret FAKE_PMIX_AT=1 TESSERA_DEADLINE=2s", "pmix",
	 "rank 1 of 3 never arrived within 2 s", 2},
	{"", "pmix_without_calls", "libpmix.so.2 has no PMIx_Init", 3},
	{"", "pmix_broken", "cannot be loaded", 3},
};

Test(pmix, what_goes_wrong_is_said_and_makes_no_worlds)
{
	for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
		const wrong_t *wrong = &wrongs[i];
		char output[8192];
		begin(wrong->settings);
		const uint64_t begin_ns = tsr_now_ns();
		const int code = run_ranks(3, 2, 1, wrong->library, "none", output, sizeof output);
		cr_expect_eq(code, 1, "%s: exit code %d", wrong->settings, code);
		cr_expect_eq(count(output, wrong->says), wrong->saying, "%s: %s", wrong->settings,
			     output);
		cr_expect(strstr(output, " of 3: ") == NULL, "%s: %s", wrong->settings, output);
		cr_expect_eq(count(output, "tessera: "), 3, "%s: %s", wrong->settings, output);
		cr_expect(tsr_now_ns() - begin_ns < 30000000000u, "%s: too late", wrong->settings);
	}
}

/* A server that is stopped when a process ends holds it up till the deadline. */
Test(pmix, a_finalize_that_hangs_ends_at_the_deadline)
{
	char output[8192];
	begin("FAKE_PMIX=finalize_hangs TESSERA_DEADLINE=1s");
	const uint64_t begin_ns = tsr_now_ns();
	const int code = run_ranks(2, 2, 1, "pmix", "none", output, sizeof output);
	cr_expect(code == 0 && count(output, "of 2: 1]") == 2, "exit code %d: %s", code, output);
	cr_expect(tsr_now_ns() - begin_ns < 30000000000u, "too late");
}

Test(pmix, a_status_of_finalize_is_not_looked_at)
{
	begin("FAKE_PMIX=finalize_fails");
	expect_ranks(3, 2, 1);
}

/* The others wait for it, and not longer than the deadline. */
Test(pmix, a_rank_that_never_comes_is_waited_for_till_the_deadline)
{
	static const char *const missing[] = {"0", "1", "2"};
	for (int i = 0; i < 3; i++) {
		char output[8192];
		begin("TESSERA_DEADLINE=1s");
		const int code = run_ranks(3, 2, 1, "pmix", missing[i], output, sizeof output);
		cr_expect(code == 1 && count(output, "has waited 1 s for the other ranks") == 2,
			  "without rank %s: exit code %d: %s", missing[i], code, output);
	}
}

/* Open MPI's variables say more, and are compared with what PMIx says. */
Test(pmix, another_size_than_the_launchers_is_refused)
{
	char output[8192];
	begin("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_LOCAL_SIZE=1 "
	      "OMPI_COMM_WORLD_LOCAL_RANK=0");
	const int code = run_ranks(2, 2, 1, "pmix", "1", output, sizeof output);
	cr_expect(code == 1 && strstr(output, "rank 0 of 3, PMIx says that there are 2 ranks"),
		  "%s", output);
}

/* Who has another root stays with it: srun --mpi=pmix, and no libpmix.so.2. */
Test(pmix, slurm_does_without_it)
{
	char output[8192];
	begin("SLURM_JOB_ID=9 SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 "
	      "SLURM_STEP_NUM_NODES=2 SLURM_LOCALID=0 SLURM_NODEID=1 "
	      "SLURM_JOB_NODELIST=127.0.0.1 TESSERA_DEADLINE=1s");
	const int code = run_ranks(2, 2, 1, "pmix_broken", "0", output, sizeof output);
	cr_expect(code == 1 && strstr(output, "rank 1 of 2 cannot reach rank 0's node at "
					      "127.0.0.1:10279 within 1 s"),
		  "%s", output);
}
