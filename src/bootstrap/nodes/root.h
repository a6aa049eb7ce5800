/* The address of rank 0's keeper: where the keepers of the other nodes come. */
#ifndef TESSERA_BOOTSTRAP_NODES_ROOT_H
#define TESSERA_BOOTSTRAP_NODES_ROOT_H

#include <stddef.h>
#include <sys/socket.h>

#include "src/bootstrap/bootstrap.h"

enum { TSR_ROOT_ADDRESSES = 8, TSR_ROOT_TEXT = 96 };

typedef struct tsr_root {
	int count;
	struct sockaddr_storage address[TSR_ROOT_ADDRESSES];
	socklen_t length[TSR_ROOT_ADDRESSES];
} tsr_root_t;

/**
 * Finds the addresses of `roots`: HOST:PORT or [IPv6]:PORT, or several with
 * commas in between, which are all of one socket. Numbers are found at once; a
 * name takes as long as the system's resolver does. Errors: TSR_ERR_CONFIG.
 */
tsr_status_t tsr_root_find(const char *roots, tsr_root_t *root_out);

/** Writes an address as HOST:PORT; returns `text`. */
const char *tsr_root_text(const struct sockaddr *address, socklen_t length,
			  char text[TSR_ROOT_TEXT]);

/**
 * Rank 0's keeper: a socket that listens for the others and does not block. It
 * is the launcher's, if that made one (job->root_fd); else at the address of
 * the job's interface, or of job->root, or, if that address is not of this
 * machine, at all addresses. Errors: TSR_ERR_CONFIG (the port is taken, or
 * there is no such interface), TSR_ERR_SYSTEM.
 */
tsr_status_t tsr_root_listen(const tsr_job_t *job, int *fd_out);

/**
 * Rank 0, where others hear of its address later: a socket that listens at a
 * free port, at the interface or address, or ("") at all addresses of this
 * machine. Writes those at which other machines may reach it, as tsr_root_find
 * reads them. Errors: TSR_ERR_CONFIG (there is no such interface),
 * TSR_ERR_SYSTEM.
 */
tsr_status_t tsr_root_open(const char *interface, char *roots_out, size_t size, int *fd_out);

/** Writes where a socket listens. */
void tsr_root_describe(int fd, char text[TSR_ROOT_TEXT]);

/** A socket that is about to be connected, or -1 with errno. */
int tsr_root_connect(const tsr_root_t *root, int index);

/**
 * The launcher: listens at a free port of 127.0.0.1. Returns the socket, which
 * programs inherit, and its port; or -1 with errno.
 */
int tsr_root_reserve(int *port_out);

#endif
