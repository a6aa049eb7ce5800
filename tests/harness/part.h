/*
 * Parts of K for tests that divide it. Device code; include it after
 * tessera/dev.h.
 */
#ifndef TESSERA_TESTS_HARNESS_PART_H
#define TESSERA_TESTS_HARNESS_PART_H

/**
 * Part `part` of `parts` of K, which has `depth` elements in chunks of `chunk`.
 * The parts have about equal numbers of chunks; if there are fewer chunks than
 * parts, some parts are empty.
 */
TSR_FN tsr_part_t part_of(tsr_pos_t at, int64_t part, int64_t parts, int64_t depth, int64_t chunk)
{
	const int64_t chunks = tsr_tiles(depth, chunk);
	tsr_part_t found = tsr_whole(at);
	found.k0 = chunks * part / parts * chunk;
	if (part + 1 < parts)
		found.k1 = chunks * (part + 1) / parts * chunk;
	return found;
}

#endif
