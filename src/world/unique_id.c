/* Worlds whose ranks know each other by an id that the program distributes. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "src/base/error.h"
#include "src/base/os/descriptor.h"
#include "src/base/os/secret.h"
#include "src/bootstrap/launchers.h"
#include "src/world/world.h"
#include "tessera/unique_id.h"

/** What the bytes of an id are. Each value of `magic` has one layout. */
typedef struct id_layout {
	char magic[8];
	uint64_t job;     /* names the world, and is no secret */
	uint64_t machine; /* of the process that made the id; 0: unknown */
	uint64_t secret[2];
	uint64_t zero[10];
	uint64_t check; /* a hash of all that is before it */
} id_layout_t;

_Static_assert(sizeof(id_layout_t) == TSR_UNIQUE_ID_BYTES, "an id has no room to spare");

static const char magic[8] = "tsr-id1";

static uint64_t check_of(const id_layout_t *id)
{
	static const tsr_key_t known = {{0, 0}}; /* it finds accidents, and stops nobody */
	return tsr_siphash(&known, id, offsetof(id_layout_t, check));
}

/**
 * A hash of what the kernel calls this boot of the machine; containers of one
 * machine see the same. 0 if it does not say.
 */
static uint64_t this_machine(void)
{
	static const tsr_key_t known = {{0, 0}};
	char text[64];
	const int fd = tsr_fd_keep(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
	const ssize_t count = fd >= 0 ? tsr_fd_read(fd, text, sizeof text) : -1;
	if (fd >= 0)
		tsr_fd_close(&fd, 1);
	return count > 0 ? tsr_siphash(&known, text, (size_t)count) : 0;
}

tsr_status_t tsr_unique_id_get(tsr_unique_id_t *id_out)
{
	if (id_out == NULL)
		return tsr_error(TSR_ERR_ARGUMENT, "tsr_unique_id_get: id_out must not be null");
	uint64_t bits[3];
	if (!tsr_random_bytes(bits, sizeof bits))
		return tsr_error(TSR_ERR_SYSTEM,
				 "the kernel gives no random numbers to make an id of: %s",
				 strerror(errno));
	id_layout_t id = {.job = bits[0], .machine = this_machine(), .secret = {bits[1], bits[2]}};
	memcpy(id.magic, magic, sizeof magic);
	id.check = check_of(&id);
	memcpy(id_out->bytes, &id, sizeof id);
	return TSR_OK;
}

static tsr_status_t check_id(const id_layout_t *id)
{
	static const id_layout_t nothing = {.job = 0};
	if (memcmp(id, &nothing, sizeof nothing) == 0)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "the id is all zero: send the id that tsr_unique_id_get made to "
				 "this rank before it joins");
	if (memcmp(id->magic, magic, sizeof magic) != 0 || id->check != check_of(id))
		return tsr_error(TSR_ERR_ARGUMENT,
				 "these %d bytes are no id of this version of the library: send "
				 "all bytes of the id that tsr_unique_id_get made",
				 TSR_UNIQUE_ID_BYTES);
	const uint64_t here = this_machine();
	if (id->machine != 0 && here != 0 && id->machine != here)
		return tsr_error(TSR_ERR_CONFIG,
				 "the id was made on another machine; a world is one node: start "
				 "all ranks on one, and make an id for each node");
	return TSR_OK;
}

static tsr_status_t check_settings(const tsr_options_t *options, int size)
{
	if (options->check != NULL)
		return tsr_error(TSR_ERR_CONFIG,
				 "tsr_world_create_by_id makes one rank a process, but tessera "
				 "check explores ranks in one process: start them by TSR_MAIN or "
				 "tsr_launch_world there");
	if (options->threads && size > 1)
		return tsr_error(TSR_ERR_CONFIG,
				 "tsr_world_create_by_id makes one rank, but "
				 "TESSERA_PLACEMENT=thread asks for all %d in this process: use "
				 "TESSERA_PLACEMENT=process",
				 size);
	return TSR_OK;
}

/** The job as tsr_job_detect would describe it. */
static void describe(const id_layout_t *id, int rank, int size, tsr_job_t *job_out)
{
	tsr_found_t found = {.launcher = "unique id", .rank = rank, .size = size};
	char secret[40];
	snprintf(found.job, sizeof found.job, "%016llx", (unsigned long long)id->job);
	snprintf(secret, sizeof secret, "%016llx%016llx", (unsigned long long)id->secret[0],
		 (unsigned long long)id->secret[1]);
	tsr_job_of(&found, secret, job_out);
	job_out->by_id = true;
}

tsr_status_t tsr_world_create_by_id(const tsr_unique_id_t *id, int rank, int size,
				    tsr_world_t **world_out)
{
	if (id == NULL || world_out == NULL)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_world_create_by_id: id and world_out must not be null");
	if (size < 1 || size > TSR_MAX_RANKS || rank < 0 || rank >= size)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_world_create_by_id: rank %d of %d: a world has 1 to %d "
				 "ranks, counted from 0",
				 rank, size, TSR_MAX_RANKS);
	id_layout_t layout;
	tsr_options_t options;
	tsr_job_t job;
	memcpy(&layout, id->bytes, sizeof layout);
	tsr_status_t status = check_id(&layout);
	if (status == TSR_OK)
		status = tsr_options_read(&options);
	if (status == TSR_OK)
		status = check_settings(&options, size);
	if (status != TSR_OK)
		return status;
	describe(&layout, rank, size, &job);
	return tsr_world_join(&job, &options, world_out);
}
