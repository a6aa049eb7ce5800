/*
 * Who serves the queue: the proxy thread, or a thread that waits in a call. The
 * proxy thread sleeps while there is nothing to do, and while others serve.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"
#include "src/net/state.h"

enum {
	SPIN_NS = 20000,    /* the proxy thread looks for work so long before it sleeps */
	NAP_NS = 50000,     /* and so long between looks while another thread serves */
	HEARTBEAT_MS = 250, /* it looks whether the world has ended */
	MOST_TURNS = 64,    /* commands that are served before messages are moved again */
	MOST_ARMINGS = 8    /* a call that ends serves so often until the carrier is quiet */
};

/* ------------------------------------------------------------------ one round */

unsigned tsr_net_drain(tsr_net_t *net)
{
	unsigned turns = 0;
	tsr_net_command_t *command;
	if (tsr_net_is_over(net))
		return 0;
	net->stalled = false;
	while (turns < MOST_TURNS && (command = tsr_net_queue_next(net)) != NULL) {
		const uint64_t row = net->row, column = net->column;
		if (!tsr_net_issue(net, command)) {
			net->stalled = true;
			return turns + (row != net->row || column != net->column);
		}
		tsr_net_queue_pop(net);
		turns++;
	}
	return turns;
}

unsigned tsr_net_serve(tsr_net_t *net)
{
	if (tsr_net_is_over(net)) {
		/* relaxed: under the lock; the others read it to end sooner */
		atomic_store_explicit(&net->ended, 1, memory_order_relaxed);
		return 0;
	}
	if (net->lost_since_ns != 0)
		tsr_net_mourn(net);
	unsigned done = tsr_net_drain(net);
	done += net->carrier->progress(net->link);
	done += tsr_net_settle(net);
	done += tsr_net_answer(net);
	return done + tsr_net_acknowledge(net, done == 0);
}

/* ------------------------------------------------------------------ the lock */

bool tsr_net_try(tsr_net_t *net)
{
	/* acquire: partner is the release in tsr_net_leave; what the lock protects is seen.
	 * seq_cst: a failed try is before the holder's last look at the queue, see below */
	return atomic_load_explicit(&net->busy, memory_order_seq_cst) == 0 &&
	       atomic_exchange_explicit(&net->busy, 1, memory_order_seq_cst) == 0;
}

bool tsr_net_claim(tsr_net_t *net)
{
	if (tsr_net_try(net))
		return true;
	/* relaxed: a hint */
	atomic_store_explicit(&net->wanted, 1, memory_order_relaxed);
	return false;
}

/** What the proxy thread waits for: only the bell, or the carrier's descriptor too, once. */
static void listen_to_carrier(tsr_net_t *net, bool listen)
{
	struct epoll_event event = {.events = listen ? EPOLLIN | EPOLLONESHOT : 0,
				    .data.fd = net->carrier->descriptor(net->link)};
	(void)epoll_ctl(net->epoll, EPOLL_CTL_MOD, event.data.fd, &event);
	net->muted = !listen;
}

static void ring(tsr_net_t *net)
{
	const uint64_t one = 1;
	(void)tsr_fd_write(net->bell, &one, sizeof one);
}

void tsr_net_drive(tsr_net_t *net)
{
	if (net->asleep && !net->muted)
		listen_to_carrier(net, false);
}

/** Lets the sleeping proxy thread see what comes from now on. */
static void hand_over(tsr_net_t *net)
{
	if (!net->asleep || !net->muted)
		return;
	bool armed = tsr_net_is_over(net);
	for (int i = 0; !armed && i < MOST_ARMINGS; i++) {
		armed = net->carrier->arm(net->link);
		if (!armed)
			(void)tsr_net_serve(net);
	}
	if (armed)
		listen_to_carrier(net, true);
	else
		ring(net); /* the caller has its own work to do */
}

/*
 * A producer stores a stamp and then tries the lock; the holder stores 0 to the
 * lock and then loads the stamp. All four are seq_cst, so one sees the other
 * (litmus SB): no command is left behind.
 */
void tsr_net_leave(tsr_net_t *net)
{
	for (;;) {
		hand_over(net);
		const bool stalled = net->stalled;
		/* release: partner is the acquire in tsr_net_try */
		atomic_store_explicit(&net->busy, 0, memory_order_seq_cst);
		/* seq_cst: as above; partner is the store in sleep_until_needed */
		if (atomic_load_explicit(&net->missed, memory_order_seq_cst) &&
		    atomic_exchange_explicit(&net->missed, 0, memory_order_seq_cst))
			ring(net);
		if (stalled || tsr_net_is_over(net) || !tsr_net_queue_next(net) ||
		    !tsr_net_try(net))
			return;
		(void)tsr_net_drain(net);
	}
}

/* ------------------------------------------------------------------ the proxy thread */

/**
 * Sleeps, and returns with the lock. The caller has set `asleep`. Returns
 * whether something woke it before the heartbeat.
 */
static bool sleep_until_needed(tsr_net_t *net)
{
	struct epoll_event events[2];
	uint64_t rung;
	int woken;
	for (;;) {
		woken = epoll_wait(net->epoll, events, 2, HEARTBEAT_MS);
		if (tsr_net_try(net))
			break;
		/* seq_cst: either the holder sees this as it leaves, and rings, or it has left */
		atomic_store_explicit(&net->missed, 1, memory_order_seq_cst);
		if (tsr_net_try(net))
			break;
	}
	net->asleep = false;
	net->muted = true;
	(void)tsr_fd_read(net->bell, &rung, sizeof rung);
	return woken > 0;
}

/** Sleeps if there is nothing to do; has the lock before and after. */
static void rest(tsr_net_t *net)
{
	if (!tsr_net_is_over(net) && !net->carrier->arm(net->link))
		return;
	net->asleep = true;
	listen_to_carrier(net, !tsr_net_is_over(net));
	tsr_net_leave(net);
	if (sleep_until_needed(net))
		return;
	/* a call has left these, and nobody has asked */
	(void)tsr_net_acknowledge(net, true);
	if (tsr_net_serve(net) > 0)
		net->overslept++;
}

/** Whether a call has found the proxy thread serving, since it was asked last. */
static bool is_wanted(tsr_net_t *net)
{
	/* relaxed: a hint */
	if (atomic_load_explicit(&net->wanted, memory_order_relaxed) == 0)
		return false;
	atomic_store_explicit(&net->wanted, 0, memory_order_relaxed);
	return true;
}

static void *proxy_main(void *data)
{
	tsr_net_t *net = data;
	uint64_t idle_since_ns = 0;
	/* relaxed: a flag; the bell brings the thread here */
	while (!atomic_load_explicit(&net->stop, memory_order_relaxed)) {
		if (!tsr_net_try(net)) {
			tsr_sleep_until(tsr_now_ns() + NAP_NS);
			continue;
		}
		if (tsr_net_serve(net) > 0) {
			idle_since_ns = 0;
		} else if (idle_since_ns == 0) {
			idle_since_ns = tsr_now_ns();
		} else if (tsr_now_ns() - idle_since_ns > SPIN_NS || is_wanted(net)) {
			rest(net);
			idle_since_ns = 0;
		}
		tsr_net_leave(net);
		if (idle_since_ns != 0)
			sched_yield();
	}
	return NULL;
}

bool tsr_net_thread_start(tsr_net_t *net)
{
	sigset_t all, before;
	struct epoll_event bell = {.events = EPOLLIN, .data.fd = net->bell},
			   carrier = {.data.fd = net->carrier->descriptor(net->link)};
	if (epoll_ctl(net->epoll, EPOLL_CTL_ADD, bell.data.fd, &bell) != 0 ||
	    epoll_ctl(net->epoll, EPOLL_CTL_ADD, carrier.data.fd, &carrier) != 0)
		return false;
	/* the program's handlers run on the program's threads */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	net->has_thread = pthread_create(&net->thread, NULL, proxy_main, net) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return net->has_thread;
}

void tsr_net_thread_stop(tsr_net_t *net)
{
	if (!net->has_thread)
		return;
	/* relaxed: the bell's system call and the join order all else */
	atomic_store_explicit(&net->stop, 1, memory_order_relaxed);
	ring(net);
	pthread_join(net->thread, NULL);
	net->has_thread = false;
}
