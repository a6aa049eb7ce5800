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

/** Doors and knocks are in the network of a node: the names of sockets are. */
static bool open_door(tsr_notice_t *notice)
{
	const bool opened = tsr_spaces_visit(notice->spaces, notice->job.node) &&
			    tsr_door_open(&notice->door, &notice->job);
	(void)tsr_spaces_visit(notice->spaces, -1);
	return opened;
}

static tsr_knock_result_t knock(tsr_notice_t *notice, tsr_wire_hello_t *hello,
				tsr_knock_answer_t *answer)
{
	tsr_knock_result_t result = TSR_KNOCK_NOBODY;
	if (tsr_spaces_visit(notice->spaces, notice->job.node))
		result = tsr_knock_step(&notice->knock, &notice->job, hello,
					tsr_now_ns() + PATIENCE_NS, answer);
	(void)tsr_spaces_visit(notice->spaces, -1);
	return result;
}

/** Stands in for a keeper that has ended, such as rank 0: whoever comes learns why it does not. */
static void answer_for(tsr_notice_t *notice, int keeper)
{
	char sentence[TSR_NOTICE_BYTES];
	notice->job.node = notice->node_of[keeper];
	if (notice->door.fd < 0 && !open_door(notice))
		return;
	tsr_notice_sentence(keeper, notice->job.size, notice->wait_status[keeper], sentence);
	if (tsr_door_turn_away(&notice->door, TSR_ERR_PEER_LOST, sentence,
			       tsr_now_ns() + PATIENCE_NS) > 0 &&
	    !notice->printed) {
		fprintf(stderr, "tessera: %s\n", sentence);
		notice->printed = true;
	}
}

/** The first rank of a node that has ended, or -1: on one node, rank 0. */
static int ended_keeper(const tsr_notice_t *notice)
{
	for (int r = 0; r < notice->job.size; r++)
		if (notice->ended[r] && notice->keeper_of[r] == r)
			return r;
	return -1;
}

/**
 * The next rank that has ended, from `notice->next` on, and a door to tell of
 * it: those of all nodes in turn. False: there is none.
 */
static bool next_ended(tsr_notice_t *notice, int *rank_out)
{
	const int size = notice->job.size;
	for (int i = 0; i < size * size; i++) {
		const int at = (notice->next + i) % (size * size);
		const int door = at / size, rank = at % size;
		if (notice->keeper_of[door] != door || notice->ended[door] || !notice->ended[rank])
			continue;
		notice->next = at;
		notice->job.node = notice->node_of[door];
		*rank_out = rank;
		return true;
	}
	return false;
}

bool tsr_notice_tell(tsr_notice_t *notice)
{
	const int keeper = ended_keeper(notice);
	int rank;
	if (keeper >= 0)
		answer_for(notice, keeper);
	if (!next_ended(notice, &rank))
		return keeper >= 0;
	tsr_wire_hello_t hello = {.kind = TSR_HELLO_ENDED,
				  .abi = TSR_CONTROL_ABI,
				  .rank = rank,
				  .size = notice->job.size,
				  .wait_status = notice->wait_status[rank]};
	tsr_knock_answer_t answer = {.fd = -1, .bell = -1};
	const tsr_knock_result_t result = knock(notice, &hello, &answer);
	if (result == TSR_KNOCK_ANSWERED) {
		tsr_fd_close(&answer.fd, 1);
		tsr_fd_close(&answer.bell, 1);
		tsr_knock_cancel(&notice->knock);
	}
	/* another one may be what this world, or another node, waits for */
	if (result == TSR_KNOCK_ANSWERED || (notice->job.several && result != TSR_KNOCK_WAITS))
		notice->next++;
	return true;
}
