/* Bytes that come and go between two keepers. */
#include "src/bootstrap/nodes/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "src/base/os/descriptor.h"

/* A rank is at most two rounds ahead, in each of its meetings: more waits only for a node that
 * takes nothing. */
#define MOST_BYTES ((size_t)256 << 20)

enum { IN_BYTES = 4 * TSR_FRAME_BYTES, FIRST_BYTES = 4096 };

/** Moves what is left to the front, and makes room for `more` bytes. */
static bool make_room(tsr_buffer_t *buffer, size_t more)
{
	const size_t left = buffer->end - buffer->begin;
	if (buffer->capacity - buffer->end >= more)
		return true;
	if (left > 0)
		memmove(buffer->bytes, buffer->bytes + buffer->begin, left);
	buffer->begin = 0;
	buffer->end = left;
	size_t capacity = buffer->capacity > 0 ? buffer->capacity : FIRST_BYTES;
	while (capacity - left < more && capacity <= MOST_BYTES)
		capacity *= 2;
	if (capacity == buffer->capacity)
		return true;
	if (capacity > MOST_BYTES)
		return false;
	unsigned char *bytes = realloc(buffer->bytes, capacity);
	if (bytes == NULL)
		return false;
	buffer->bytes = bytes;
	buffer->capacity = capacity;
	return true;
}

bool tsr_buffer_add(tsr_buffer_t *buffer, const void *bytes, size_t size_bytes)
{
	if (size_bytes == 0)
		return true;
	if (!make_room(buffer, size_bytes))
		return false;
	memcpy(buffer->bytes + buffer->end, bytes, size_bytes);
	buffer->end += size_bytes;
	return true;
}

void tsr_link_open(tsr_link_t *link, int fd, tsr_link_stage_t stage)
{
	const uint64_t now = tsr_now_ns();
	*link = (tsr_link_t){.stage = stage,
			     .fd = fd,
			     .keeper = -1,
			     .since_ns = now,
			     .sent_ns = now,
			     .silence = {.seen_ns = now}};
}

struct pollfd *tsr_link_add_entry(const tsr_link_t *link, struct pollfd *entries, size_t *count)
{
	if (link->stage == TSR_LINK_CLOSED)
		return NULL;
	const bool sends = link->stage == TSR_LINK_CONNECTING || link->out.begin < link->out.end;
	struct pollfd *entry = &entries[(*count)++];
	*entry = (struct pollfd){.fd = link->fd, .events = (short)(POLLIN | (sends ? POLLOUT : 0))};
	return entry;
}

void tsr_link_close(tsr_link_t *link)
{
	const int error = errno;
	if (link->stage != TSR_LINK_CLOSED)
		tsr_fd_close(&link->fd, 1);
	free(link->in.bytes);
	free(link->out.bytes);
	*link = (tsr_link_t){.stage = TSR_LINK_CLOSED, .fd = -1};
	errno = error;
}

/** Nothing is wrong: the kernel takes, or has, nothing now. */
static bool passes(int error)
{
	return error == EAGAIN || error == EWOULDBLOCK || error == EINTR || error == ENOBUFS ||
	       error == ENOMEM;
}

tsr_flow_t tsr_link_flush(tsr_link_t *link)
{
	tsr_buffer_t *out = &link->out;
	while (out->begin < out->end) {
		const ssize_t sent = send(link->fd, out->bytes + out->begin, out->end - out->begin,
					  MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && passes(errno))
			return TSR_FLOW_ON;
		if (sent < 0)
			return errno == EPIPE || errno == ECONNRESET ? TSR_FLOW_OVER
								     : TSR_FLOW_LOST;
		out->begin += (size_t)sent;
	}
	out->begin = out->end = 0;
	return TSR_FLOW_ON;
}

tsr_flow_t tsr_link_fill(tsr_link_t *link)
{
	tsr_buffer_t *in = &link->in;
	if (in->end - in->begin >= IN_BYTES)
		return TSR_FLOW_ON; /* these first */
	if (!make_room(in, IN_BYTES - (in->end - in->begin))) {
		errno = ENOMEM;
		return TSR_FLOW_LOST;
	}
	const ssize_t got =
		recv(link->fd, in->bytes + in->end, in->capacity - in->end, MSG_DONTWAIT);
	if (got < 0 && passes(errno))
		return TSR_FLOW_ON;
	if (got == 0 || (got < 0 && errno == ECONNRESET))
		return TSR_FLOW_OVER;
	if (got < 0)
		return TSR_FLOW_LOST;
	in->end += (size_t)got;
	link->silence = (tsr_stopwatch_t){.seen_ns = tsr_now_ns()};
	return TSR_FLOW_ON;
}

const void *tsr_link_take(tsr_link_t *link, size_t size_bytes)
{
	tsr_buffer_t *in = &link->in;
	if (in->end - in->begin < size_bytes)
		return NULL;
	const void *taken = in->bytes + in->begin;
	in->begin += size_bytes;
	return taken;
}

tsr_flow_t tsr_link_take_frame(tsr_link_t *link, int size, tsr_frame_t *frame_out,
			       const void **body_out)
{
	const tsr_buffer_t *in = &link->in;
	*body_out = NULL;
	if (in->end - in->begin < sizeof *frame_out)
		return TSR_FLOW_ON;
	memcpy(frame_out, in->bytes + in->begin, sizeof *frame_out);
	if (!tsr_frame_is_valid(frame_out, size)) {
		errno = EPROTO;
		return TSR_FLOW_LOST;
	}
	if (in->end - in->begin < sizeof *frame_out + frame_out->bytes)
		return TSR_FLOW_ON;
	const unsigned char *all = tsr_link_take(link, sizeof *frame_out + frame_out->bytes);
	*body_out = all + sizeof *frame_out;
	return TSR_FLOW_ON;
}

bool tsr_link_say(tsr_link_t *link, const tsr_frame_t *frame, const void *body)
{
	link->sent_ns = tsr_now_ns();
	return tsr_buffer_add(&link->out, frame, sizeof *frame) &&
	       tsr_buffer_add(&link->out, body, frame->bytes);
}
