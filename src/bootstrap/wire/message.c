/* One packet at a time, with descriptors. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"
#include "src/bootstrap/wire/message.h"

/** Room for the control part of a message, aligned as the kernel wants it. */
typedef union room {
	struct cmsghdr header;
	unsigned char bytes[CMSG_SPACE(TSR_MESSAGE_FDS * sizeof(int))];
} room_t;

tsr_post_t tsr_message_send(int socket, const void *bytes, size_t size_bytes, const int *fds,
			    int count)
{
	room_t room = {.bytes = {0}};
	struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size_bytes};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	if (count > 0) {
		const size_t fds_bytes = (size_t)count * sizeof *fds;
		message.msg_control = room.bytes;
		message.msg_controllen = CMSG_SPACE(fds_bytes);
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(fds_bytes);
		memcpy(CMSG_DATA(header), fds, fds_bytes);
	}
	const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (sent == (ssize_t)size_bytes)
		return TSR_POST_DONE;
	if (sent >= 0)
		errno = EMSGSIZE;
	switch (errno) {
	case EAGAIN:
	case EINTR:
	case ETOOMANYREFS:
	case ENOBUFS:
	case ENOMEM:
		return TSR_POST_LATER;
	case EPIPE:
	case ECONNRESET:
		return TSR_POST_CLOSED;
	default:
		return TSR_POST_FAILED;
	}
}

tsr_post_t tsr_message_send_until(int socket, const void *bytes, size_t size_bytes, const int *fds,
				  int count, uint64_t end_ns)
{
	for (;;) {
		const tsr_post_t post = tsr_message_send(socket, bytes, size_bytes, fds, count);
		const int error = errno;
		const uint64_t now = tsr_now_ns();
		if (post != TSR_POST_LATER || now >= end_ns)
			return post;
		tsr_sleep_until(now + 1000000);
		errno = error;
	}
}

/** Takes the descriptors out of a received message. False: one of them cannot be kept. */
static bool take_fds(struct msghdr *message, int *fds_out, int *count_out)
{
	int count = 0;
	bool kept = true;
	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL;
	     header = CMSG_NXTHDR(message, header)) {
		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		const size_t bytes = header->cmsg_len - CMSG_LEN(0);
		memcpy(fds_out + count, CMSG_DATA(header), bytes);
		count += (int)(bytes / sizeof *fds_out);
	}
	for (int i = 0; i < count; i++) {
		fds_out[i] = tsr_fd_keep(fds_out[i]);
		kept = kept && fds_out[i] >= 0;
	}
	*count_out = count;
	return kept;
}

/** 0, or what is wrong with a message of `received` bytes. */
static int fault_of(const struct msghdr *message, ssize_t received, size_t wanted, bool kept,
		    int count, int capacity)
{
	if (!kept)
		return errno;
	if ((message->msg_flags & MSG_CTRUNC) != 0 && count < TSR_MESSAGE_FDS)
		return EMFILE; /* the kernel drops those that this process has no room for */
	if (received != (ssize_t)wanted || count > capacity ||
	    (message->msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
		return EMSGSIZE;
	return 0;
}

tsr_post_t tsr_message_receive(int socket, void *bytes_out, size_t size_bytes, int *fds_out,
			       int capacity, int *count_out)
{
	room_t room = {.bytes = {0}};
	struct iovec part = {.iov_base = bytes_out, .iov_len = size_bytes};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = room.bytes,
				 .msg_controllen = sizeof room.bytes};
	const ssize_t received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (received < 0 &&
	    (errno == EAGAIN || errno == EINTR || errno == ENOMEM || errno == ENOBUFS))
		return TSR_POST_LATER;
	if (received == 0 || (received < 0 && errno == ECONNRESET))
		return TSR_POST_CLOSED;
	if (received < 0)
		return TSR_POST_FAILED;
	int fds[TSR_MESSAGE_FDS], count;
	const bool kept = take_fds(&message, fds, &count);
	const int fault = fault_of(&message, received, size_bytes, kept, count, capacity);
	if (fault != 0) {
		tsr_fd_close(fds, (size_t)count);
		errno = fault;
		return TSR_POST_FAILED;
	}
	if (count > 0)
		memcpy(fds_out, fds, (size_t)count * sizeof *fds);
	*count_out = count;
	return TSR_POST_DONE;
}

const char *tsr_message_fault(int error)
{
	switch (error) {
	case EMSGSIZE:
		return "the message is not as expected: build all ranks from one version of the "
		       "library";
	case EMFILE:
		return "this process has no room for more open files: raise its limit (ulimit -n)";
	case ENFILE:
		return "this machine has no room for more open files: close some, or raise "
		       "fs.file-max";
	case ETOOMANYREFS:
		return "more descriptors of this user are under way between processes than its "
		       "limit of open files: raise it "
		       "(ulimit -n)";
	default:
		return strerror(error);
	}
}
