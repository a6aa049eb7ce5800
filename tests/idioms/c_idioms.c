/*
 * One file with a kernel and a host half that is C, and no C++: each idiom
 * below does not compile as C++17, or means something else. Each rank puts a
 * line of words into the next rank's box. Prints "rank R: ok".
 */
#include <complex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <tgmath.h>

#include "c_idioms.h"

TSR_KERNEL(send_words, idioms_args_t, a)
{
	int previous = (tsr_rank(block) + tsr_size(block) - 1) % tsr_size(block);
	tsr_put_signal(block, a->box->got, a->box->sent, (size_t)a->words * sizeof(int64_t),
		       &a->box->ready, 1, TSR_SIGNAL_SET, next_rank(block));
	tsr_wait(block, &a->box->ready, 1, previous);
}

/*
 * Designators out of order, of an array, and of what is nested; tentative
 * definitions; enumerations from integers.
 */
enum colour { RED, GREEN, BLUE };
typedef struct settings {
	int first, second;
	struct {
		int inner;
	} nested;
	enum colour colour;
	void *pointer;
} settings_t;

static int tentative;
static int tentative = 3;
static _Atomic int counter;
static const char *const names[] = {[BLUE] = "blue", [RED] = "red", [GREEN] = "green"};
static settings_t settings = {
	.pointer = &tentative, .second = 2, .nested.inner = 3, .first = 1, .colour = 2};
static int *const through_void = (void *)&tentative;

#define KIND(x_) _Generic((x_), int : 1, double : 2, default : 3)

/* Parameters that C++ has no words for. */
static int sum(int count, const int values[restrict static count])
{
	int total = 0;
	for (int i = 0; i < count; i++)
		total += values[i];
	return total;
}

static int check_idioms(int n)
{
	int new = 1, class = 2, template[n], *delete = malloc(sizeof *delete), this = 0;
	settings_t other = (settings_t){.second = 7};
	enum colour colour = 1;
	char *text = calloc(1, 8);
	double complex z = 3.0 + 4.0 * I;
	unsigned char small[2] = {300 & 0xff, 1};

	if (n < 0)
		goto out;
	int after_goto = n;
	for (int i = 0; i < n; i++)
		template[i] = new + class;
	*delete = sum(3, (int[]){1, 2, 3});
	memcpy(text, names[colour], 6);
	atomic_fetch_add(&counter, 1);
	this += *delete == 6 && template[n - 1] == 3 && other.second == 7 && other.first == 0 &&
		strcmp(text, "green") == 0;
	this += KIND(1.0) == 2 && KIND('a') == 1 && sizeof 'a' == sizeof(int) && cabs(z) > 4.9 &&
		cabs(z) < 5.1;
	this += settings.nested.inner == 3 && settings.colour == BLUE && *through_void == 3 &&
		atomic_load(&counter) > 0;
	this += after_goto == n && small[0] == 44;
out:
	free(delete);
	free(text);
	return this;
}

TSR_MAIN(world, argc, argv)
{
	node_t *list = new_node(NULL, 1, WORDS);
	box_t *mine = calloc(1, sizeof *mine);
	void *heap;
	tsr_stream_t *stream;
	if (!list || !mine || check_idioms(4) != 4)
		return 3;
	for (int i = 0; i < WORDS; i++)
		mine->sent[i] = list->values[i] + tsr_world_rank(world) * 1000 + i;
	TSR_TRY(tsr_heap_alloc(world, sizeof *mine, 0, "box", (TSR_HEAP void **)&heap));
	TSR_TRY(tsr_memcpy_to_heap(world, heap, mine, sizeof *mine));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	TSR_TRY(tsr_launch(stream, &send_words, 1, &(idioms_args_t){.words = WORDS, .box = heap}));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_memcpy_from_heap(world, mine, heap, sizeof *mine));
	int before = (tsr_world_rank(world) + tsr_world_size(world) - 1) % tsr_world_size(world);
	for (int i = 0; i < WORDS; i++) {
		if (mine->got[i] != before * 1000 + i)
			return 4;
	}
	printf("rank %d: ok\n", tsr_world_rank(world));
	free(mine);
	free(list);
	TSR_TRY(tsr_stream_destroy(stream));
	TSR_TRY(tsr_heap_free(world, heap));
	return 0;
}
