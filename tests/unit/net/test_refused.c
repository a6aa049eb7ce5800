/*
 * Messages that no right sender sends: strangers are not heard, and a peer
 * reaches the heap's window and nothing else.
 */
#include <criterion/criterion.h>

#include "net_test.h"

enum { GUARD = 1 << 16, HEAP = 1 << 17, POISON = 0x5a };

static const char *const carriers[] = {NULL, "seed 1 delay 0"};

/** The other end of a rank's data plane, without one of its own. */
typedef struct stranger {
	const tsr_carrier_t *carrier;
	tsr_carrier_link_t *link;
	unsigned answers;
} stranger_t;

static void hear(void *ctx, const void *header, size_t header_bytes, const void *data,
		 size_t data_bytes)
{
	(void)header, (void)header_bytes, (void)data, (void)data_bytes;
	((stranger_t *)ctx)->answers++;
}

static void ignore_sent(void *ctx, void *mark)
{
	(void)ctx, (void)mark;
}

static void ignore_lost(void *ctx, int peer, const char *why)
{
	(void)ctx, (void)peer, (void)why;
}

/** A message of rank 1 to rank 0 as it should be. */
static tsr_message_t right(uint8_t what)
{
	const tsr_key_t key = tsr_key_of("a test");
	return (tsr_message_t){.magic = TSR_MESSAGE_MAGIC,
			       .source = 1,
			       .token = tsr_message_token(&key, 1, 0),
			       .what = what,
			       .bytes = 8,
			       .op = NET_ADD,
			       .number = 1,
			       .reply = 1 << 16 | 1,
			       .row_bytes = 8,
			       .rows = 1,
			       .pitch_bytes = 8,
			       .bits = 1};
}

/** Rank 0 with a heap between two guards, driven by the test itself. */
typedef struct victim {
	net_rank_t me;
	unsigned char *memory;
	stranger_t stranger;
} victim_t;

static void victim_begin(victim_t *victim, net_test_t *test)
{
	char path[4096], why[256];
	unsigned char address[TSR_NET_ADDRESS_BYTES];
	net_rank_t *me = &victim->me;
	*me = (net_rank_t){.test = test, .rank = 0, .size = test->size};
	me->seen = &test->shared->seen[0];
	memset(me->seen, 0, sizeof *me->seen);
	atomic_store(&test->shared->aborted[0], 0);
	victim->memory = malloc(HEAP + 2 * GUARD);
	memset(victim->memory, POISON, HEAP + 2 * GUARD);
	me->heap = victim->memory + GUARD;
	cr_assert_eq(net_rank_open(me), 0, "%s", me->seen->sentence);
	me->net->memory = (tsr_net_memory_t){.ctx = me,
					     .heap = me->heap,
					     .bytes = HEAP,
					     .atomic = net_apply,
					     .each = net_apply_each};
	stranger_t *stranger = &victim->stranger;
	*stranger = (stranger_t){0};
	cr_assert_eq(tsr_net_load(net_plugin(test, path), &stranger->carrier), TSR_OK);
	const tsr_carrier_settings_t settings = {.rank = 1,
						 .size = 2,
						 .interface = test->carrier ? test->carrier : "lo",
						 .events = {.ctx = stranger,
							    .arrived = hear,
							    .sent = ignore_sent,
							    .lost = ignore_lost}};
	cr_assert(stranger->carrier->open(&settings, &stranger->link, why, sizeof why));
	cr_assert(stranger->carrier->connect(stranger->link, 0, test->shared->addresses[0],
					     TSR_NET_ADDRESS_BYTES, why, sizeof why));
	cr_assert(stranger->carrier->address(stranger->link, address, sizeof address, why,
					     sizeof why));
	cr_assert(me->net->carrier->connect(me->net->link, 1, address, sizeof address, why,
					    sizeof why));
}

static void victim_end(victim_t *victim)
{
	victim->stranger.carrier->close(victim->stranger.link);
	/* what the peer would have to answer is of no interest */
	atomic_store(&victim->me.net->ended, 1);
	tsr_net_close(victim->me.net);
	free(victim->memory);
}

/**
 * Serves both ends until the victim has dropped the message, has ended the
 * world, has answered, or has changed the first byte of its heap.
 */
static void deliver(victim_t *victim, const void *header, size_t header_bytes, const void *data,
		    size_t data_bytes)
{
	tsr_net_t *net = victim->me.net;
	const uint64_t dropped = net->dropped, end_ns = tsr_now_ns() + 60 * NET_SECOND;
	const unsigned answers = victim->stranger.answers, first = victim->me.heap[0];
	(void)victim->stranger.carrier->send(victim->stranger.link, 0, header, header_bytes, data,
					     data_bytes, victim);
	while (net->dropped == dropped && victim->me.seen->status == TSR_OK &&
	       victim->stranger.answers == answers && victim->me.heap[0] == first &&
	       tsr_now_ns() < end_ns) {
		(void)victim->stranger.carrier->progress(victim->stranger.link);
		(void)tsr_net_serve(net);
	}
}

/** Whether every byte but those of the heap from `begin` to `end` is as it was. */
static bool is_untouched(const victim_t *victim, size_t begin, size_t end)
{
	for (size_t i = 0; i < HEAP + 2 * GUARD; i++)
		if ((i < GUARD + begin || i >= GUARD + end) && victim->memory[i] != POISON)
			return false;
	return true;
}

/* ------------------------------------------------------------------ right ones */

Test(net_refused, a_right_message_is_heard, .timeout = 120)
{
	static const unsigned char data[24] = {1, 2, 3};
	for (int c = 0; c < 2; c++) {
		if (!net_has_carrier(carriers[c]))
			continue;
		net_test_t test = {.size = 2, .carrier = carriers[c]};
		victim_t victim;
		net_test_begin(&test);
		victim_begin(&victim, &test);
		tsr_message_t message = right(TSR_MESSAGE_PUT);
		message.offset = HEAP - 8 - 2 * 100;
		message.rows = 3;
		message.pitch_bytes = 100;
		deliver(&victim, &message, sizeof message, data, sizeof data);
		cr_expect_eq(victim.me.seen->status, TSR_OK, "%s", victim.me.seen->sentence);
		cr_expect_eq(victim.me.heap[message.offset], 1);
		cr_expect_eq(victim.me.heap[HEAP - 1], 0); /* the last row ends with the heap */
		cr_expect(is_untouched(&victim, message.offset, HEAP));
		message = right(TSR_MESSAGE_UPDATE);
		message.number = 2;
		message.offset = HEAP - 8;
		deliver(&victim, &message, sizeof message, NULL, 0);
		cr_expect_eq(victim.me.seen->status, TSR_OK, "%s", victim.me.seen->sentence);
		cr_expect_eq(net_read(&victim.me, HEAP - 8), 1);
		cr_expect_eq(victim.me.net->dropped, 0);
		victim_end(&victim);
		net_test_end(&test);
	}
}

/* ------------------------------------------------------------------ strangers */

/** Ways in which a message is not from a rank of the job. */
static void spoil(int way, tsr_message_t *message, size_t *header_bytes)
{
	switch (way) {
	case 0:
		message->token ^= 1;
		break;
	case 1:
		message->token = 0;
		break;
	case 2: /* my own proof, sent back */
		message->token = tsr_message_token(&(tsr_key_t){{0}}, 1, 0);
		break;
	case 3:
		message->magic++;
		break;
	case 4:
		message->source = 0;
		break;
	case 5:
		message->source = -1;
		break;
	case 6:
		message->source = 2;
		break;
	case 7:
		message->source = INT32_MAX;
		break;
	case 8:
		*header_bytes -= 1;
		break;
	default:
		*header_bytes = 0;
	}
}

Test(net_refused, strangers_are_not_heard, .timeout = 120)
{
	static const unsigned char data[8];
	for (int c = 0; c < 2; c++) {
		if (!net_has_carrier(carriers[c]))
			continue;
		net_test_t test = {.size = 2, .carrier = carriers[c]};
		victim_t victim;
		net_test_begin(&test);
		victim_begin(&victim, &test);
		for (int way = 0; way < 10; way++) {
			tsr_message_t message = right(TSR_MESSAGE_PUT);
			size_t header_bytes = sizeof message;
			spoil(way, &message, &header_bytes);
			deliver(&victim, &message, header_bytes, data, sizeof data);
			cr_expect_eq(victim.me.net->dropped, (uint64_t)way + 1, "way %d", way);
		}
		cr_expect_eq(victim.me.seen->status, TSR_OK, "%s", victim.me.seen->sentence);
		cr_expect(is_untouched(&victim, 0, 0));
		victim_end(&victim);
		net_test_end(&test);
	}
}

/* ------------------------------------------------------------------ wrong peers */

typedef struct wrong {
	const char *says;
	uint8_t what;
	uint64_t offset, pitch_bytes, row_bytes, rows;
	size_t data_bytes;
	uint8_t bytes;
	uint64_t number, after, applied, reply;
} wrong_t;

#define OUT "reaches out of the heap"
static const wrong_t wrongs[] = {
	/* rows */
	{OUT, TSR_MESSAGE_PUT, HEAP, 8, 8, 1, 8, 0, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_PUT, HEAP - 7, 8, 8, 1, 8, 0, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_PUT, UINT64_MAX - 3, 8, 8, 1, 8, 0, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_PUT, (uint64_t)-GUARD, 8, 8, 1, 8, 0, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_PUT, 0, HEAP, 8, 2, 16, 0, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_PUT, 0, UINT64_MAX, 8, 2, 16, 0, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_PUT, 64, (uint64_t)-8, 8, 2, 16, 0, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_PUT, 0, 0, 8, 2, 16, 0, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_PUT, 0, 4, 8, 2, 16, 0, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_PUT, 0, 8, UINT64_MAX, 1, 8, 0, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_PUT, 0, 1ull << 61, 1ull << 61, 8, 8, 0, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_PUT, 0, 1, 1, UINT64_MAX, 8, 0, 0, 0, 0, 0},
	{"another length", TSR_MESSAGE_PUT, 0, 8, 8, 1, 7, 0, 0, 0, 0, 0},
	{"another length", TSR_MESSAGE_PUT, 0, 8, 8, 1, 9, 0, 0, 0, 0, 0},
	{"another length", TSR_MESSAGE_PUT, 0, 8, 8, 0, 8, 0, 0, 0, 0, 0},
	{"another length", TSR_MESSAGE_FILL, 0, 8, 8, 1, 8, 0, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_FILL, 8, HEAP, HEAP, 1, 0, 0, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_GET, HEAP - 4, 8, 8, 1, 0, 0, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_GET, 0, 1ull << 62, 8, 5, 0, 0, 0, 0, 0, 0},
	{"asks for nothing", TSR_MESSAGE_GET, 0, 8, 0, 1, 0, 0, 0, 0, 0, 0},
	/* words */
	{OUT, TSR_MESSAGE_UPDATE, HEAP, 0, 0, 0, 0, 8, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_UPDATE, HEAP - 4, 0, 0, 0, 0, 8, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_UPDATE, (uint64_t)-8, 0, 0, 0, 0, 8, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_UPDATE, 4, 0, 0, 0, 0, 8, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_FETCH, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_FETCH, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_FETCH, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_EACH, HEAP - 8, 16, 16, 1, 16, 8, 0, 0, 0, 0},
	{OUT, TSR_MESSAGE_EACH, 0, 12, 12, 1, 12, 8, 0, 0, 0, 0},
	{"has a length that is none", TSR_MESSAGE_EACH, 0, 64, 64, 0, 0, 8, 0, 0, 0, 0},
	{"has another length than it says", TSR_MESSAGE_EACH, 0, 64, 64, 1, 56, 8, 0, 0, 0, 0},
	/* numbers */
	{"came twice, or too early", TSR_MESSAGE_FILL, 0, 8, 8, 1, 0, 0, UINT64_MAX, 0, 0, 0},
	{"came twice, or too early", TSR_MESSAGE_FILL, 0, 8, 8, 1, 0, 0, TSR_MESSAGE_WINDOW + 1, 0,
	 0, 0},
	{"waits for what cannot come", TSR_MESSAGE_UPDATE, 0, 0, 0, 0, 0, 8, 0, UINT64_MAX, 0, 0},
	{"acknowledges what was never sent", TSR_MESSAGE_APPLIED, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0},
	/* answers */
	{"answers what nobody asked", TSR_MESSAGE_OLD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 << 16 | 1},
	{"answers what nobody asked", TSR_MESSAGE_OLD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	{"answers what nobody asked", TSR_MESSAGE_GOT, 0, 0, 8, 1, 8, 0, 0, 0, 0, UINT64_MAX},
	{"has a length that is none", TSR_MESSAGE_GOT, 0, 0, 1ull << 32, 1ull << 32, 8, 0, 0, 0, 0,
	 1},
	/* kinds */
	{"is of no known kind", TSR_MESSAGE_KINDS, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	{"is of no known kind", 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
};
enum { WRONGS = sizeof wrongs / sizeof *wrongs };

/** Sends it; expects that the world ends with a sentence, and that nothing was touched. */
static void refuse_one(net_test_t *test, const wrong_t *wrong, int index)
{
	static const unsigned char data[64];
	victim_t victim;
	victim_begin(&victim, test);
	tsr_message_t message = right(wrong->what);
	message.offset = wrong->offset;
	message.pitch_bytes = wrong->pitch_bytes;
	message.row_bytes = wrong->row_bytes;
	message.rows = wrong->rows;
	message.bytes = wrong->bytes;
	message.number = wrong->number ? wrong->number : 1;
	message.after = wrong->after;
	message.applied = wrong->applied;
	message.reply = wrong->reply;
	deliver(&victim, &message, sizeof message, data, wrong->data_bytes);
	cr_expect_eq(victim.me.seen->status, TSR_ERR_SYSTEM, "wrong %d was taken", index);
	cr_expect(strstr(victim.me.seen->sentence, wrong->says) != NULL, "wrong %d: %s", index,
		  victim.me.seen->sentence);
	cr_expect(strstr(victim.me.seen->sentence, "rank 1 on node 1 has sent rank 0 on node 0") !=
			  NULL,
		  "wrong %d: %s", index, victim.me.seen->sentence);
	cr_expect(is_untouched(&victim, 0, 0), "wrong %d", index);
	victim_end(&victim);
}

Test(net_refused, what_reaches_out_of_the_heap_ends_the_world, .timeout = 240)
{
	net_test_t test = {.size = 2, .carrier = "seed 1 delay 0"};
	net_test_begin(&test);
	for (int i = 0; i < WRONGS; i++)
		refuse_one(&test, &wrongs[i], i);
	net_test_end(&test);
}

/** Not by the carrier, which sends no such message. */
Test(net_refused, a_message_that_is_too_long_ends_the_world, .timeout = 120)
{
	enum { LONGER = TSR_NET_STAGED_BYTES + 8 };
	static const unsigned char data[LONGER];
	net_test_t test = {.size = 2, .carrier = "seed 1 delay 0"};
	for (int more = 0; more <= 8; more += 8) {
		victim_t victim;
		net_test_begin(&test);
		victim_begin(&victim, &test);
		tsr_message_t message = right(TSR_MESSAGE_PUT);
		message.number = 1;
		message.offset = 0;
		message.rows = 1;
		message.row_bytes = message.pitch_bytes = TSR_NET_STAGED_BYTES + (size_t)more;
		tsr_net_arrived(victim.me.net, &message, sizeof message, data,
				(size_t)message.row_bytes);
		cr_expect_eq(victim.me.seen->status, more ? TSR_ERR_SYSTEM : TSR_OK);
		cr_expect(!more || strstr(victim.me.seen->sentence, "is longer than any") != NULL,
			  "%s", victim.me.seen->sentence);
		cr_expect(is_untouched(&victim, 0, more ? 0 : TSR_NET_STAGED_BYTES));
		victim_end(&victim);
		net_test_end(&test);
	}
}

Test(net_refused, a_message_that_comes_twice_ends_the_world, .timeout = 120)
{
	net_test_t test = {.size = 2, .carrier = "seed 1 delay 0"};
	victim_t victim;
	net_test_begin(&test);
	victim_begin(&victim, &test);
	for (int time = 1; time <= 2; time++) {
		const tsr_message_t message = right(TSR_MESSAGE_FILL);
		deliver(&victim, &message, sizeof message, NULL, 0);
		if (time == 1)
			cr_expect_eq(victim.me.seen->status, TSR_OK);
	}
	cr_expect_eq(victim.me.seen->status, TSR_ERR_SYSTEM);
	cr_expect(strstr(victim.me.seen->sentence, "came twice") != NULL, "%s",
		  victim.me.seen->sentence);
	victim_end(&victim);
	net_test_end(&test);
}
