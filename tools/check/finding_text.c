/* A finding as a person reads it. */
#include "tools/check/finding_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/text.h"

/** What a class says in one sentence, and what its accesses are called; null: not printed. */
typedef struct class_text {
	const char *headline;
	const char *label[TSR_FINDING_ACCESSES];
} class_text_t;

static const class_text_t texts[TSR_FINDING_CLASSES] = {
	[TSR_FINDING_DATA_RACE] = {"two accesses to the same memory, and nothing orders them",
				   {"access", "races with", "signal", "read by"}},
	[TSR_FINDING_SCOPE_RACE] =
		{"two ordered accesses to the same memory, and a scope does not reach",
		 {"access", "races with", "signal", "read by"}},
	[TSR_FINDING_REUSE] =
		{"a buffer is written again, and an earlier read of it may not be over",
		 {"write", "after read", "signal", "read by"}},
	[TSR_FINDING_COOP_RACE] = {"two accesses of one coop to the same memory, and its threads "
				   "do not meet between them",
				   {"access", "races with"}},
	[TSR_FINDING_UNWRITTEN_READ] = {"memory is read that nobody has written",
					{"read", "copied by"}},
	[TSR_FINDING_OUT_OF_BOUNDS] = {"an access leaves its allocation", {"access"}},
	[TSR_FINDING_FOREIGN_SLAB] = {"an access touches the slab of another", {"access", "owner"}},
	[TSR_FINDING_USE_AFTER_FREE] = {"memory is used that was freed", {"access", "freed by"}},
	[TSR_FINDING_LOST_SIGNAL] = {"a wait for a signal that nobody gives",
				     {"wait", "last signal", "raised", "raised", "raised",
				      "raised"}},
	[TSR_FINDING_DUPLICATE_SIGNAL] = {"a signal is given twice", {"signal", "first by"}},
	[TSR_FINDING_DEADLOCK] = {"everybody who is left waits, in a circle",
				  {"wait", "for", "raised", "raised", "raised", "raised"}},
	[TSR_FINDING_LIVELOCK] = {"everybody who is left goes round and gets nowhere",
				  {"access", "and"}},
	[TSR_FINDING_RESIDENCY] = {"a block that others wait for can never start", {"wait", "for"}},
	[TSR_FINDING_COLLECTIVE] = {"the ranks do not make the same collective call",
				    {"call", "but"}},
	[TSR_FINDING_MISUSE] = {"a call that the API does not allow", {"call", "and"}},
	[TSR_FINDING_PROGRAM_FAILURE] = {"the program fails under this schedule",
					 {"old value", "behind"}},
	[TSR_FINDING_LOAD_BUFFERING] = {"the result may depend on loads not being overtaken by "
					"later stores (load buffering)",
					{"load", "then store", "load", "then store", "load",
					 "then store", "load", "then store"}},
};

enum { LABEL = 11, FIELD = LABEL + 4 }; /* columns */

const char *tsr_finding_who_text(const tsr_finding_who_t *who, char *text, size_t size)
{
	if (who->kernel == NULL) {
		if (who->rank < 0)
			snprintf(text, size, "nobody in particular");
		else
			snprintf(text, size, "the host of rank %d", who->rank);
		return text;
	}
	char rank[TSR_WHO_TEXT];
	size_t used = (size_t)snprintf(text, size, "%s, kernel %s",
				       tsr_who_text(who->rank, who->team_rank, who->team, rank),
				       who->kernel);
	if (who->variant != NULL && *who->variant != '\0' && used < size)
		used += (size_t)snprintf(text + used, size - used, " (%s)", who->variant);
	if (who->launch >= 0 && used < size)
		used += (size_t)snprintf(text + used, size - used, ", launch %d", who->launch);
	if (who->block >= 0 && used < size)
		used += (size_t)snprintf(text + used, size - used, ", block %d", who->block);
	if (who->worker >= 0 && used < size)
		snprintf(text + used, size - used, ", worker %d", who->worker);
	return text;
}

const char *tsr_finding_rank_text(const tsr_finding_who_t *who, char *text, size_t size)
{
	char rank[TSR_WHO_TEXT];
	(void)tsr_who_text(who->rank, who->team_rank, who->team, rank);
	snprintf(text, size, "%s", rank + strlen("rank "));
	return text;
}

const char *tsr_finding_memory_text(const tsr_finding_access_t *access, char *text, size_t size)
{
	*text = '\0';
	if (access->bytes == 0)
		return text;
	char of[48] = "";
	if (access->target >= 0)
		snprintf(of, sizeof of, " of rank %d%s", access->target,
			 tsr_of_world(access->who.team));
	const char *name = access->allocation != NULL ? access->allocation : "the heap";
	const char *quote = access->allocation != NULL ? "'" : "";
	char index[TSR_FINDING_INDEX_TEXT];
	snprintf(text, size, "%s%s%s%s (%" PRIu64 " byte%s)%s", quote, name, quote,
		 tsr_finding_index_text(access, index), access->bytes,
		 access->bytes == 1 ? "" : "s", of);
	return text;
}

/* ---------------------------------------------------------------- printing */

/**
 * Prints "label   text" with lines broken between words, and the rest of the
 *                 text below its begin.
 */
static void print_field(FILE *out, const char *label, const char *text)
{
	enum { WIDTH = 120 };
	int column = fprintf(out, "  %-*s", LABEL, label);
	while (*text != '\0') {
		const int length = (int)strcspn(text, " ");
		if (column > FIELD && column + 1 + length > WIDTH)
			column = fprintf(out, "\n%*s", FIELD - 1, "") - 1;
		column += fprintf(out, "%*s%.*s", column < FIELD - 1 ? FIELD - column : 1, "",
				  length, text);
		text += length;
		text += *text == ' ';
	}
	fputc('\n', out);
}

/** "tsr_put at kernel.c:28: write, release at system scope". */
static void print_operation(const tsr_finding_access_t *access, const char *label, FILE *out)
{
	char place[512] = "", what[128] = "", line[1024];
	if (access->file != NULL)
		snprintf(place, sizeof place, " at %s:%d", access->file, access->line);
	if (access->order != TSR_VIEWS_PLAIN)
		snprintf(what, sizeof what, ": %s, %s at %s scope",
			 tsr_finding_kind_name(access->kind), tsr_finding_order_name(access->order),
			 tsr_finding_scope_name(access->scope));
	else if (access->bytes > 0)
		snprintf(what, sizeof what, ": %s, plain", tsr_finding_kind_name(access->kind));
	snprintf(line, sizeof line, "%s%s%s", access->call, place, what);
	print_field(out, label, line);
}

static void print_access(const tsr_finding_access_t *access, const char *label, FILE *out)
{
	char who[320], memory[320], tile[64] = "", value[96] = "", line[1024];
	print_operation(access, label, out);
	if (access->tiled)
		snprintf(tile, sizeof tile, ", tile (%" PRId64 ", %" PRId64 ")", access->row,
			 access->col);
	snprintf(line, sizeof line, "%s%s", tsr_finding_who_text(&access->who, who, sizeof who),
		 tile);
	print_field(out, "", line);
	if (*tsr_finding_memory_text(access, memory, sizeof memory) == '\0')
		return;
	if (access->valued)
		snprintf(value, sizeof value,
			 strcmp(label, "raised") == 0       ? ": it is %" PRIu64 " now"
			 : access->kind == TSR_FINDING_WAIT ? ": %" PRIu64 " wanted, %" PRIu64
							      " there"
			 : access->kind == TSR_FINDING_READ
				 ? ": %" PRIu64 " was there, it saw %" PRIu64
				 : ": gives %" PRIu64 ", %" PRIu64 " there before",
			 access->expected, access->seen);
	snprintf(line, sizeof line, "%s%s", memory, value);
	if (access->allocation_bytes > 0 &&
	    access->offset + access->bytes > access->allocation_bytes) {
		const size_t used = strlen(line);
		snprintf(line + used, sizeof line - used, ", which has %" PRIu64 " bytes",
			 access->allocation_bytes);
	}
	print_field(out, "", line);
}

/** Whether it is a terminal, and nobody has said that colours are unwelcome (no-color.org). */
static bool has_colours(FILE *out)
{
	const char *unwelcome = getenv("NO_COLOR"), *terminal = getenv("TERM");
	const int file = fileno(out); /* -1 of memory */
	return file >= 0 && isatty(file) && (unwelcome == NULL || *unwelcome == '\0') &&
	       (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

void tsr_finding_print(const tsr_finding_t *finding, FILE *out)
{
	const class_text_t *text = &texts[finding->class];
	tsr_finding_advice_t advice;
	const bool warning = finding->severity == TSR_FINDING_WARNING, coloured = has_colours(out);
	fprintf(out, "%s%s: %s:%s %s\n",
		!coloured ? ""
		: warning ? "\033[1;33m"
			  : "\033[1;31m",
		warning ? "warning" : "finding", tsr_finding_class_name(finding->class),
		coloured ? "\033[0m" : "", text->headline);
	if (finding->message != NULL)
		print_field(out, "said", finding->message);
	for (int i = 0; i < finding->accesses; i++)
		if (finding->access[i].call != NULL)
			print_access(&finding->access[i],
				     text->label[i] != NULL ? text->label[i] : "and", out);
	if (finding->node_count > 0)
		tsr_finding_print_graph(finding, out);
	tsr_finding_advise(finding, &advice);
	if (*advice.missing != '\0')
		print_field(out, "missing", advice.missing);
	if (*advice.change != '\0')
		print_field(out, "change", advice.change);
}

/** One access's part of a key. */
static size_t key_of(const tsr_finding_access_t *access, char *text, size_t size)
{
	return (size_t)snprintf(text, size, "|%s:%d:%s", access->file != NULL ? access->file : "",
				access->line, access->call != NULL ? access->call : "");
}

/** Whether it is one finding whichever of the two comes first. */
static bool is_symmetric(tsr_finding_class_t class)
{
	return class == TSR_FINDING_DATA_RACE || class == TSR_FINDING_SCOPE_RACE ||
	       class == TSR_FINDING_DUPLICATE_SIGNAL || class == TSR_FINDING_COLLECTIVE;
}

static int compare_sites(const tsr_finding_access_t *a, const tsr_finding_access_t *b)
{
	const char *file_a = a->file != NULL ? a->file : "",
		   *file_b = b->file != NULL ? b->file : "";
	const int files = strcmp(file_a, file_b);
	if (files != 0 || a->line != b->line)
		return files != 0 ? files : a->line - b->line;
	return strcmp(a->call != NULL ? a->call : "", b->call != NULL ? b->call : "");
}

/** Copies a text with # for each number, so that a failure is one however much was wrong. */
static void mask_numbers(const char *text, char *to)
{
	while (*text != '\0') {
		const size_t number = strspn(text, "0123456789");
		*to++ = number > 0 ? '#' : *text;
		text += number > 0 ? number : 1;
		while (number > 0 && *text == '.' && text[1] >= '0' && text[1] <= '9')
			text += 1 + strspn(text + 1, "0123456789");
	}
	*to = '\0';
}

char *tsr_finding_key(const tsr_finding_t *finding)
{
	static const tsr_finding_access_t none;
	const tsr_finding_access_t *access[2] = {&none, &none};
	for (int i = 0; i < 2; i++)
		if (i < finding->accesses && finding->access[i].call != NULL &&
		    finding->class != TSR_FINDING_PROGRAM_FAILURE)
			access[i] = &finding->access[i];
	if (is_symmetric(finding->class) && compare_sites(access[0], access[1]) > 0) {
		const tsr_finding_access_t *first = access[0];
		access[0] = access[1];
		access[1] = first;
	}
	/* A program that fails says so in its own words, and those differ where it fails
	 * differently, whatever it has seen. */
	const bool by_words =
		finding->accesses == 0 || finding->class == TSR_FINDING_PROGRAM_FAILURE;
	const char *last = by_words ? finding->message : finding->access[0].allocation;
	last = last != NULL ? last : "";
	const size_t size =
		64 + key_of(access[0], NULL, 0) + key_of(access[1], NULL, 0) + strlen(last);
	char *key = malloc(size);
	if (key == NULL)
		return NULL;
	size_t used = (size_t)snprintf(key, size, "%s", tsr_finding_class_name(finding->class));
	used += key_of(access[0], key + used, size - used);
	used += key_of(access[1], key + used, size - used);
	snprintf(key + used, size - used, "|%s", last);
	if (finding->class == TSR_FINDING_PROGRAM_FAILURE)
		mask_numbers(last, key + used + 1);
	return key;
}
