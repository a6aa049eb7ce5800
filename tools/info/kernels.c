/* tessera info: the kernels of this executable, with their device code. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/kernel.h"
#include "tessera/tessera.h"
#include "tools/info/info.h"

static int compare(const void *a, const void *b)
{
	const tsr_kernel_t *x = *(const tsr_kernel_t *const *)a,
			   *y = *(const tsr_kernel_t *const *)b;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->variant, y->variant);
}

/** The architectures for which the kernel's unit has device code, the CPU first. */
static json_t *code_of(const char *unit)
{
	const tsr_image_t *image;
	json_t *code = json_array();

	(void)json_array_append_new(code, json_string("cpu"));
	for (int i = 0; (image = tsr_image_at(i)); i++) {
		if (strcmp(image->unit, unit) == 0)
			(void)json_array_append_new(code, json_sprintf("%s %s", image->backend,
								       image->arch));
	}
	return code;
}

json_t *info_kernels(bool *failed)
{
	int kernels = 0;

	while (tsr_kernel_at(kernels))
		kernels++;
	const tsr_kernel_t **sorted = calloc((size_t)kernels + 1, sizeof *sorted);
	json_t *rows = sorted ? json_array() : NULL;
	for (int i = 0; sorted && i < kernels; i++)
		sorted[i] = tsr_kernel_at(i);
	if (sorted)
		qsort(sorted, (size_t)kernels, sizeof *sorted, compare);
	for (int i = 0; rows && i < kernels; i++)
		(void)json_array_append_new(rows, json_pack("{s:s, s:s, s:i, s:I, s:s, s:o}",
							    "name", sorted[i]->name, "variant",
							    sorted[i]->variant, "workers",
							    (int)sorted[i]->workers, "shared_bytes",
							    (json_int_t)sorted[i]->shared_bytes,
							    "unit", sorted[i]->unit, "code",
							    code_of(sorted[i]->unit)));
	free(sorted);
	*failed = *failed || !rows;
	return rows;
}

static void print_code(const json_t *code)
{
	const json_t *part;
	size_t i;

	json_array_foreach(code, i, part) printf("%s%s", i ? ", " : "", json_string_value(part));
	printf("\n");
}

void info_print_kernels(const json_t *rows)
{
	const tsr_image_t *image;
	const json_t *row;
	int images = 0;
	size_t bytes = 0, i;

	for (; (image = tsr_image_at(images)); images++)
		bytes += image->size_bytes;
	if (json_array_size(rows) > 0)
		printf("kernels: %zu, with %d device images of %zu KiB in all\n",
		       json_array_size(rows), images, bytes / 1024);
	json_array_foreach(rows, i, row)
	{
		const long long workers = json_integer_value(json_object_get(row, "workers"));
		printf("  %-24s %-18s %2lld worker%s %7lld B shared   ", info_text(row, "name"),
		       info_text(row, "variant"), workers, workers == 1 ? " " : "s",
		       (long long)json_integer_value(json_object_get(row, "shared_bytes")));
		print_code(json_object_get(row, "code"));
	}
}
