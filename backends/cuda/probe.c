/*
 * Looking for devices. CUDA does not survive fork(), and a program that asks what is here may well start ranks afterwards: so a
 * child process looks, and nothing is left in this one.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/device.h"
#include "src/base/clock.h"
#include "src/base/error.h"

enum { LONGEST_LOOK_MS = 120000 }; /* a machine of many GPUs that nobody keeps awake takes many seconds */

/** What the child has seen. */
typedef struct look {
	CUresult code;    /* of the driver's start */
	int count;        /* of GPUs */
	int usable;       /* of these, those for which the library has code */
	int major, minor; /* compute capability of the first */
} look_t;

static look_t look_here(const tsr_cuda_driver_t *driver)
{
	look_t look = {.code = driver->init(0)};
	if (look.code == CUDA_SUCCESS)
		look.code = driver->device_count(&look.count);
	for (int i = 0; i < look.count && look.code == CUDA_SUCCESS; i++) {
		int major, minor;
		look.code = tsr_cuda_capability(driver, i, &major, &minor);
		look.usable += tsr_cuda_has_code(major, minor);
		if (i == 0) {
			look.major = major;
			look.minor = minor;
		}
	}
	return look;
}

static tsr_status_t read_look(int fd, look_t *look_out)
{
	const uint64_t begin_ns = tsr_now_ns();
	look_t look;
	for (;;) {
		const int passed_ms = (int)((tsr_now_ns() - begin_ns) / 1000000);
		struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
		const int ready = passed_ms < LONGEST_LOOK_MS ? poll(&poll_fd, 1, LONGEST_LOOK_MS - passed_ms) : 0;
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready == 0)
			return tsr_error(TSR_ERR_NO_DEVICE, "the NVIDIA driver did not start within %d s: see nvidia-smi",
					 LONGEST_LOOK_MS / 1000);
		if (read(fd, &look, sizeof look) != (ssize_t)sizeof look)
			return tsr_error(TSR_ERR_NO_DEVICE, "the NVIDIA driver ended the process that looked for GPUs: see "
							    "nvidia-smi, or use TESSERA_BACKEND=cpuemu");
		*look_out = look;
		return TSR_OK;
	}
}

static tsr_status_t look_in_child(const tsr_cuda_driver_t *driver, look_t *look_out)
{
	int fds[2];
	if (pipe(fds) != 0)
		return tsr_error(TSR_ERR_SYSTEM, "looking for GPUs needs a pipe: %s; raise the limit on open files",
				 strerror(errno));
	const pid_t child = fork();
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		const look_t look = look_here(driver);
		_exit(write(fds[1], &look, sizeof look) == (ssize_t)sizeof look ? 0 : 1);
	}
	const int cause = errno;
	close(fds[1]);
	const tsr_status_t status =
		child < 0 ? tsr_error(TSR_ERR_SYSTEM, "looking for GPUs needs a process: %s; end others", strerror(cause))
			  : read_look(fds[0], look_out);
	close(fds[0]);
	if (child > 0) {
		(void)kill(child, SIGKILL); /* it has told all it knows, or never will */
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			continue;
	}
	return status;
}

tsr_status_t tsr_cuda_probe(int *count_out)
{
	tsr_cuda_driver_t driver;
	look_t look = {.code = CUDA_ERROR_UNKNOWN};
	int count;
	tsr_status_t status = tsr_cuda_driver_find(&driver);
	if (status != TSR_OK)
		return status;
	if (driver.device_count(&count) == CUDA_SUCCESS)
		look = look_here(&driver); /* CUDA runs in this process already */
	else if ((status = look_in_child(&driver, &look)) != TSR_OK)
		return status;
	if (look.code != CUDA_SUCCESS || look.count == 0)
		return tsr_cuda_no_device(&driver, look.code != CUDA_SUCCESS ? look.code : CUDA_ERROR_NO_DEVICE);
	status = tsr_cuda_check_visible(look.count);
	if (status != TSR_OK)
		return status;
	if (look.usable == 0)
		return tsr_error(TSR_ERR_NO_DEVICE,
				 "the GPU here has compute capability %d.%d, and this library has code for %s: use "
				 "TESSERA_BACKEND=cpuemu",
				 look.major, look.minor, tsr_cuda_check_image.arch);
	*count_out = look.count;
	return TSR_OK;
}
