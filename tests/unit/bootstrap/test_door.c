/*
 * Who comes to a job's door and is not of the job: silent, of another user,
 * without the secret, or with one that was overheard.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "boot_test.h"
#include "src/base/os/descriptor.h"
#include "src/bootstrap/control.h"
#include "src/bootstrap/wire/knock.h"

#define SECOND 1000000000u

static int meet(tsr_boot_t *boot, seen_t *seen)
{
	const uint64_t begin_ns = tsr_now_ns();
	const tsr_status_t status =
		note(seen, tsr_boot_exchange(boot, "tsr_barrier", "", NULL, NULL, 0));
	seen->took_ns = tsr_now_ns() - begin_ns;
	return status != TSR_OK;
}

static tsr_job_t job_of(const boot_test_t *test, int rank)
{
	tsr_job_t job = {.rank = rank, .size = test->size};
	snprintf(job.name, sizeof job.name, "%s", test->job);
	return job;
}

/** A connection to the job's door; rank 0 is there. */
static int connect_to(const boot_test_t *test)
{
	const tsr_job_t job = job_of(test, 1);
	struct sockaddr_un address;
	const socklen_t length = tsr_wire_address(&job, &address);
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	cr_assert(fd >= 0 && connect(fd, (struct sockaddr *)&address, length) == 0, "%s",
		  strerror(errno));
	return fd;
}

/* ------------------------------------------------------------------ guests */

Test(door, silent_connections_keep_nobody_waiting)
{
	enum { SILENT = 300 }; /* more than a door has room for */
	boot_test_t test = {.size = 3};
	pid_t pids[3];
	int silent[SILENT];
	boot_test_begin(&test);
	pids[0] = boot_fork(&test, 0, 3, 0, meet);
	boot_await(&test, 0);
	for (int i = 0; i < SILENT; i++)
		silent[i] = connect_to(&test);
	const uint64_t begin_ns = tsr_now_ns();
	for (int r = 1; r < 3; r++)
		pids[r] = boot_fork(&test, r, 3, r, meet);
	for (int r = 0; r < 3; r++)
		cr_expect_eq(boot_wait(pids[r]), 0, "rank %d: %s", r, test.seen[r].sentence);
	cr_expect(tsr_now_ns() - begin_ns < 60ull * SECOND, "%llu ns",
		  (unsigned long long)(tsr_now_ns() - begin_ns));
	for (int i = 0; i < SILENT; i++)
		close(silent[i]);
	boot_test_end(&test);
}

Test(door, nonsense_is_not_heard)
{
	boot_test_t test = {.size = 2};
	pid_t pids[2];
	unsigned char bytes[700];
	boot_test_begin(&test);
	pids[0] = boot_fork(&test, 0, 2, 0, meet);
	boot_await(&test, 0);
	for (int i = 0; i < 64; i++) {
		const int fd = connect_to(&test);
		const size_t size = i % 3 == 0 ? (size_t)i * 11 : sizeof(tsr_wire_knock_t);
		for (size_t at = 0; at < sizeof bytes; at += 100)
			cr_assert(tsr_random_bytes(bytes + at, 100));
		(void)!send(fd, bytes, size, MSG_NOSIGNAL);
		(void)!send(fd, bytes, sizeof(tsr_wire_hello_t), MSG_NOSIGNAL);
		close(fd);
	}
	pids[1] = boot_fork(&test, 1, 2, 1, meet);
	for (int r = 0; r < 2; r++)
		cr_expect_eq(boot_wait(pids[r]), 0, "rank %d: %s", r, test.seen[r].sentence);
	boot_test_end(&test);
}

enum { UNHEARD = -1 };

/**
 * Knocks as `hello` says, by hand, and proves with `key`. Returns the verdict's
 * status, or UNHEARD.
 */
static int pretend(int fd, const tsr_key_t *key, tsr_wire_hello_t hello,
		   tsr_wire_challenge_t *challenge)
{
	const tsr_wire_knock_t knock = {.magic = TSR_WIRE_MAGIC, .nonce = 77};
	tsr_wire_verdict_t verdict;
	if (send(fd, &knock, sizeof knock, MSG_NOSIGNAL) != sizeof knock ||
	    recv(fd, challenge, sizeof *challenge, 0) != sizeof *challenge)
		return UNHEARD;
	cr_expect(challenge->proof ==
		  tsr_wire_door_proof(&(tsr_key_t){{0, 0}}, 77, challenge->nonce));
	hello.magic = TSR_WIRE_MAGIC;
	hello.proof = hello.proof != 0 ? hello.proof
				       : tsr_wire_hello_proof(key, 77, challenge->nonce, &hello);
	(void)!send(fd, &hello, sizeof hello, MSG_NOSIGNAL);
	return recv(fd, &verdict, sizeof verdict, 0) == sizeof verdict ? verdict.status : UNHEARD;
}

Test(door, an_impostor_without_the_secret_shuts_nobody_out)
{
	const tsr_key_t none = {{0, 0}}, wrong = {{1, 0}};
	const tsr_wire_hello_t rank_1 = {
		.kind = TSR_HELLO_RANK, .abi = TSR_CONTROL_ABI, .rank = 1, .size = 3, .process = 5};
	const tsr_wire_hello_t ended = {.kind = TSR_HELLO_ENDED,
					.abi = TSR_CONTROL_ABI,
					.rank = 1,
					.size = 3,
					.wait_status = 9};
	boot_test_t test = {.size = 3};
	tsr_wire_challenge_t challenge, second;
	pid_t pids[3];
	boot_test_begin(&test);
	pids[0] = boot_fork(&test, 0, 3, 0, meet);
	boot_await(&test, 0);
	int fd = connect_to(&test);
	cr_expect(pretend(fd, &wrong, rank_1, &challenge) == UNHEARD,
		  "a rank without the secret was answered");
	close(fd);
	fd = connect_to(&test);
	cr_expect(pretend(fd, &wrong, ended, &challenge) == UNHEARD,
		  "a launcher without the secret was answered");
	close(fd);
	/* Overheard: the proof of another connection, with the same nonce of the guest. */
	tsr_wire_hello_t overheard = rank_1;
	overheard.magic = TSR_WIRE_MAGIC;
	overheard.proof = tsr_wire_hello_proof(&none, 77, challenge.nonce, &overheard);
	fd = connect_to(&test);
	cr_expect(pretend(fd, &none, overheard, &second) == UNHEARD, "a proof served twice");
	cr_expect(second.nonce != challenge.nonce);
	close(fd);
	for (int r = 1; r < 3; r++)
		pids[r] = boot_fork(&test, r, 3, r, meet);
	for (int r = 0; r < 3; r++)
		cr_expect_eq(boot_wait(pids[r]), 0, "rank %d: %s", r, test.seen[r].sentence);
	boot_test_end(&test);
}

Test(door, a_process_that_knocks_twice_is_one_process)
{
	const tsr_key_t none = {{0, 0}};
	const tsr_wire_hello_t rank_1 = {
		.kind = TSR_HELLO_RANK, .abi = TSR_CONTROL_ABI, .rank = 1, .size = 3, .process = 5};
	tsr_wire_hello_t other = rank_1;
	boot_test_t test = {.size = 3};
	tsr_wire_challenge_t challenge;
	boot_test_begin(&test);
	const pid_t host = boot_fork(&test, 0, 3, 0, meet);
	boot_await(&test, 0);
	int fds[3];
	for (int i = 0; i < 3; i++)
		fds[i] = connect_to(&test);
	for (int i = 0; i < 2; i++)
		cr_expect_eq(pretend(fds[i], &none, rank_1, &challenge), TSR_OK);
	other.process = 6;
	cr_expect_eq(pretend(fds[2], &none, other, &challenge), TSR_ERR_CONFIG);
	cr_expect_eq(boot_wait(host), 2);
	cr_expect(strstr(test.seen[0].sentence, "two processes say that they are rank 1") != NULL,
		  "%s", test.seen[0].sentence);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	boot_test_end(&test);
}

/* ------------------------------------------------------------------ doors of others */

/**
 * Listens at the job's address, with a queue that is full, and never answers;
 * as another user where `uid` is not 0.
 */
static pid_t listen_in_vain(const boot_test_t *test, uid_t uid)
{
	const tsr_job_t job = job_of(test, 1);
	struct sockaddr_un address;
	const socklen_t length = tsr_wire_address(&job, &address);
	int ready[2];
	char byte;
	cr_assert_eq(pipe(ready), 0);
	const pid_t pid = fork();
	if (pid == 0) {
		if (uid != 0 && setresuid(uid, uid, uid) != 0)
			_exit(1);
		const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
		if (bind(fd, (struct sockaddr *)&address, length) != 0 ||
		    listen(fd, uid == 0 ? 0 : 8) != 0)
			_exit(2);
		for (int i = 0; uid == 0 && i < 4; i++)
			(void)!connect(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0),
				       (struct sockaddr *)&address, length);
		(void)!write(ready[1], "x", 1);
		pause();
		_exit(0);
	}
	cr_assert_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	boot_wait(pid);
}

Test(door, a_listener_that_lets_nobody_in_costs_one_deadline)
{
	boot_test_t test = {.size = 2, .deadline_ns = SECOND};
	boot_test_begin(&test);
	const pid_t listener = listen_in_vain(&test, 0);
	const uint64_t begin_ns = tsr_now_ns();
	cr_expect_eq(boot_wait(boot_fork(&test, 1, 2, 1, meet)), 1);
	const uint64_t took_ns = tsr_now_ns() - begin_ns;
	cr_expect(took_ns >= SECOND && took_ns < 30ull * SECOND, "%llu ns",
		  (unsigned long long)took_ns);
	cr_expect_eq(test.seen[1].status, TSR_ERR_PEER_LOST);
	cr_expect(strstr(test.seen[1].sentence, "did not let rank 1 in within") != NULL, "%s",
		  test.seen[1].sentence);
	end(listener);
	boot_test_end(&test);
}

Test(door, another_user_who_holds_the_address_is_named_at_once)
{
	boot_test_t test = {.size = 2};
	if (geteuid() != 0)
		cr_skip_test("only root can be another user");
	boot_test_begin(&test);
	const pid_t listener = listen_in_vain(&test, 65534);
	const uint64_t begin_ns = tsr_now_ns();
	for (int r = 0; r < 2; r++) {
		cr_expect_eq(boot_wait(boot_fork(&test, r, 2, r, meet)), 1);
		cr_expect_eq(test.seen[r].status, TSR_ERR_CONFIG);
		cr_expect(strstr(test.seen[r].sentence, "held by user 65534: set TESSERA_SECRET") !=
				  NULL,
			  "%s", test.seen[r].sentence);
	}
	cr_expect(tsr_now_ns() - begin_ns < 60ull * SECOND);
	end(listener);
	boot_test_end(&test);
}

/* ------------------------------------------------------------------ who is told what */

Test(door, jobs_of_one_name_and_two_secrets_do_not_meet)
{
	struct sockaddr_un a, b;
	tsr_job_t job = {.name = "one name"};
	const socklen_t length = tsr_wire_address(&job, &a);
	job.key.half[1] = 1;
	cr_expect_eq(tsr_wire_address(&job, &b), length);
	cr_expect(memcmp(&a, &b, length) != 0);
}
