/* Finding a library when the program runs, so that nothing links it. */
#ifndef TESSERA_BENCH_LIBRARY_H
#define TESSERA_BENCH_LIBRARY_H

#include "bench/internal.h"

/**
 * One entry of a table of functions: its symbol, and its offset in the table.
 */
typedef struct bench_entry {
	const char *symbol;
	size_t offset;
} bench_entry_t;

/*
 * For a list of entries X(type, field, symbol, arguments): the table's fields,
 * and the bench_entry_t of each, where TABLE is the table's type. A list of
 * bench_entry_t ends with BENCH_LAST_ENTRY.
 */
#define BENCH_TABLE_FIELD(type_, field_, symbol_, arguments_) type_(*field_) arguments_;
#define BENCH_TABLE_ENTRY(type_, field_, symbol_, arguments_) {#symbol_, offsetof(TABLE, field_)},
#define BENCH_LAST_ENTRY \
	{                \
		NULL, 0  \
	}

/** Where a vendor's libraries are installed. */
typedef struct bench_places {
	const char *home;     /* a variable that names the toolkit's folder */
	const char *toolkits; /* folders of toolkits, as in PATH; * stands for any text */
	const char *wheels;   /* folders of Python's wheels, below site-packages */
} bench_places_t;

enum { BENCH_LIBRARY_NAMES = 8 };

/** A library, under the names that it may have, the wanted one first. */
typedef struct bench_library {
	const char *what, *cure;                /* for the sentence */
	const char *names[BENCH_LIBRARY_NAMES]; /* null-terminated */
	const bench_places_t *places;
	const bench_entry_t *entries;
	bool prefer_loaded; /* a copy that the process has loaded already comes first */
} bench_library_t;

/**
 * Looks in the folders of LD_LIBRARY_PATH as it is now, where the system's
 * loader looks, in those of the toolkit, and in those of Python's wheels (their
 * folders lib). Fills in the table that the entries are of. False where the
 * library or an entry is not there, with one sentence. What was found stays
 * loaded.
 */
bool bench_library_find(const bench_library_t *library, void *table_out,
			char sentence[BENCH_SENTENCE]);

#endif
