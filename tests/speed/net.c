/*
 * Not a test: how fast the data plane is between two processes of this machine.
 * Prints one line a measurement, to be compared with what ucx_perftest prints
 * in the same minute.
 */
#include <stdio.h>

#include "tests/unit/net/net_test.h"

enum { ROUNDS = 3000, PUTS = 1500, BYTES = 1 << 20 };

static double us(uint64_t begin_ns, int count)
{
	return (double)(tsr_now_ns() - begin_ns) / 1e3 / count;
}

static int measure(net_rank_t *me)
{
	const int peer = 1 - me->rank;
	unsigned char *data = calloc(1, BYTES);
	uint64_t begin = tsr_now_ns();
	for (int i = 0; me->rank == 0 && i < ROUNDS; i++)
		(void)tsr_net_fetch(me->net, peer, net_word(0, NET_ADD, 1), true);
	if (me->rank == 0)
		printf("fetch: %.2f us\n", us(begin, ROUNDS));
	net_meet(me);
	begin = tsr_now_ns();
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		if (me->rank == 1)
			NEED(net_await(me, 64, i) == 0);
		tsr_net_update(me->net, peer, net_word(64, NET_ADD, 1), true);
		if (me->rank == 0)
			NEED(net_await(me, 64, i) == 0);
	}
	if (me->rank == 0)
		printf("releasing update, one way: %.2f us\n", us(begin, 2 * ROUNDS));
	net_meet(me);
	begin = tsr_now_ns();
	for (int i = 0; me->rank == 0 && i < 10 * ROUNDS; i++)
		tsr_net_update(me->net, peer, net_word(128, NET_ADD, 1), true);
	tsr_net_flush(me->net);
	if (me->rank == 0)
		printf("releasing updates, many: %.2f us each\n", us(begin, 10 * ROUNDS));
	net_meet(me);
	begin = tsr_now_ns();
	for (int i = 0; me->rank == 0 && i < PUTS; i++)
		tsr_net_put(me->net, peer, net_bytes(4096, BYTES), data, BYTES);
	tsr_net_flush(me->net);
	if (me->rank == 0)
		printf("put of 1 MiB: %.2f us, %.1f MB/s\n", us(begin, PUTS),
		       BYTES / us(begin, PUTS));
	net_meet(me);
	begin = tsr_now_ns();
	for (int i = 0; me->rank == 0 && i < PUTS / 2; i++)
		tsr_net_get(me->net, peer, net_bytes(4096, BYTES), data, BYTES);
	if (me->rank == 0)
		printf("get of 1 MiB: %.2f us, %.1f MB/s\n", us(begin, PUTS / 2),
		       BYTES / us(begin, PUTS / 2));
	free(data);
	return 0;
}

int main(void)
{
	net_test_t test = {.size = 2};
	net_test_begin(&test);
	const int failed = net_run(&test, measure);
	net_test_end(&test);
	return failed;
}
