/* Connecting, proving, being answered: each step bounded. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"
#include "src/bootstrap/wire/knock.h"
#include "src/bootstrap/wire/message.h"

void tsr_knock_cancel(tsr_knock_t *knock)
{
	tsr_fd_close(&knock->socket, 1);
	*knock = (tsr_knock_t){.socket = -1};
}

static tsr_knock_result_t give_up(tsr_knock_t *knock, tsr_knock_result_t result)
{
	tsr_knock_cancel(knock);
	return result;
}

/** A message that did not go, or come, as it should. */
static tsr_knock_result_t give_up_for(tsr_knock_t *knock, tsr_post_t post)
{
	if (post == TSR_POST_FAILED && errno != EMSGSIZE)
		return give_up(knock, TSR_KNOCK_FAILED);
	return give_up(knock, knock->proved ? TSR_KNOCK_SHUT : TSR_KNOCK_NOBODY);
}

/**
 * A Unix socket that does not block connects at once or not at all: where too
 * many wait at the door already connect() says EAGAIN, and has not queued. A
 * signal cannot leave it half done either.
 */
static tsr_knock_result_t connect_to_door(tsr_knock_t *knock, const tsr_job_t *job,
					  tsr_knock_answer_t *answer)
{
	struct sockaddr_un address;
	const socklen_t length = tsr_wire_address(job, &address);
	knock->socket =
		tsr_fd_keep(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (knock->socket < 0)
		return errno == ENOMEM || errno == ENOBUFS ? TSR_KNOCK_NOBODY : TSR_KNOCK_FAILED;
	if (connect(knock->socket, (struct sockaddr *)&address, length) != 0)
		return give_up(knock, errno == EAGAIN ? TSR_KNOCK_BUSY : TSR_KNOCK_NOBODY);
	if (!tsr_wire_same_user(knock->socket, &answer->uid))
		return give_up(knock, errno == 0 ? TSR_KNOCK_FOREIGN : TSR_KNOCK_FAILED);
	if (!tsr_random_bytes(&knock->nonce, sizeof knock->nonce))
		return give_up(knock, TSR_KNOCK_FAILED);
	const tsr_wire_knock_t message = {.magic = TSR_WIRE_MAGIC, .nonce = knock->nonce};
	const tsr_post_t post = tsr_message_send(knock->socket, &message, sizeof message, NULL, 0);
	knock->connected = post == TSR_POST_DONE;
	return knock->connected ? TSR_KNOCK_WAITS : give_up_for(knock, post);
}

/** Takes the door's challenge, and answers it with `hello`. */
static tsr_knock_result_t prove(tsr_knock_t *knock, const tsr_job_t *job, tsr_wire_hello_t *hello)
{
	tsr_wire_challenge_t challenge;
	int count;
	tsr_post_t post =
		tsr_message_receive(knock->socket, &challenge, sizeof challenge, NULL, 0, &count);
	if (post == TSR_POST_LATER)
		return TSR_KNOCK_WAITS;
	if (post != TSR_POST_DONE)
		return give_up_for(knock, post);
	if (challenge.magic != TSR_WIRE_MAGIC ||
	    challenge.proof != tsr_wire_door_proof(&job->key, knock->nonce, challenge.nonce))
		return give_up(knock, TSR_KNOCK_STRANGER);
	knock->proved = true;
	hello->magic = TSR_WIRE_MAGIC;
	hello->proof = tsr_wire_hello_proof(&job->key, knock->nonce, challenge.nonce, hello);
	post = tsr_message_send(knock->socket, hello, sizeof *hello, NULL, 0);
	return post == TSR_POST_DONE ? TSR_KNOCK_WAITS : give_up_for(knock, post);
}

static tsr_knock_result_t take_verdict(tsr_knock_t *knock, tsr_knock_answer_t *answer)
{
	int count = 0, fds[2];
	const tsr_post_t post = tsr_message_receive(knock->socket, &answer->verdict,
						    sizeof answer->verdict, fds, 2, &count);
	if (post == TSR_POST_LATER)
		return TSR_KNOCK_WAITS;
	if (post != TSR_POST_DONE)
		return give_up_for(knock, post);
	answer->fd = count > 0 ? fds[0] : -1;
	answer->bell = count > 1 ? fds[1] : -1;
	answer->verdict.sentence[sizeof answer->verdict.sentence - 1] = '\0';
	return TSR_KNOCK_ANSWERED;
}

tsr_knock_result_t tsr_knock_step(tsr_knock_t *knock, const tsr_job_t *job, tsr_wire_hello_t *hello,
				  uint64_t end_ns, tsr_knock_answer_t *answer_out)
{
	tsr_knock_result_t result = TSR_KNOCK_WAITS;
	if (!knock->connected)
		result = connect_to_door(knock, job, answer_out);
	while (result == TSR_KNOCK_WAITS) {
		struct pollfd entry = {.fd = knock->socket, .events = POLLIN};
		if (tsr_fd_poll(&entry, 1, end_ns) == 0)
			return TSR_KNOCK_WAITS;
		result = knock->proved ? take_verdict(knock, answer_out) : prove(knock, job, hello);
	}
	return result;
}
