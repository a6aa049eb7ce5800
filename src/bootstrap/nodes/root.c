/* Finding, listening at and connecting to the address of rank 0's keeper. */
#include "src/bootstrap/nodes/root.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/error.h"
#include "src/base/os/descriptor.h"
#include "src/bootstrap/wire/message.h"

enum { BACKLOG = 1024, STREAM = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK };

/** Splits HOST:PORT, with brackets around an address that has colons itself. */
static bool split(const char *root, char *host, size_t host_size, char *port, size_t port_size)
{
	const char *colon = strrchr(root, ':');
	if (colon == NULL || colon == root || colon[1] == '\0')
		return false;
	const bool brackets = root[0] == '[';
	const char *begin = root + brackets, *end = colon - brackets;
	if (end <= begin || (brackets && *end != ']'))
		return false;
	snprintf(host, host_size, "%.*s", (int)(end - begin), begin);
	snprintf(port, port_size, "%s", colon + 1);
	char *rest;
	const unsigned long number = strtoul(port, &rest, 10);
	return *rest == '\0' && port[0] >= '0' && port[0] <= '9' && number > 0 && number < 65536;
}

/** Appends the addresses of one HOST:PORT. */
static tsr_status_t find_one(const char *root, tsr_root_t *root_out)
{
	char host[256], port[16];
	if (!split(root, host, sizeof host, port, sizeof port))
		return tsr_error(TSR_ERR_CONFIG,
				 "the address of rank 0's node is '%s'; it must be HOST:PORT, such "
				 "as node1:29600 (TESSERA_ROOT)",
				 root);
	struct addrinfo hints = {.ai_family = AF_UNSPEC,
				 .ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	struct addrinfo *found = NULL;
	int fault = getaddrinfo(host, port, &hints, &found);
	if (fault == EAI_NONAME) {
		hints.ai_flags = AI_NUMERICSERV;
		fault = getaddrinfo(host, port, &hints, &found);
	}
	if (fault != 0)
		return tsr_error(TSR_ERR_CONFIG,
				 "the host '%s' of rank 0's node is not known here: %s; give "
				 "TESSERA_ROOT a name or number that all nodes know",
				 host, gai_strerror(fault));
	for (const struct addrinfo *at = found; at != NULL; at = at->ai_next) {
		if (root_out->count == TSR_ROOT_ADDRESSES)
			break;
		memcpy(&root_out->address[root_out->count], at->ai_addr, at->ai_addrlen);
		root_out->length[root_out->count++] = at->ai_addrlen;
	}
	freeaddrinfo(found);
	return TSR_OK;
}

tsr_status_t tsr_root_find(const char *roots, tsr_root_t *root_out)
{
	char copy[sizeof((tsr_job_t *)NULL)->root], *rest = copy;
	tsr_root_t root = {.count = 0};
	tsr_status_t status = TSR_OK;
	snprintf(copy, sizeof copy, "%s", roots);
	if (strchr(copy, ',') == NULL)
		status = find_one(copy, &root);
	else
		for (char *one; status == TSR_OK && (one = strsep(&rest, ",")) != NULL;)
			status = find_one(one, &root);
	if (status == TSR_OK)
		*root_out = root;
	return status;
}

const char *tsr_root_text(const struct sockaddr *address, socklen_t length,
			  char text[TSR_ROOT_TEXT])
{
	char host[64], port[16];
	const bool six = address->sa_family == AF_INET6;
	if (getnameinfo(address, length, host, sizeof host, port, sizeof port,
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		snprintf(text, TSR_ROOT_TEXT, "an unknown address");
	else
		snprintf(text, TSR_ROOT_TEXT, "%s%s%s:%s", six ? "[" : "", host, six ? "]" : "",
			 port);
	return text;
}

/* ------------------------------------------------------------------ listening */

static in_port_t *port_of(struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 ? &((struct sockaddr_in6 *)(void *)address)->sin6_port
					      : &((struct sockaddr_in *)(void *)address)->sin_port;
}

/** Puts an address that `name` is, with `port`, in the root's place. False: it is none. */
static bool use_number(const char *name, in_port_t port, tsr_root_t *root)
{
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = port};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = port};
	const bool is_four = inet_pton(AF_INET, name, &four.sin_addr) == 1;
	if (!is_four && inet_pton(AF_INET6, name, &six.sin6_addr) != 1)
		return false;
	root->count = 1;
	root->length[0] = is_four ? sizeof four : sizeof six;
	memcpy(&root->address[0], is_four ? (void *)&four : (void *)&six, root->length[0]);
	return true;
}

static socklen_t length_of(int family)
{
	return family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

static tsr_status_t list_interfaces(struct ifaddrs **all_out)
{
	if (getifaddrs(all_out) == 0)
		return TSR_OK;
	return tsr_error(TSR_ERR_SYSTEM, "cannot list the network's interfaces: %s",
			 tsr_message_fault(errno));
}

/**
 * Puts the address of the interface, with the root's port, in place of the
 * root's address.
 */
static tsr_status_t use_interface(const char *name, tsr_root_t *root)
{
	const in_port_t port = *port_of(&root->address[0]);
	const int family = root->address[0].ss_family;
	if (use_number(name, port, root))
		return TSR_OK;
	struct ifaddrs *all = NULL;
	const tsr_status_t status = list_interfaces(&all);
	if (status != TSR_OK)
		return status;
	bool found = false;
	for (const struct ifaddrs *at = all; at != NULL && !found; at = at->ifa_next) {
		if (strcmp(at->ifa_name, name) != 0 || at->ifa_addr == NULL ||
		    at->ifa_addr->sa_family != family)
			continue;
		root->count = 1;
		root->length[0] = length_of(family);
		memcpy(&root->address[0], at->ifa_addr, root->length[0]);
		*port_of(&root->address[0]) = port;
		found = true;
	}
	freeifaddrs(all);
	if (!found)
		return tsr_error(TSR_ERR_CONFIG,
				 "TESSERA_NET_INTERFACE is '%s', but no interface of that name has "
				 "an IPv%d address here ('ip address' lists them)",
				 name, family == AF_INET6 ? 6 : 4);
	return TSR_OK;
}

static int listen_at(const struct sockaddr_storage *address, socklen_t length)
{
	const int yes = 1, no = 0;
	const int fd = tsr_fd_keep(socket(address->ss_family, STREAM, 0));
	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (address->ss_family == AF_INET6) /* all addresses are those of IPv4 too */
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
	if (bind(fd, (const struct sockaddr *)address, length) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	tsr_fd_close(&fd, 1);
	return -1;
}

/** All addresses of this machine, at the same port: the host's name may be that of a gateway. */
static int listen_everywhere(const struct sockaddr_storage *address, socklen_t length)
{
	struct sockaddr_storage any = *address;
	if (any.ss_family == AF_INET6)
		((struct sockaddr_in6 *)(void *)&any)->sin6_addr = in6addr_any;
	else
		((struct sockaddr_in *)(void *)&any)->sin_addr.s_addr = htonl(INADDR_ANY);
	return listen_at(&any, length);
}

/** A copy of the launcher's socket, if it is one: a second world of this process needs it too. */
static int copy_reserved(int fd)
{
	int listens = 0;
	socklen_t length = sizeof listens;
	if (fd <= STDERR_FILENO ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || !listens)
		return -1;
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	return tsr_fd_copy(fd);
}

tsr_status_t tsr_root_listen(const tsr_job_t *job, int *fd_out)
{
	tsr_root_t root;
	char text[TSR_ROOT_TEXT];
	*fd_out = copy_reserved(job->root_fd);
	if (*fd_out >= 0)
		return TSR_OK;
	tsr_status_t status = tsr_root_find(job->root, &root);
	if (status == TSR_OK && job->interface[0] != '\0')
		status = use_interface(job->interface, &root);
	if (status != TSR_OK)
		return status;
	*fd_out = listen_at(&root.address[0], root.length[0]);
	if (*fd_out < 0 && errno == EADDRNOTAVAIL && job->interface[0] == '\0')
		*fd_out = listen_everywhere(&root.address[0], root.length[0]);
	if (*fd_out >= 0)
		return TSR_OK;
	const int error = errno;
	tsr_root_text((const struct sockaddr *)&root.address[0], root.length[0], text);
	if (error == EADDRINUSE)
		return tsr_error(TSR_ERR_CONFIG,
				 "rank 0 cannot listen at %s for the other nodes, because another "
				 "process has this port: give all ranks a TESSERA_ROOT with "
				 "another one",
				 text);
	return tsr_error(TSR_ERR_SYSTEM, "rank 0 cannot listen at %s for the other nodes: %s", text,
			 tsr_message_fault(error));
}

/* ------------------------------------------------------------------ at a free port */

/** Appends ADDRESS:PORT, if there is room. */
static void append(const struct sockaddr *address, in_port_t port, char *roots, size_t size)
{
	struct sockaddr_storage with_port;
	char text[TSR_ROOT_TEXT];
	const socklen_t length = length_of(address->sa_family);
	const size_t used = strlen(roots);
	memcpy(&with_port, address, length);
	*port_of(&with_port) = port;
	tsr_root_text((struct sockaddr *)&with_port, length, text);
	if (used + 1 + strlen(text) < size)
		snprintf(roots + used, size - used, "%s%s", used > 0 ? "," : "", text);
}

/** Whether another machine may reach this one at the address: of a family, not the loopback's. */
static bool leads_here(const struct ifaddrs *at, int family)
{
	if (at->ifa_addr == NULL || at->ifa_addr->sa_family != family ||
	    (at->ifa_flags & IFF_UP) == 0 || (at->ifa_flags & IFF_LOOPBACK) != 0)
		return false;
	return family == AF_INET ||
	       !IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)(void *)at->ifa_addr)->sin6_addr);
}

/** All addresses of this machine, IPv4 first; that of the loopback if there is no other. */
static tsr_status_t list_addresses(int family, in_port_t port, char *roots, size_t size)
{
	struct sockaddr_in loopback = {.sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct ifaddrs *all = NULL;
	const tsr_status_t status = list_interfaces(&all);
	roots[0] = '\0';
	for (const struct ifaddrs *at = all; at != NULL; at = at->ifa_next)
		if (leads_here(at, AF_INET))
			append(at->ifa_addr, port, roots, size);
	for (const struct ifaddrs *at = all; at != NULL; at = at->ifa_next)
		if (family == AF_INET6 && leads_here(at, AF_INET6))
			append(at->ifa_addr, port, roots, size);
	if (roots[0] == '\0')
		append((struct sockaddr *)&loopback, port, roots, size);
	if (all != NULL)
		freeifaddrs(all);
	return status;
}

/** Listens at a free port: of the root's address, or of all; IPv6 takes IPv4 in. */
static int listen_freely(tsr_root_t *root, bool everywhere)
{
	int fd = listen_at(&root->address[0], root->length[0]);
	if (fd < 0 && everywhere && root->address[0].ss_family == AF_INET6) {
		root->address[0] = (struct sockaddr_storage){.ss_family = AF_INET};
		root->length[0] = length_of(AF_INET);
		fd = listen_at(&root->address[0], root->length[0]);
	}
	return fd;
}

tsr_status_t tsr_root_open(const char *interface, char *roots_out, size_t size, int *fd_out)
{
	const bool everywhere = interface[0] == '\0';
	struct sockaddr_storage address = {.ss_family = everywhere ? AF_INET6 : AF_INET};
	tsr_root_t root = {
		.count = 1, .address[0] = address, .length[0] = length_of(address.ss_family)};
	tsr_status_t status = everywhere ? TSR_OK : use_interface(interface, &root);
	if (status == TSR_ERR_CONFIG) {
		root.address[0].ss_family = AF_INET6;
		status = use_interface(interface, &root);
	}
	if (status != TSR_OK)
		return status;
	const int fd = listen_freely(&root, everywhere);
	socklen_t length = sizeof address;
	if (fd < 0 || getsockname(fd, (struct sockaddr *)&address, &length) != 0) {
		status = tsr_error(TSR_ERR_SYSTEM,
				   "rank 0 cannot listen at a port for the other nodes: %s",
				   tsr_message_fault(errno));
		tsr_fd_close(&fd, 1);
		return status;
	}
	roots_out[0] = '\0';
	if (everywhere)
		status = list_addresses(address.ss_family, *port_of(&address), roots_out, size);
	else
		append((struct sockaddr *)&address, *port_of(&address), roots_out, size);
	if (status != TSR_OK)
		tsr_fd_close(&fd, 1);
	else
		*fd_out = fd;
	return status;
}

void tsr_root_describe(int fd, char text[TSR_ROOT_TEXT])
{
	struct sockaddr_storage address;
	socklen_t length = sizeof address;
	text[0] = '\0';
	if (getsockname(fd, (struct sockaddr *)&address, &length) == 0)
		tsr_root_text((struct sockaddr *)&address, length, text);
}

int tsr_root_connect(const tsr_root_t *root, int index)
{
	const int yes = 1;
	const struct sockaddr_storage *address = &root->address[index];
	const int fd = tsr_fd_keep(socket(address->ss_family, STREAM, 0));
	if (fd < 0)
		return -1;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
	/* a signal does not end it: it goes on, as where it says EINPROGRESS */
	if (connect(fd, (const struct sockaddr *)address, root->length[index]) == 0 ||
	    errno == EINPROGRESS || errno == EINTR)
		return fd;
	tsr_fd_close(&fd, 1);
	return -1;
}

int tsr_root_reserve(int *port_out)
{
	struct sockaddr_storage address = {.ss_family = AF_INET};
	struct sockaddr_in *four = (struct sockaddr_in *)(void *)&address;
	socklen_t length = sizeof *four;
	four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	const int fd = listen_at(&address, length);
	if (fd < 0)
		return -1;
	if (getsockname(fd, (struct sockaddr *)&address, &length) != 0 ||
	    fcntl(fd, F_SETFD, 0) != 0) {
		tsr_fd_close(&fd, 1);
		return -1;
	}
	*port_out = ntohs(four->sin_port);
	return fd;
}
