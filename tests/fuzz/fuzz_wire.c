/*
 * What processes say to each other before they share memory: an input is a play
 * of guests at a door, of a door that one knocks at, or of messages with
 * descriptors. Whoever has not proved that it knows the key is not heard, and
 * no descriptor is left.
 */
#include <dirent.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/bootstrap/wire/door.h"
#include "src/bootstrap/wire/knock.h"
#include "src/bootstrap/wire/message.h"
#include "tests/fuzz/fuzz.h"

enum { GUESTS = 4, MOST_STEPS = 64, MESSAGE_BYTES = 700, FDS = 3 };

/** What is left of an input. Behind its end there are zeros. */
typedef struct input {
	const uint8_t *at;
	size_t left;
} input_t;

static uint8_t next(input_t *input)
{
	if (input->left == 0)
		return 0;
	input->left--;
	return *input->at++;
}

static void fill(input_t *input, void *bytes, size_t size)
{
	const size_t have = size < input->left ? size : input->left;
	memset(bytes, 0, size);
	if (have > 0)
		memcpy(bytes, input->at, have);
	input->at += have;
	input->left -= have;
}

static int descriptors(void)
{
	int count = 0;
	DIR *folder = opendir("/proc/self/fd");
	FUZZ_CHECK(folder != NULL, "no /proc/self/fd");
	while (readdir(folder) != NULL)
		count++;
	closedir(folder);
	return count;
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static tsr_job_t job_of_process(void)
{
	tsr_job_t job = {.rank = 1, .size = 2, .key = {{7, 9}}};
	snprintf(job.name, sizeof job.name, "fuzz-%ld", (long)getpid());
	return job;
}

/** That of a message of the protocol, or any other. */
static size_t pick_size(input_t *input)
{
	static const size_t sizes[] = {sizeof(tsr_wire_knock_t), sizeof(tsr_wire_challenge_t),
				       sizeof(tsr_wire_hello_t), sizeof(tsr_wire_verdict_t)};
	const uint8_t what = next(input);
	return what < 128 ? sizes[what % 4] : 1 + (size_t)what * next(input) % (MESSAGE_BYTES - 1);
}

/**
 * As the input says: any bytes, most often with the magic number in front, and
 * some descriptors.
 */
static void send_anything(input_t *input, int socket)
{
	uint8_t bytes[MESSAGE_BYTES];
	const int fds[FDS] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
	const size_t size = pick_size(input);
	fill(input, bytes, size);
	if (next(input) < 192 && size >= sizeof(uint32_t))
		memcpy(bytes, &(uint32_t){TSR_WIRE_MAGIC}, sizeof(uint32_t));
	(void)tsr_message_send(socket, bytes, size, fds, next(input) % (FDS + 1));
}

/* ------------------------------------------------------------------ at the door */

typedef struct guest {
	int socket;
	uint64_t nonce;
	bool knocked, honest; /* it has said a knock; and nothing else but that */
} guest_t;

/** Right hellos that were sent. One may be heard after its guest has gone. */
typedef struct said {
	tsr_wire_hello_t hello[MOST_STEPS];
	int count;
} said_t;

static void arrive(guest_t *guest, const tsr_job_t *job)
{
	struct sockaddr_un address;
	const socklen_t length = tsr_wire_address(job, &address);
	close_one(&guest->socket);
	*guest = (guest_t){
		.socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
		.honest = true};
	FUZZ_CHECK(guest->socket >= 0 &&
			   connect(guest->socket, (struct sockaddr *)&address, length) == 0,
		   "nobody listens");
}

static void knock(input_t *input, guest_t *guest)
{
	tsr_wire_knock_t message = {.magic = TSR_WIRE_MAGIC};
	fill(input, &message.nonce, sizeof message.nonce);
	guest->honest = guest->honest && !guest->knocked;
	guest->knocked = true;
	guest->nonce = message.nonce;
	(void)tsr_message_send(guest->socket, &message, sizeof message, NULL, 0);
}

/** With a right proof, if the door has sent its challenge. */
static void say_hello(input_t *input, const guest_t *guest, const tsr_job_t *job, said_t *said)
{
	tsr_wire_challenge_t challenge;
	int count;
	if (tsr_message_receive(guest->socket, &challenge, sizeof challenge, NULL, 0, &count) !=
	    TSR_POST_DONE)
		return;
	FUZZ_CHECK(guest->knocked || !guest->honest, "the door has answered who did not knock");
	FUZZ_CHECK(!guest->honest || challenge.proof == tsr_wire_door_proof(&job->key, guest->nonce,
									    challenge.nonce),
		   "the door's proof is wrong");
	tsr_wire_hello_t hello;
	fill(input, &hello, sizeof hello);
	hello.magic = TSR_WIRE_MAGIC;
	hello.proof = tsr_wire_hello_proof(&job->key, guest->nonce, challenge.nonce, &hello);
	if (tsr_message_send(guest->socket, &hello, sizeof hello, NULL, 0) == TSR_POST_DONE)
		said->hello[said->count++] = hello;
}

static void serve(input_t *input, tsr_door_t *door, const said_t *said)
{
	tsr_wire_hello_t hello;
	int socket = -1;
	bool known = false;
	if (tsr_door_next(door, 0, &hello, &socket) != TSR_DOOR_HELLO)
		return;
	for (int i = 0; i < said->count; i++)
		known = known || memcmp(&said->hello[i], &hello, sizeof hello) == 0;
	FUZZ_CHECK(known, "the door has heard who did not prove itself");
	const int fds[2] = {STDERR_FILENO, STDOUT_FILENO};
	(void)tsr_door_answer(socket, next(input) % 2 == 0 ? TSR_OK : TSR_ERR_CONFIG, "sentence",
			      fds, 1 + next(input) % 2, 0);
	close_one(&socket);
}

static void play_guests(input_t *input, const tsr_job_t *job)
{
	tsr_door_t door;
	guest_t guests[GUESTS] = {{.socket = -1}, {.socket = -1}, {.socket = -1}, {.socket = -1}};
	said_t said = {.count = 0};
	FUZZ_CHECK(tsr_door_open(&door, job), "the door does not open");
	for (int step = 0; input->left > 0 && step < MOST_STEPS; step++) {
		const uint8_t what = next(input);
		guest_t *guest = &guests[what / 8 % GUESTS];
		if (what % 8 == 0)
			arrive(guest, job);
		else if (what % 8 == 1)
			serve(input, &door, &said);
		else if (what % 8 == 2)
			close_one(&guest->socket);
		else if (guest->socket >= 0 && what % 8 == 3)
			knock(input, guest);
		else if (guest->socket >= 0 && what % 8 == 4)
			say_hello(input, guest, job, &said);
		else if (guest->socket >= 0)
			send_anything(input, guest->socket), guest->honest = false;
	}
	tsr_door_shut(&door);
	for (int g = 0; g < GUESTS; g++)
		close_one(&guests[g].socket);
}

/* ------------------------------------------------------------------ who knocks */

/** A door that knows the key, or does not. Returns whether its challenge was right. */
static bool answer_knock(input_t *input, int socket, const tsr_job_t *job)
{
	tsr_wire_knock_t heard;
	int count;
	if (tsr_message_receive(socket, &heard, sizeof heard, NULL, 0, &count) != TSR_POST_DONE)
		return false;
	tsr_wire_challenge_t challenge = {.magic = TSR_WIRE_MAGIC, .nonce = next(input)};
	challenge.proof = tsr_wire_door_proof(&job->key, heard.nonce, challenge.nonce);
	return tsr_message_send(socket, &challenge, sizeof challenge, NULL, 0) == TSR_POST_DONE;
}

static void send_verdict(input_t *input, int socket)
{
	tsr_wire_verdict_t verdict;
	const int fds[FDS] = {STDERR_FILENO, STDOUT_FILENO, STDIN_FILENO};
	fill(input, &verdict, sizeof verdict); /* its sentence may have no end */
	(void)tsr_message_send(socket, &verdict, sizeof verdict, fds, next(input) % (FDS + 1));
}

static void check_answer(const tsr_knock_answer_t *answer, bool proved)
{
	FUZZ_CHECK(proved, "a door was believed that had not proved itself");
	FUZZ_CHECK(memchr(answer->verdict.sentence, '\0', sizeof answer->verdict.sentence) != NULL,
		   "the sentence has no end");
	FUZZ_CHECK(answer->fd == -1 || answer->fd > STDERR_FILENO, "descriptor %d", answer->fd);
	FUZZ_CHECK(answer->bell == -1 || answer->bell > STDERR_FILENO, "bell %d", answer->bell);
}

static void play_door(input_t *input, const tsr_job_t *job)
{
	struct sockaddr_un address;
	const socklen_t length = tsr_wire_address(job, &address);
	int listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
	    guest = -1;
	tsr_knock_t knock = {.socket = -1};
	tsr_wire_hello_t hello = {.kind = TSR_HELLO_RANK, .rank = 1, .size = 2};
	tsr_knock_answer_t answer = {.fd = -1, .bell = -1};
	bool proved = false, over = false;
	FUZZ_CHECK(listening >= 0 && bind(listening, (struct sockaddr *)&address, length) == 0 &&
			   listen(listening, 4) == 0,
		   "the door does not open");
	for (int step = 0; input->left > 0 && step < MOST_STEPS && !over; step++) {
		const uint8_t what = next(input) % 6;
		if (what == 0)
			over = tsr_knock_step(&knock, job, &hello, 0, &answer) ==
			       TSR_KNOCK_ANSWERED;
		else if (what == 1 && guest < 0)
			guest = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		else if (what == 2)
			close_one(&guest);
		else if (guest >= 0 && what == 3)
			proved = answer_knock(input, guest, job) || proved;
		else if (guest >= 0 && what == 4)
			send_verdict(input, guest);
		else if (guest >= 0)
			send_anything(input, guest);
	}
	if (over)
		check_answer(&answer, proved);
	tsr_knock_cancel(&knock);
	close_one(&answer.fd);
	close_one(&answer.bell);
	close_one(&guest);
	close_one(&listening);
}

/* ------------------------------------------------------------------ messages */

static void play_messages(input_t *input)
{
	int ends[2], fds[TSR_MESSAGE_FDS], count = 0;
	uint8_t bytes[MESSAGE_BYTES];
	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "no sockets");
	for (int step = 0; input->left > 0 && step < MOST_STEPS; step++) {
		send_anything(input, ends[0]);
		const size_t size = pick_size(input);
		const int capacity = next(input) % (FDS + 1);
		if (tsr_message_receive(ends[1], bytes, size, fds, capacity, &count) !=
		    TSR_POST_DONE)
			continue;
		FUZZ_CHECK(count <= capacity, "%d descriptors where there is room for %d", count,
			   capacity);
		for (int i = 0; i < count; i++)
			close_one(&fds[i]);
	}
	close_one(&ends[0]);
	close_one(&ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	input_t input = {data, size};
	const tsr_job_t job = job_of_process();
	const int before = descriptors();
	switch (next(&input) % 3) {
	case 0:
		play_guests(&input, &job);
		break;
	case 1:
		play_door(&input, &job);
		break;
	default:
		play_messages(&input);
	}
	const int after = descriptors();
	FUZZ_CHECK(before == after, "%d descriptors were left open", after - before);
	return 0;
}
