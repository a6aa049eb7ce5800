/*
 * A link: a TCP connection between two keepers, with what has come and is not
 * taken yet, and what is to go. Nothing here waits.
 */
#ifndef TESSERA_BOOTSTRAP_NODES_LINK_H
#define TESSERA_BOOTSTRAP_NODES_LINK_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/os/clock.h"
#include "src/bootstrap/nodes/frame.h"

typedef struct tsr_buffer {
	unsigned char *bytes;
	size_t begin, end, capacity;
} tsr_buffer_t;

/** Appends. False: the host has no memory, or it would be more than any world sends. */
bool tsr_buffer_add(tsr_buffer_t *buffer, const void *bytes, size_t size_bytes);

typedef enum tsr_link_stage {
	TSR_LINK_CLOSED = 0,
	TSR_LINK_CONNECTING, /* the end that connects */
	TSR_LINK_KNOCKED,
	TSR_LINK_GREETED,
	TSR_LINK_GUEST, /* the end that listens */
	TSR_LINK_CHALLENGED,
	TSR_LINK_JOINED /* both: the other end has proved that it is of this job */
} tsr_link_stage_t;

typedef struct tsr_link {
	tsr_link_stage_t stage;
	int fd;
	int keeper;        /* JOINED: the keeper at the other end */
	uint64_t since_ns; /* when it came into this stage */
	uint64_t my_nonce, its_nonce;
	uint64_t process; /* hub: tsr_boot_process of that keeper */
	bool heard;       /* a frame has come */
	bool goodbye_said, goodbye_heard;
	tsr_buffer_t in, out;
	tsr_stopwatch_t silence; /* since it was last heard */
	uint64_t sent_ns;        /* when something was last given to it */
} tsr_link_t;

/** Begins with a socket that does not block; takes it over. */
void tsr_link_open(tsr_link_t *link, int fd, tsr_link_stage_t stage);
void tsr_link_close(tsr_link_t *link);

/**
 * Appends what is waited for of an open link to `entries`, for poll(); returns
 * the entry. Null: it is closed, and has none, because poll() takes no more
 * entries than a process may have open files.
 */
struct pollfd *tsr_link_add_entry(const tsr_link_t *link, struct pollfd *entries, size_t *count);

typedef enum tsr_flow {
	TSR_FLOW_ON,
	TSR_FLOW_OVER, /* the other end has closed it */
	TSR_FLOW_LOST  /* errno says why; EPROTO: what came is no frame */
} tsr_flow_t;

/** Sends what is to go, as far as the kernel takes it. */
tsr_flow_t tsr_link_flush(tsr_link_t *link);

/** Receives what is there, as far as there is room. */
tsr_flow_t tsr_link_fill(tsr_link_t *link);

/** The next `size_bytes` bytes that have come, or null if fewer have. */
const void *tsr_link_take(tsr_link_t *link, size_t size_bytes);

/**
 * Takes the next frame, if all of it has come: then `*body_out` is not null,
 * and valid until the next call of tsr_link_fill. TSR_FLOW_LOST: it is not valid
 * in a world of `size` ranks.
 */
tsr_flow_t tsr_link_take_frame(tsr_link_t *link, int size, tsr_frame_t *frame_out,
			       const void **body_out);

/** False: as tsr_buffer_add. */
bool tsr_link_say(tsr_link_t *link, const tsr_frame_t *frame, const void *body);

#endif
