/*
 * File descriptors of the library. They are never 0, 1 or 2, and a signal
 * handler of the program does not interrupt a wait for one.
 */
#ifndef TESSERA_BASE_DESCRIPTOR_H
#define TESSERA_BASE_DESCRIPTOR_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * Takes over a descriptor that the kernel has just made: moves it above 2 if it
 * is below 3, and sets close-on-exec. A program may run with its standard
 * input, output or error closed. The kernel hands out the lowest free number,
 * so the program's output would otherwise go into a file of the library.
 * Returns the descriptor to use; -1 (with errno) if `fd` is -1 or cannot be
 * moved. Every descriptor of the library and its backends passes through here.
 */
int tsr_fd_keep(int fd);

/**
 * Copies `fd` to a descriptor above 2 that closes on exec. Returns it, or -1.
 */
int tsr_fd_copy(int fd);

/**
 * Makes a pipe of such descriptors; `flags` are those of pipe2. Returns 0, or
 * -1 with errno.
 */
int tsr_fd_pipe(int fds_out[2], int flags);

/** Closes `count` descriptors; skips those that are -1. Keeps errno. */
void tsr_fd_close(const int *fds, size_t count);

/**
 * poll() with a deadline on the monotonic clock (tsr_now_ns). Signals and a
 * kernel that is short of memory do not end it. Returns the number of ready
 * entries, or 0 at the deadline. If `end_ns` has passed already, it looks once.
 */
int tsr_fd_poll(struct pollfd *entries, size_t count, uint64_t end_ns);

/** read() and write() that signals do not interrupt. They may move less than all. */
ssize_t tsr_fd_read(int fd, void *bytes_out, size_t size_bytes);
ssize_t tsr_fd_write(int fd, const void *bytes, size_t size_bytes);

/**
 * ftruncate() that signals do not interrupt. Returns 0, or -1 with errno: EFBIG
 * where the file would be larger than tsr_fd_size_limit(), for which the kernel
 * would end the process by SIGXFSZ. Files in memory count too.
 */
int tsr_fd_resize(int fd, size_t size_bytes);

/** The most bytes that a file of this process may have (ulimit -f). */
size_t tsr_fd_size_limit(void);

/** Sleeps until `end_ns` on the monotonic clock, whatever signals arrive. */
void tsr_sleep_until(uint64_t end_ns);

#endif
