/* Names, shapes and tiles: everything that can be checked without a device. */
#include <stdio.h>
#include <string.h>

#include "kernels/gemm_all_scatter/args.h"
#include "kernels/gemm_all_scatter/config.h"
#include "kernels/host/share.h"

static const gas_pattern_kernels_t patterns[GAS_PATTERN_COUNT] = {
	[GAS_BULK_SYNCHRONOUS] = {"bulk-synchronous", {"gas_gemm", "gas_all_scatter"}, false},
	[GAS_PRODUCER_CONSUMER] = {"producer-consumer", {"gas_producer", "gas_consumer"}, true},
	[GAS_FUSED_SEQUENTIAL] = {"fused-sequential", {"gas_fused_sequential", NULL}, false},
	[GAS_FUSED_WORKGROUP] = {"fused-workgroup-specialized",
				 {"gas_fused_workgroup", NULL},
				 true},
	[GAS_FUSED_WAVE] = {"fused-wave-specialized", {"gas_fused_wave", NULL}, false},
	[GAS_BANDED] = {"banded", {"gas_band", "gas_finish"}, false},
	[GAS_WORK_QUEUE] = {"work-queue", {"gas_work_queue", NULL}, false},
};

const gas_pattern_kernels_t *gas_pattern_kernels(gas_pattern_t pattern)
{
	return &patterns[pattern];
}

bool gas_can_divide(gas_pattern_t pattern)
{
	return patterns[pattern].sends_apart || pattern == GAS_FUSED_SEQUENTIAL ||
	       pattern == GAS_BULK_SYNCHRONOUS || pattern == GAS_WORK_QUEUE;
}

static bool is_pattern(gas_pattern_t pattern)
{
	return (unsigned)pattern < GAS_PATTERN_COUNT;
}

const char *gas_pattern_name(gas_pattern_t pattern)
{
	return is_pattern(pattern) ? patterns[pattern].name : "?";
}

/**
 * Writes the name in the table's spelling: without "unfused-", and with -ized.
 * Returns false if it is too long for a name.
 */
static bool spell_pattern(const char *text, char *spelt, size_t size, bool *unfused)
{
	static const char prefix[] = "unfused-", british[] = "specialised";
	*unfused = strncmp(text, prefix, strlen(prefix)) == 0;
	if ((size_t)snprintf(spelt, size, "%s", text + (*unfused ? strlen(prefix) : 0)) >= size)
		return false;
	char *end = strstr(spelt, british);
	if (end)
		end[strlen("speciali")] = 'z';
	return true;
}

/** "a, b and c". */
static void list_patterns(char *text, size_t size)
{
	size_t used = 0;
	for (int p = 0; p < GAS_PATTERN_COUNT && used < size; p++)
		used += (size_t)snprintf(text + used, size - used, "%s%s",
					 p == 0                       ? ""
					 : p == GAS_PATTERN_COUNT - 1 ? " and "
								      : ", ",
					 patterns[p].name);
}

tsr_status_t gas_pattern_parse(const char *text, gas_pattern_t *pattern_out)
{
	const char *names[GAS_PATTERN_COUNT + 1] = {NULL};
	char spelt[64];
	bool unfused, short_enough = spell_pattern(text, spelt, sizeof spelt, &unfused);
	for (int p = 0; p < GAS_PATTERN_COUNT; p++) {
		names[p] = patterns[p].name;
		if (short_enough && strcmp(spelt, names[p]) == 0 &&
		    !(unfused && strncmp(names[p], "fused-", strlen("fused-")) == 0)) {
			*pattern_out = (gas_pattern_t)p;
			return TSR_OK;
		}
	}
	char all[256];
	list_patterns(all, sizeof all);
	const char *near = short_enough ? tsr_nearest_name(spelt, names) : NULL;
	return tsr_error(TSR_ERR_NOT_FOUND, "pattern '%s' is unknown%s%s%s: there are %s", text,
			 near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "", all);
}

int64_t gas_most_tiles(const gas_config_t *config, tile_size_t tile, int ranks)
{
	return tiles_of(config->m, tile.m) * tiles_of(share_largest(config->n, ranks), tile.n);
}

static tsr_status_t check_blocks(const gas_config_t *config)
{
	bool sends_apart = patterns[config->pattern].sends_apart;
	if (config->bands < 0 || config->bands > GAS_BANDS)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%d bands cannot be put: give 1 to %d, or 0 for automatic",
				 config->bands, GAS_BANDS);
	const int most = tile_is_automatic(config->tile)
				 ? TILING_PARTS
				 : TILING_MOST_PARTS(config->tile.m, config->tile.n);
	if (config->parts < 0 || config->parts > most)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tiles cannot be multiplied in %d parts: give 1 to %d, or 0 for "
				 "automatic%s",
				 config->parts, most,
				 most < TILING_PARTS ? "; smaller tiles take more" : "");
	if (config->blocks < 0 || config->comm_blocks < 0)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%d blocks, %d of which send, cannot be launched: give at least "
				 "1, or 0 for automatic",
				 config->blocks, config->comm_blocks);
	if (!sends_apart)
		return TSR_OK;
	if (config->blocks == 1)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "pattern %s needs at least 2 blocks, one that computes and one "
				 "that sends; 1 was asked for",
				 gas_pattern_name(config->pattern));
	if (config->blocks && config->comm_blocks >= config->blocks)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%d of %d blocks send, so none computes; let at most %d send",
				 config->comm_blocks, config->blocks, config->blocks - 1);
	return TSR_OK;
}

product_t gas_product(const gas_config_t *config)
{
	return (product_t){.m = config->m, .n = config->n, .k = config->k, .dtype = config->dtype};
}

workload_matrix_t gas_matrix(const gas_config_t *config, int matrix, int rank, int ranks)
{
	static const char *const names[GAS_MATRICES] = {"A", "B", "C", "part of C", "parts of C"};
	static const workload_use_t uses[GAS_MATRICES] = {WORKLOAD_INPUT, WORKLOAD_INPUT,
							  WORKLOAD_OUTPUT, WORKLOAD_BETWEEN,
							  WORKLOAD_BETWEEN};
	const int64_t rows = matrix == GAS_B ? config->k : config->m,
		      cols = matrix == GAS_A ? config->k : config->n;
	const share_t mine = matrix == GAS_B || matrix == GAS_PART
				     ? share_of(config->n, rank, ranks)
				     : (share_t){0, cols};
	return (workload_matrix_t){.name = names[matrix],
				   .use = uses[matrix],
				   .dtype = config->dtype,
				   .stream = matrix == GAS_B,
				   .rows = rows,
				   .cols = cols,
				   .part_rows = rows,
				   .first_col = mine.first,
				   .part_cols = mine.count};
}

tsr_status_t gas_config_check(const gas_config_t *config, int ranks)
{
	if (!is_pattern(config->pattern))
		return tsr_error(
			TSR_ERR_ARGUMENT,
			"pattern %d is none of 0 .. %d; gas_pattern_parse knows their names",
			(int)config->pattern, GAS_PATTERN_COUNT - 1);
	if (ranks < 1 || ranks > TSR_MAX_RANKS)
		return tsr_error(TSR_ERR_ARGUMENT, "a world has 1 to %d ranks, not %d",
				 TSR_MAX_RANKS, ranks);
	const product_t product = gas_product(config);
	tsr_status_t status = product_check(&product);
	if (status == TSR_OK)
		status = variant_check("GEMM + all-scatter", patterns[config->pattern].kernels[0],
				       config->dtype, config->tile);
	if (status == TSR_OK)
		status = check_blocks(config);
	return status;
}
