/* Messages with descriptors over the sockets between rank 0 and the others. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/error.h"
#include "src/bootstrap/control.h"

/** Room for the control part of a message, aligned as the kernel wants it. */
typedef union room {
	struct cmsghdr header;
	unsigned char bytes[CMSG_SPACE(TSR_MAX_RANKS * sizeof(int))];
} room_t;

tsr_status_t tsr_message_send(int socket, const void *bytes, size_t size_bytes, const int *fds, int count)
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
	if (sendmsg(socket, &message, MSG_NOSIGNAL) != (ssize_t)size_bytes)
		return tsr_error(TSR_ERR_SYSTEM, "cannot send to a rank of this world: %s", strerror(errno));
	return TSR_OK;
}

/** Takes the descriptors out of a received message. */
static int take_fds(struct msghdr *message, int *fds_out)
{
	int count = 0;
	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL; header = CMSG_NXTHDR(message, header)) {
		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		const size_t bytes = header->cmsg_len - CMSG_LEN(0);
		memcpy(fds_out + count, CMSG_DATA(header), bytes);
		count += (int)(bytes / sizeof *fds_out);
	}
	return count;
}

tsr_status_t tsr_message_receive(int socket, void *bytes_out, size_t size_bytes, int *fds_out, int capacity, int *count_out)
{
	room_t room = {.bytes = {0}};
	struct iovec part = {.iov_base = bytes_out, .iov_len = size_bytes};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room.bytes, .msg_controllen = sizeof room.bytes};
	const ssize_t received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	int fds[TSR_MAX_RANKS];
	const int count = received > 0 ? take_fds(&message, fds) : 0;
	if (received != (ssize_t)size_bytes || count > capacity || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
		const char *reason = received < 0    ? strerror(errno)
				     : received == 0 ? "it has closed the connection"
						     : "the message is not as expected";
		for (int i = 0; i < count; i++)
			close(fds[i]);
		return tsr_error(TSR_ERR_SYSTEM, "cannot receive from a rank of this world: %s", reason);
	}
	for (int i = 0; i < count; i++)
		fds_out[i] = fds[i];
	*count_out = count;
	return TSR_OK;
}

tsr_status_t tsr_boot_await_fd(tsr_boot_t *boot, int fd, const char *call, uint64_t begin_ns)
{
	struct pollfd entry = {.fd = fd, .events = POLLIN};
	for (;;) {
		if (poll(&entry, 1, 20) > 0)
			return TSR_OK;
		tsr_status_t status = tsr_boot_ended(boot);
		if (status == TSR_OK)
			status = tsr_boot_check_ranks(boot, call);
		if (status == TSR_OK && tsr_now_ns() - begin_ns > boot->deadline_ns)
			status = tsr_boot_end(boot, TSR_ERR_TIMEOUT, "rank %d waited past the deadline for a message in %s",
					      boot->rank, call);
		if (status != TSR_OK)
			return status;
	}
}
