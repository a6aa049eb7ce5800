/* tessera info: what this build and this machine offer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/host/machine.h"
#include "tessera/backends.h"
#include "tessera/tessera.h"
#include "tools/commands.h"
#include "tools/usage.h"

static const char help[] =
	"usage: tessera info [-e]\n"
	"\n"
	"Shows the version, the backends of this build with their devices (or why they\n"
	"have none), the properties of a device, the machine by whose figures workloads\n"
	"choose tiles and blocks, and the kernels in this executable with their variants\n"
	"and device code.\n"
	"\n"
	"  -e, --environment       show the environment variables that the library reads\n"
	"                          instead, with values, defaults and meanings\n"
	"  -h, --help              this text\n";

/** A rank's entry: what the device of a world of one is like. */
static int print_device(tsr_world_t *world, int argc, char **argv)
{
	tsr_device_props_t props = {.size = sizeof props};

	(void)argc;
	(void)argv;
	TSR_TRY(tsr_world_device(world, &props));
	printf("    %s: %d resident blocks, up to %d workers a block, %zu KiB of shared memory a "
	       "block\n",
	       props.name, props.resident_blocks, props.workers_per_block,
	       props.shared_bytes / 1024);
	printf("    workloads choose tiles and blocks by the figures of %s\n",
	       machine_find(tsr_world_backend(world), props.name)->name);
	return TOOL_OK;
}

static int print_backends(void)
{
	tsr_backend_info_t info = {.size = sizeof info};
	int failed = TOOL_OK;

	printf("backends:\n");
	for (int i = 0; tsr_backend_at(i, &info) == TSR_OK; i++) {
		if (info.devices == 0) {
			printf("  %-8s no device: %s\n", info.name, info.reason);
			continue;
		}
		printf("  %-8s %d device%s\n", info.name, info.devices,
		       info.devices == 1 ? "" : "s");
		fflush(stdout); /* a rank is a process that would print the buffer again */
		tsr_launcher_t launcher = {
			.size = sizeof launcher, .ranks = 1, .backend = info.name};
		char name[] = "info";
		char *argv[] = {name, NULL};
		if (tsr_launch_world(&launcher, 1, argv, print_device) != 0)
			failed = TOOL_FAILED;
	}
	return failed;
}

static int compare(const void *a, const void *b)
{
	const tsr_kernel_t *x = *(const tsr_kernel_t *const *)a,
			   *y = *(const tsr_kernel_t *const *)b;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->variant, y->variant);
}

/** The architectures for which the kernel's unit has device code, the CPU first. */
static void print_code(const char *unit)
{
	const tsr_image_t *image;

	printf("cpu");
	for (int i = 0; (image = tsr_image_at(i)); i++) {
		if (strcmp(image->unit, unit) == 0)
			printf(", %s %s", image->backend, image->arch);
	}
	printf("\n");
}

static int print_kernels(void)
{
	const tsr_image_t *image;
	int kernels = 0, images = 0;
	size_t bytes = 0;

	while (tsr_kernel_at(kernels))
		kernels++;
	for (; (image = tsr_image_at(images)); images++)
		bytes += image->size_bytes;
	const tsr_kernel_t **sorted = calloc((size_t)kernels + 1, sizeof *sorted);
	if (!sorted) {
		fprintf(stderr,
			"tessera info: no host memory for a list of %d kernels: end other "
			"programs\n",
			kernels);
		return TOOL_FAILED;
	}
	for (int i = 0; i < kernels; i++)
		sorted[i] = tsr_kernel_at(i);
	qsort(sorted, (size_t)kernels, sizeof *sorted, compare);

	printf("kernels: %d, with %d device images of %zu KiB in all\n", kernels, images,
	       bytes / 1024);
	for (int i = 0; i < kernels; i++) {
		printf("  %-24s %-18s %2u worker%s %7zu B shared   ", sorted[i]->name,
		       sorted[i]->variant, sorted[i]->workers, sorted[i]->workers == 1 ? " " : "s",
		       sorted[i]->shared_bytes);
		print_code(sorted[i]->unit);
	}
	free(sorted);
	return TOOL_OK;
}

int tsr_cmd_info(int argc, char **argv)
{
	static const struct option options[] = {
		{"environment", no_argument, NULL, 'e'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};

	for (int o; (o = getopt_long(argc, argv, ":eh", options, NULL)) != -1;) {
		switch (o) {
		case 'e':
			tsr_environment_print(stdout);
			return TOOL_OK;
		case 'h':
			fputs(help, stdout);
			return TOOL_OK;
		default:
			return tool_bad_option("info", o, argv, options);
		}
	}
	if (optind < argc)
		return tool_misuse("info", "unexpected argument '%s'", argv[optind]);
	printf("tessera %s\n", tsr_version_text());
	int failed = print_backends();
	return print_kernels() ? TOOL_FAILED : failed;
}
