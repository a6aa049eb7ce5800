/* Telling rank 0 of ranks that have ended, and the others of rank 0. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"
#include "src/bootstrap/control.h"
#include "src/bootstrap/notice.h"

enum { PATIENCE_NS = 10 * 1000000 };

const char *tsr_notice_sentence(int rank, int size, int wait_status, char text[TSR_NOTICE_BYTES])
{
	char how[96];
	if (WIFSIGNALED(wait_status))
		snprintf(how, sizeof how, "was killed by signal %d (%s)", WTERMSIG(wait_status),
			 strsignal(WTERMSIG(wait_status)));
	else
		snprintf(how, sizeof how, "ended with exit code %d", WEXITSTATUS(wait_status));
	snprintf(text, TSR_NOTICE_BYTES, "rank %d of %d %s before %s joined the world", rank, size,
		 how, rank == 0 ? "all had" : "it");
	return text;
}

void tsr_notice_begin(tsr_notice_t *notice, const tsr_job_t *job)
{
	*notice = (tsr_notice_t){.job = *job, .knock = {.socket = -1}, .door = {.fd = -1}};
}

void tsr_notice_ended(tsr_notice_t *notice, int rank, int wait_status)
{
	notice->ended[rank] = true;
	notice->wait_status[rank] = wait_status;
}

void tsr_notice_end(tsr_notice_t *notice)
{
	tsr_knock_cancel(&notice->knock);
	if (notice->door.fd >= 0)
		tsr_door_shut(&notice->door);
}

/** Stands in for rank 0: whoever comes learns why it does not. */
static void answer_for_rank_0(tsr_notice_t *notice)
{
	char sentence[TSR_NOTICE_BYTES];
	if (notice->door.fd < 0 && !tsr_door_open(&notice->door, &notice->job))
		return;
	tsr_notice_sentence(0, notice->job.size, notice->wait_status[0], sentence);
	if (tsr_door_turn_away(&notice->door, TSR_ERR_PEER_LOST, sentence,
			       tsr_now_ns() + PATIENCE_NS) > 0 &&
	    !notice->printed) {
		fprintf(stderr, "tessera: %s\n", sentence);
		notice->printed = true;
	}
}

/** The next rank that has ended, from `notice->next` on, or -1. */
static int next_ended(const tsr_notice_t *notice)
{
	for (int i = 0; i < notice->job.size; i++) {
		const int rank = (notice->next + i) % notice->job.size;
		if (rank != 0 && notice->ended[rank])
			return rank;
	}
	return -1;
}

bool tsr_notice_tell(tsr_notice_t *notice)
{
	if (notice->ended[0]) {
		answer_for_rank_0(notice);
		return true;
	}
	const int rank = next_ended(notice);
	if (rank < 0)
		return false;
	notice->next = rank;
	tsr_wire_hello_t hello = {.kind = TSR_HELLO_ENDED,
				  .abi = TSR_CONTROL_ABI,
				  .rank = rank,
				  .size = notice->job.size,
				  .wait_status = notice->wait_status[rank]};
	tsr_knock_answer_t answer = {.fd = -1, .bell = -1};
	if (tsr_knock_step(&notice->knock, &notice->job, &hello, tsr_now_ns() + PATIENCE_NS,
			   &answer) == TSR_KNOCK_ANSWERED) {
		tsr_fd_close(&answer.fd, 1);
		tsr_fd_close(&answer.bell, 1);
		tsr_knock_cancel(&notice->knock);
		notice->next = rank + 1; /* another one may be what this world waits for */
	}
	return true;
}
