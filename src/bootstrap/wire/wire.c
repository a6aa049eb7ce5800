/* Proofs, addresses, and whose user the other end is. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/bootstrap/wire/wire.h"

/* The first word of what is proved: no proof of one kind serves as one of another. */
enum { OF_DOOR = 1, OF_HELLO = 2, OF_ADDRESS = 3 };

uint64_t tsr_wire_door_proof(const tsr_key_t *key, uint64_t knock_nonce, uint64_t door_nonce)
{
	const uint64_t said[] = {OF_DOOR, knock_nonce, door_nonce};
	return tsr_siphash(key, said, sizeof said);
}

uint64_t tsr_wire_hello_proof(const tsr_key_t *key, uint64_t knock_nonce, uint64_t door_nonce,
			      const tsr_wire_hello_t *hello)
{
	const uint64_t said[] = {
		OF_HELLO,
		knock_nonce,
		door_nonce,
		hello->magic,
		hello->kind,
		hello->abi,
		(uint32_t)hello->rank,
		(uint32_t)hello->size,
		hello->process,
		(uint32_t)hello->wait_status,
	};
	return tsr_siphash(key, said, sizeof said);
}

socklen_t tsr_wire_address(const tsr_job_t *job, struct sockaddr_un *address_out)
{
	struct {
		uint64_t what;
		uint64_t node; /* nodes may be emulated on one machine: 0, or its number and 1 */
		char name[sizeof job->name];
	} said = {.what = OF_ADDRESS, .node = job->several ? (uint64_t)(unsigned)job->node + 1 : 0};
	snprintf(said.name, sizeof said.name, "%s", job->name);
	*address_out = (struct sockaddr_un){.sun_family = AF_UNIX};
	const int length = snprintf(address_out->sun_path + 1, sizeof address_out->sun_path - 1,
				    "tessera.%016llx",
				    (unsigned long long)tsr_siphash(&job->key, &said, sizeof said));
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

bool tsr_wire_same_user(int socket, uid_t *uid_out)
{
	struct ucred peer;
	socklen_t length = sizeof peer;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
		return false;
	*uid_out = peer.uid;
	errno = 0;
	return peer.uid == geteuid();
}

pid_t tsr_wire_peer_pid(int socket)
{
	struct ucred peer;
	socklen_t length = sizeof peer;
	return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? peer.pid : 0;
}
