/*
 * Descriptors of the library: none is 0, 1 or 2, and no signal handler of the
 * program ends a wait for one.
 */
#ifndef TESSERA_BASE_DESCRIPTOR_H
#define TESSERA_BASE_DESCRIPTOR_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * Takes over a descriptor that the kernel has just made. A program may run with
 * its standard input, output or error closed, and the kernel hands out the
 * lowest free number: what the program prints would then go into a file of the
 * library. So a descriptor below 3 is moved above 2; it closes on exec. Returns
 * the descriptor to use; -1 (errno says why) where `fd` is -1 or cannot be
 * moved. Every descriptor of the library and its backends goes through here.
 */
int tsr_fd_keep(int fd);

/** A copy of `fd` that is above 2 and closes on exec, or -1. */
int tsr_fd_copy(int fd);

/** Makes a pipe of such descriptors; `flags` as pipe2 takes them. 0, or -1 with errno. */
int tsr_fd_pipe(int fds_out[2], int flags);

/** Closes `count` descriptors, holes (-1) left out. errno is as before. */
void tsr_fd_close(const int *fds, size_t count);

/**
 * poll() with a deadline on the monotonic clock (tsr_now_ns). Neither a signal
 * nor a kernel that is short of memory ends it: it returns how many entries are
 * ready, or 0 at the deadline. An `end_ns` that has passed looks once.
 */
int tsr_fd_poll(struct pollfd *entries, size_t count, uint64_t end_ns);

/** read() that signals do not end. */
ssize_t tsr_fd_read(int fd, void *bytes_out, size_t size_bytes);

/** ftruncate() that signals do not end. 0, or -1 with errno. */
int tsr_fd_resize(int fd, size_t size_bytes);

/** Sleeps until `end_ns` on the monotonic clock, whatever signals come. */
void tsr_sleep_until(uint64_t end_ns);

#endif
