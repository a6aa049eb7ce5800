/* Interfaces of the network, made by requests to the kernel (rtnetlink and ioctl). */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"
#include "src/bootstrap/spaces/spaces.h"

#define BRIDGE "tsr-bridge"
#define AWAIT_NS 2000000000u
#define LOOK_NS 2000000u

enum { REQUEST_BYTES = 512 };

/** A socket for ioctls, in the calling thread's namespace. */
static int open_control(void)
{
	return tsr_fd_keep(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

static bool do_control(unsigned long request, void *argument)
{
	const int fd = open_control();
	const bool done = fd >= 0 && ioctl(fd, request, argument) == 0;
	tsr_fd_close(&fd, 1);
	return done;
}

static struct ifreq about(const char *interface)
{
	struct ifreq request;
	memset(&request, 0, sizeof request);
	snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
	return request;
}

static bool bring_up(const char *interface)
{
	struct ifreq request = about(interface);
	if (!do_control(SIOCGIFFLAGS, &request))
		return false;
	request.ifr_flags |= IFF_UP;
	return do_control(SIOCSIFFLAGS, &request);
}

bool tsr_cable_make_bridge(void)
{
	char name[IFNAMSIZ] = BRIDGE;
	return do_control(SIOCBRADDBR, name) && bring_up(BRIDGE);
}

/* ------------------------------------------------------------------ the cable */

/** A request to the kernel: a message with attributes, some of which hold others. */
typedef struct request {
	union {
		struct nlmsghdr head;
		unsigned char bytes[REQUEST_BYTES];
	};
} request_t;

static void *add(request_t *request, const void *bytes, size_t size_bytes)
{
	void *place = request->bytes + NLMSG_ALIGN(request->head.nlmsg_len);
	memcpy(place, bytes, size_bytes);
	request->head.nlmsg_len =
		(uint32_t)(NLMSG_ALIGN(request->head.nlmsg_len) + NLMSG_ALIGN(size_bytes));
	return place;
}

static struct rtattr *begin(request_t *request, unsigned short type)
{
	const struct rtattr attribute = {.rta_type = type, .rta_len = sizeof attribute};
	return add(request, &attribute, sizeof attribute);
}

static void end(const request_t *request, struct rtattr *attribute)
{
	attribute->rta_len = (unsigned short)(request->bytes + request->head.nlmsg_len -
					      (unsigned char *)attribute);
}

static void add_attribute(request_t *request, unsigned short type, const void *bytes, size_t size)
{
	struct rtattr *attribute = begin(request, type);
	add(request, bytes, size);
	attribute->rta_len = (unsigned short)(sizeof *attribute + size);
}

static bool is_passing(int error, uint64_t end_ns)
{
	return (error == EINTR || error == EAGAIN) && tsr_now_ns() < end_ns;
}

/** The kernel's answer, which is there when the request has been sent. */
static bool hear(int fd, uint64_t end_ns)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
	} answer;
	ssize_t heard;
	do
		heard = recv(fd, &answer, sizeof answer, MSG_DONTWAIT);
	while (heard < 0 && is_passing(errno, end_ns));
	if (heard < 0)
		return false;
	if (heard < (ssize_t)sizeof answer || answer.head.nlmsg_type != NLMSG_ERROR)
		errno = EPROTO;
	else
		errno = -answer.error.error;
	return errno == 0;
}

static bool ask(request_t *request)
{
	const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	const uint64_t end_ns = tsr_now_ns() + AWAIT_NS;
	const int fd = tsr_fd_keep(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
	ssize_t sent;
	if (fd < 0)
		return false;
	do
		sent = sendto(fd, request->bytes, request->head.nlmsg_len, 0,
			      (const struct sockaddr *)&kernel, sizeof kernel);
	while (sent < 0 && is_passing(errno, end_ns));
	const bool done = sent >= 0 && hear(fd, end_ns);
	tsr_fd_close(&fd, 1);
	return done;
}

/** The end at the bridge is called "tsr-3", and the other one, in `node_fd`, "tsr0". */
static void describe(request_t *request, const char *name, int node_fd)
{
	const struct ifinfomsg any = {.ifi_family = AF_UNSPEC};
	*request = (request_t){
		.head = {.nlmsg_len = sizeof request->head,
			 .nlmsg_type = RTM_NEWLINK,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK}};
	add(request, &any, sizeof any);
	add_attribute(request, IFLA_IFNAME, name, strlen(name) + 1);
	struct rtattr *info = begin(request, IFLA_LINKINFO);
	add_attribute(request, IFLA_INFO_KIND, "veth", sizeof "veth");
	struct rtattr *data = begin(request, IFLA_INFO_DATA),
		      *peer = begin(request, VETH_INFO_PEER);
	add(request, &any, sizeof any);
	add_attribute(request, IFLA_IFNAME, TSR_SPACE_INTERFACE, sizeof TSR_SPACE_INTERFACE);
	add_attribute(request, IFLA_NET_NS_FD, &node_fd, sizeof node_fd);
	end(request, peer);
	end(request, data);
	end(request, info);
}

bool tsr_cable_lay(int node, int node_fd)
{
	request_t request;
	char name[IFNAMSIZ];
	struct ifreq port = about(BRIDGE);
	snprintf(name, sizeof name, "tsr-%d", node);
	describe(&request, name, node_fd);
	if (!ask(&request))
		return false;
	port.ifr_ifindex = (int)if_nametoindex(name);
	return do_control(SIOCBRADDIF, &port) && bring_up(name);
}

/* ------------------------------------------------------------------ the node's end */

static bool set_address(unsigned long request, uint32_t address)
{
	struct ifreq ifreq = about(TSR_SPACE_INTERFACE);
	const struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
	memcpy(&ifreq.ifr_addr, &four, sizeof four);
	return do_control(request, &ifreq);
}

bool tsr_cable_connect(int node)
{
	const uint32_t first = ntohl(inet_addr(TSR_SPACE_FIRST));
	return set_address(SIOCSIFADDR, first + (uint32_t)node) &&
	       set_address(SIOCSIFNETMASK, 0xffff0000) && bring_up("lo") &&
	       bring_up(TSR_SPACE_INTERFACE);
}

bool tsr_cable_await(void)
{
	const uint64_t end_ns = tsr_now_ns() + AWAIT_NS;
	struct ifreq request = about(TSR_SPACE_INTERFACE);
	for (;;) {
		if (!do_control(SIOCGIFFLAGS, &request))
			return false;
		if ((request.ifr_flags & IFF_RUNNING) != 0)
			return true;
		if (tsr_now_ns() >= end_ns)
			break;
		tsr_sleep_until(tsr_now_ns() + LOOK_NS);
	}
	errno = ENETDOWN;
	return false;
}
