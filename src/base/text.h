/* Parts of sentences. */
#ifndef TESSERA_BASE_TEXT_H
#define TESSERA_BASE_TEXT_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/** Writes "30 s", "1.5 s", "500 ms" or "20 ns" to `text`; returns it. */
static inline const char *tsr_duration_text(uint64_t ns, char *text, size_t size)
{
	if (ns >= 1000000000u)
		snprintf(text, size, "%.4g s", (double)ns / 1e9);
	else if (ns >= 1000000u)
		snprintf(text, size, "%.4g ms", (double)ns / 1e6);
	else if (ns >= 1000u)
		snprintf(text, size, "%.4g us", (double)ns / 1e3);
	else
		snprintf(text, size, "%llu ns", (unsigned long long)ns);
	return text;
}

/**
 * Copies as much of `from` as fits into `size` bytes with its end. A letter of
 * UTF-8 is not cut: a byte 10xxxxxx goes on with the one before.
 */
static inline void tsr_text_cut(const char *from, size_t size, char *to)
{
	size_t length = strnlen(from, size);
	if (length == size) {
		length--;
		while (length > 0 && ((unsigned char)from[length] & 0xc0) == 0x80)
			length--;
	}
	memcpy(to, from, length);
	to[length] = '\0';
}

enum { TSR_TEAM_NAME = 32, TSR_WHO_TEXT = 96 };

/**
 * Writes "rank 6", or for a team "rank 2 of team 'rows' (rank 6 of the world)";
 * returns it. `team` null or "" is the world.
 */
static inline const char *tsr_who_text(int world_rank, int team_rank, const char *team,
				       char text[TSR_WHO_TEXT])
{
	if (team == NULL || *team == '\0')
		snprintf(text, TSR_WHO_TEXT, "rank %d", world_rank);
	else
		snprintf(text, TSR_WHO_TEXT, "rank %d of team '%.31s' (rank %d of the world)",
			 team_rank, team, world_rank);
	return text;
}

/**
 * What follows a world rank in a report on a kernel of `team`: " of the world",
 * or nothing if the kernel counts ranks like the world.
 */
static inline const char *tsr_of_world(const char *team)
{
	return team == NULL || *team == '\0' ? "" : " of the world";
}

/**
 * FNV-1a: equal texts have equal hashes. Never 0, which means "empty" in
 * tables.
 */
static inline uint64_t tsr_text_hash(const char *text)
{
	uint64_t hash = 14695981039346656037u;
	for (; *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211u;
	return hash != 0 ? hash : 1;
}

#endif
