/*
 * What keepers of nodes say to each other over TCP: an input is what one end of
 * a connection sends, in pieces. Who has not proved that it knows the key is
 * not heard. Frames that are valid are applied, and write nothing outside of
 * their meetings and records.
 */
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/bootstrap/board_rows.h"
#include "src/bootstrap/nodes/greeting.h"
#include "tests/fuzz/fuzz.h"

enum { SIZE = 5, MOST_PIECE = 4096, MOST_STEPS = 64 };

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

/** A connection: what is written to `*far_out` comes in at the link. */
static void connect_pair(tsr_link_t *link, int *far_out, tsr_link_stage_t stage)
{
	int ends[2];
	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0,
		   "no sockets");
	tsr_link_open(link, ends[0], stage);
	*far_out = ends[1];
}

/* ------------------------------------------------------------------ greetings */

/** A piece of a message: any bytes, or the right message, right but for its key, or its size. */
static void say_piece(input_t *input, int far, const void *message, size_t size)
{
	uint8_t bytes[sizeof(tsr_wire_verdict_t)];
	const uint8_t what = next(input);
	const size_t piece = what % 4 == 0 ? 1 + next(input) % size : size;
	memcpy(bytes, message, size);
	if (what % 4 == 1)
		bytes[next(input) % size] ^= (uint8_t)(1 + next(input));
	if (what % 4 == 2)
		fill(input, bytes, size);
	(void)send(far, bytes, piece, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/** Somebody who knows `guessed` comes to the hub, which knows `key`. */
static void greet_hub(input_t *input, const tsr_key_t *key, const tsr_key_t *guessed)
{
	tsr_link_t link;
	tsr_wire_challenge_t challenge = {.magic = 0};
	tsr_wire_hello_t heard, hello = {.magic = TSR_WIRE_MAGIC,
					 .kind = TSR_HELLO_NODE,
					 .abi = TSR_CONTROL_ABI,
					 .rank = 1,
					 .size = SIZE};
	const tsr_wire_knock_t knock = {.magic = TSR_WIRE_MAGIC, .nonce = 7};
	int far;
	tsr_greeting_t greeting = TSR_GREETING_WAITS;
	connect_pair(&link, &far, TSR_LINK_GUEST);
	for (int step = 0; greeting == TSR_GREETING_WAITS && step < MOST_STEPS; step++) {
		if (link.stage == TSR_LINK_GUEST)
			say_piece(input, far, &knock, sizeof knock);
		else
			say_piece(input, far, &hello, sizeof hello);
		(void)tsr_link_fill(&link);
		greeting = tsr_greet_guest(&link, key, &heard);
		(void)tsr_link_flush(&link);
		if (recv(far, &challenge, sizeof challenge, MSG_DONTWAIT) == sizeof challenge)
			hello.proof =
				tsr_wire_hello_proof(guessed, knock.nonce, challenge.nonce, &hello);
	}
	FUZZ_CHECK(greeting != TSR_GREETING_DONE || memcmp(key, guessed, sizeof *key) == 0,
		   "a guest was heard that does not know the key");
	FUZZ_CHECK(greeting != TSR_GREETING_DONE || memcmp(&heard, &hello, sizeof hello) == 0,
		   "another hello was heard than was said");
	tsr_link_close(&link);
	close(far);
}

/** A keeper comes to somebody who knows `guessed`. */
static void greet_stranger(input_t *input, const tsr_key_t *key, const tsr_key_t *guessed)
{
	tsr_link_t link;
	tsr_wire_knock_t knock = {.magic = 0};
	tsr_wire_hello_t hello = {.abi = TSR_CONTROL_ABI, .rank = 1, .size = SIZE};
	tsr_wire_verdict_t verdict = {.status = 0}, said;
	int far;
	tsr_greeting_t greeting = TSR_GREETING_WAITS;
	connect_pair(&link, &far, TSR_LINK_CONNECTING);
	FUZZ_CHECK(tsr_greet_first(&link) && tsr_link_flush(&link) == TSR_FLOW_ON, "no knock");
	FUZZ_CHECK(recv(far, &knock, sizeof knock, 0) == sizeof knock, "no knock");
	const tsr_wire_challenge_t challenge = {
		.magic = TSR_WIRE_MAGIC,
		.nonce = 9,
		.proof = tsr_wire_door_proof(guessed, knock.nonce, 9)};
	memset(&said, 0xff, sizeof said); /* its sentence has no end */
	for (int step = 0; greeting == TSR_GREETING_WAITS && step < MOST_STEPS; step++) {
		if (link.stage == TSR_LINK_KNOCKED)
			say_piece(input, far, &challenge, sizeof challenge);
		else
			say_piece(input, far, &said, sizeof said);
		(void)tsr_link_fill(&link);
		greeting = tsr_greet_host(&link, key, &hello, &verdict);
	}
	FUZZ_CHECK(greeting != TSR_GREETING_DONE || memcmp(key, guessed, sizeof *key) == 0,
		   "a listener was believed that does not know the key");
	FUZZ_CHECK(memchr(verdict.sentence, '\0', sizeof verdict.sentence) != NULL,
		   "the sentence has no end");
	tsr_link_close(&link);
	close(far);
}

/* ------------------------------------------------------------------ frames */

/** Any frame, most often one that is nearly valid; its body is what follows. */
static void say_frame(input_t *input, int far)
{
	uint8_t body[MOST_PIECE];
	tsr_frame_t frame;
	fill(input, &frame, sizeof frame);
	const uint8_t what = next(input);
	if (what < 224) {
		frame.kind = what >= 192    ? TSR_EVENT_POSTED + what % 3
			     : what % 8 < 5 ? 1 + what % 8
					    : TSR_FRAME_END + (what % 8 - 5);
		frame.event.rank = (uint8_t)frame.event.rank % SIZE;
		frame.event.members = (uint8_t)frame.event.members % (SIZE + 1);
		frame.event.member = (uint8_t)frame.event.member % SIZE;
		frame.event.place = (uint16_t)frame.event.place % (TSR_MEETING_UNITS + 1);
		frame.event.payload_bytes %= 3000;
		frame.bytes = frame.kind == TSR_EVENT_POSTED ? sizeof(tsr_posted_t)
			      : what >= 192                  ? 0
			      : what % 8 == 2
				      ? sizeof(tsr_control_slot_t) + frame.event.payload_bytes
			      : what % 8 == 4 ? sizeof(tsr_wait_record_t)
			      : what % 8 == 5 ? sizeof(tsr_end_t)
					      : 0;
	}
	const size_t size = frame.bytes < sizeof body ? frame.bytes : next(input);
	fill(input, body, size);
	(void)send(far, &frame, sizeof frame, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)send(far, body, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/** Nothing outside of what frames may write: the world's end, other ranks, the ring. */
static void check_segment(const tsr_control_t *control)
{
	FUZZ_CHECK(control->end_claimed == 0 && control->words.aborted == 0, "the world has ended");
	FUZZ_CHECK(control->proposal_claimed == 0 && control->relay_gone == 0, "the relay's part");
	FUZZ_CHECK(control->events.claimed == 0 && control->events.taken == 0, "the ring");
	for (int r = SIZE; r < TSR_MAX_RANKS; r++)
		FUZZ_CHECK(control->member[r].state == TSR_MEMBER_ABSENT, "rank %d", r);
	for (int i = 0; i < TSR_WAIT_RECORDS; i++)
		FUZZ_CHECK(control->wait_records[i].ready == 0 ||
				   memchr(control->wait_records[i].record.kernel, '\0',
					  sizeof control->wait_records[i].record.kernel) != NULL,
			   "a record has no end");
}

static void hear_frames(input_t *input)
{
	tsr_link_t link;
	tsr_frame_t frame;
	const void *body;
	int far;
	tsr_flow_t flow = TSR_FLOW_ON;
	tsr_boot_t *boot = tsr_boot_make(0, SIZE, 1000000000u);
	FUZZ_CHECK(boot != NULL && tsr_control_map(-1, &boot->control) == TSR_OK, "no memory");
	boot->several = true;
	connect_pair(&link, &far, TSR_LINK_JOINED);
	for (int step = 0; input->left > 0 && flow == TSR_FLOW_ON && step < MOST_STEPS; step++) {
		say_frame(input, far);
		flow = tsr_link_fill(&link);
		for (body = &body; flow == TSR_FLOW_ON && body != NULL;) {
			flow = tsr_link_take_frame(&link, SIZE, &frame, &body);
			if (flow == TSR_FLOW_ON && body != NULL)
				tsr_frame_apply(boot, &frame, body);
		}
	}
	check_segment(boot->control);
	tsr_link_close(&link);
	close(far);
	munmap(boot->control, sizeof *boot->control);
	free(boot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const tsr_key_t keys[2] = {{{7, 9}}, {{7, 8}}};
	input_t input = {data, size};
	const uint8_t what = next(&input);
	if (what % 3 == 0)
		greet_hub(&input, &keys[0], &keys[what / 3 % 2]);
	else if (what % 3 == 1)
		greet_stranger(&input, &keys[0], &keys[what / 3 % 2]);
	else
		hear_frames(&input);
	return 0;
}
