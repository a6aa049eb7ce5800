/*
 * What a finding's rule (finding_rules.h) says of it: the facts that rules ask
 * for, and the words that they leave open.
 */
#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "tools/check/finding_rules.h"
#include "tools/check/finding_text.h"

/* ---------------------------------------------------------------- facts */

#define LOCAL "_local" /* how the names of such calls end */

static bool known(const tsr_finding_t *f, int index)
{
	return index < f->accesses && f->access[index].call != NULL;
}

static bool releases(const tsr_finding_access_t *access)
{
	return access->order == TSR_VIEWS_RELEASE || access->order == TSR_VIEWS_ACQ_REL ||
	       access->order == TSR_VIEWS_SEQ_CST;
}

static bool acquires(const tsr_finding_access_t *access)
{
	return access->order == TSR_VIEWS_ACQUIRE || access->order == TSR_VIEWS_ACQ_REL ||
	       access->order == TSR_VIEWS_SEQ_CST;
}

/** Whether they are two workers of one block. */
static bool are_apart(const tsr_finding_who_t *a, const tsr_finding_who_t *b)
{
	return a->worker != b->worker && a->kernel != NULL &&
	       tsr_finding_scope_between(a, b) <= TSR_VIEWS_BLOCK;
}

/** Whether the program says its order. */
static bool says_order(const tsr_finding_access_t *access)
{
	return strncmp(access->call, "tsr_atomic_", strlen("tsr_atomic_")) == 0 ||
	       strncmp(access->call, "tsr_wait_word", strlen("tsr_wait_word")) == 0;
}

static bool is_take(const tsr_finding_access_t *access)
{
	return strncmp(access->call, "tsr_take_marked", strlen("tsr_take_marked")) == 0;
}

/** Whether all blocks of all ranks make the call, and meet in it; by how names begin. */
static bool is_collective(const tsr_finding_access_t *access)
{
	static const char *const calls[] = {
		"tsr_all_gather",      "tsr_gather",      "tsr_all_to_all",     "tsr_scatter",
		"tsr_all_reduce_view", "tsr_reduce_view", "tsr_reduce_scatter", "tsr_broadcast"};
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (strncmp(access->call, calls[i], strlen(calls[i])) == 0)
			return true;
	return false;
}

static bool is_barrier(const tsr_finding_access_t *access)
{
	return strncmp(access->call, "tsr_barrier", strlen("tsr_barrier")) == 0;
}

static uint64_t facts_of_link(const tsr_finding_t *f)
{
	const tsr_finding_access_t *signal = &f->access[2], *wait = &f->access[3];
	if (!known(f, 2) || !known(f, 3))
		return !known(f, 2)                         ? 0
		       : signal->kind == TSR_FINDING_UPDATE ? SIGNALLED | SIGNAL_ADDS
							    : SIGNALLED;
	if (f->early)
		return EARLY;
	const tsr_views_scope_t scope = tsr_finding_scope_between(&signal->who, &wait->who);
	return LINKED | (says_order(wait) || acquires(wait) ? 0 : WAIT_CALL) |
	       (is_collective(signal) || is_collective(wait) ? GATHERED : 0) |
	       (is_take(wait) ? TAKEN : 0) | (known(f, 4) ? CIRCLE : 0) |
	       (are_apart(&signal->who, &f->access[1].who) ? SIGNAL_APART : 0) |
	       (are_apart(&wait->who, &f->access[0].who) ? WAIT_APART : 0) |
	       (!releases(signal) || signal->scope < scope ? SIGNAL_WEAK : 0) |
	       (!acquires(wait) || wait->scope < scope ? WAIT_WEAK : 0);
}

static bool is_copy(const tsr_finding_access_t *access)
{
	return strcmp(access->call, "tsr_stream_put_2d") == 0;
}

static bool is_launched_first(const tsr_finding_who_t *a, const tsr_finding_who_t *b)
{
	return a->rank == b->rank && a->kernel && b->kernel && a->launch >= 0 &&
	       a->launch < b->launch;
}

static bool is_same_place(const tsr_finding_access_t *a, const tsr_finding_access_t *b)
{
	return strcmp(a->call, b->call) == 0 && a->line == b->line && a->file && b->file &&
	       strcmp(a->file, b->file) == 0;
}

/** Whether the call reaches one device at most, and another one reaches ranks. */
static bool is_local(const tsr_finding_access_t *access)
{
	const size_t length = strlen(access->call);
	return length > strlen(LOCAL) && strcmp(access->call + length - strlen(LOCAL), LOCAL) == 0;
}

/** Whether it touches a block's shared memory, where flags are local. */
static bool is_shared(const tsr_finding_access_t *access)
{
	return access->target < 0 && access->allocation != NULL && access->bytes > 0;
}

/** Whether the one waits for what a plain write of the other's kernel puts. */
static bool waits_for_put(const tsr_finding_access_t *wait, const tsr_finding_access_t *put)
{
	return wait->kind == TSR_FINDING_WAIT && put->kind == TSR_FINDING_WRITE &&
	       put->order == TSR_VIEWS_PLAIN && put->who.kernel != NULL && !is_copy(put);
}

static uint64_t facts_of_pair(const tsr_finding_access_t *now, const tsr_finding_access_t *before)
{
	const tsr_views_scope_t scope = tsr_finding_scope_between(&now->who, &before->who);
	const bool put =
		strcmp(before->call, "tsr_put") == 0 || strcmp(before->call, "tsr_put_2d") == 0;
	uint64_t facts = PAIR;
	facts |= before->who.kernel == NULL ? HOST_BEFORE : 0;
	facts |= now->who.rank == before->who.rank ? SAME_RANK : 0;
	facts |= scope <= TSR_VIEWS_BLOCK && now->who.kernel != NULL ? SAME_BLOCK : 0;
	facts |= now->who.kernel != NULL && before->who.kernel != NULL ? IN_KERNELS : 0;
	facts |= put ? PUT_BEFORE : 0;
	facts |= is_same_place(now, before) ? SAME_PLACE : 0;
	facts |= is_copy(before) ? COPY_BEFORE : 0;
	facts |= is_copy(before) || is_copy(now) ? ANY_COPY : 0;
	facts |= waits_for_put(now, before) ? NOW_WAITS_FOR_PUT : 0;
	facts |= waits_for_put(before, now) ? PUTS_WHAT_WAITS : 0;
	facts |= now->order != TSR_VIEWS_PLAIN && now->scope < scope ? NOW_NARROW : 0;
	facts |= before->order != TSR_VIEWS_PLAIN && before->scope < scope ? BEFORE_NARROW : 0;
	facts |= before->kind == TSR_FINDING_UPDATE ? ADD_BEFORE : 0;
	facts |= before->kind == TSR_FINDING_READ ? READ_BEFORE : 0;
	facts |= now->kind != TSR_FINDING_READ && before->kind != TSR_FINDING_READ ? BOTH_WRITE : 0;
	facts |= now->order == TSR_VIEWS_RELAXED && before->order == TSR_VIEWS_RELAXED
			 ? BOTH_RELAXED
			 : 0;
	facts |= is_launched_first(&now->who, &before->who) ? NOW_LAUNCHED_FIRST : 0;
	facts |= is_local(now) && scope == TSR_VIEWS_SYSTEM ? NOW_LOCAL : 0;
	facts |= is_local(before) && scope == TSR_VIEWS_SYSTEM ? BEFORE_LOCAL : 0;
	return facts;
}

static bool fails(const tsr_finding_access_t *access)
{
	return strcmp(access->call, "tsr_atomic_cas") == 0 && access->kind == TSR_FINDING_READ;
}

/** Whether it is given no view, nor a tensor: by how such calls are named. */
static bool is_pointed(const tsr_finding_access_t *access)
{
	static const char *const begins[] = {
		"tsr_wait",        "tsr_signal",     "tsr_atomic_",       "tsr_lock",
		"tsr_unlock",      "tsr_put_value",  "tsr_get_value",     "tsr_put_record",
		"tsr_get_record",  "tsr_put_all",    "tsr_put_scattered", "tsr_put_marked",
		"tsr_take_marked", "tsr_memcpy",     "tsr_memset",        "tsr_frag_save",
		"tsr_frag_add",    "tsr_state_save", "tsr_state_load",    "tsr_barrier"};
	static const char *const names[] = {"tsr_put", "tsr_get", "tsr_copy", "tsr_put_signal",
					    "tsr_all_gather"};
	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
		if (strncmp(access->call, begins[i], strlen(begins[i])) == 0)
			return true;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(access->call, names[i]) == 0)
			return true;
	return false;
}

static uint64_t facts_of(const tsr_finding_t *f)
{
	const tsr_finding_access_t *now = &f->access[0];
	uint64_t facts = facts_of_link(f);
	facts |= known(f, 0) && fails(now) ? NOW_FAILS : 0;
	facts |= known(f, 2) && fails(&f->access[2]) ? SIGNAL_FAILS : 0;
	if (known(f, 0)) {
		facts |= now->who.kernel == NULL ? HOST_NOW : 0;
		facts |= now->target >= 0 && now->target != now->who.rank ? OTHER_MEMORY : 0;
		facts |= strncmp(now->call, "tsr_lock", strlen("tsr_lock")) == 0 ? LOCKING : 0;
		facts |= is_take(now) ? TAKING : 0;
		facts |= now->kind == TSR_FINDING_WAIT && is_shared(now) ? NOW_WAITS_SHARED : 0;
		facts |= now->kind == TSR_FINDING_READ ? NOW_READS : 0;
		facts |= now->kind == TSR_FINDING_WAIT ? NOW_WAITS : 0;
		facts |= is_collective(now) || is_barrier(now) ? NOW_COLLECTIVE : 0;
		facts |= is_pointed(now) ? NOW_POINTED : 0;
		facts |= now->valued && now->kind == TSR_FINDING_READ ? OLD_VALUE : 0;
		facts |= known(f, 1) ? facts_of_pair(now, &f->access[1]) : 0;
	}
	return facts;
}

/* ---------------------------------------------------------------- words in braces */

typedef struct advice_text {
	char *text;
	size_t size, used;
} advice_text_t;

__attribute__((format(printf, 2, 3))) static void append(advice_text_t *to, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	const int length = vsnprintf(to->text + to->used, to->size - to->used, format, arguments);
	va_end(arguments);
	if ((size_t)length < to->size - to->used) {
		to->used += (size_t)length;
		return;
	}
	to->used = to->size - 1;
	/* a character that may be cut in two */
	while (to->used > 0 && (unsigned char)to->text[to->used - 1] >= 0x80)
		to->used--;
	to->text[to->used] = '\0';
}

static void append_is(advice_text_t *to, const tsr_finding_access_t *access)
{
	if (access->order == TSR_VIEWS_PLAIN)
		append(to, "a plain access");
	else
		append(to, "%s at %s scope", tsr_finding_order_name(access->order),
		       tsr_finding_scope_name(access->scope));
}

/**
 * The order that an access of a link needs, which keeps what it has, and the
 * scope that includes the other.
 */
static void append_needs(advice_text_t *to, const tsr_finding_t *f, int index)
{
	const tsr_finding_access_t *access = &f->access[index];
	const bool signal = index == 2;
	const tsr_views_scope_t scope =
		tsr_finding_scope_between(&f->access[2].who, &f->access[3].who);
	if (scope == TSR_VIEWS_SYSTEM && is_local(access)) {
		append(to, "a %s", signal ? "tsr_signal" : "tsr_wait");
		return;
	}
	const char *order = signal             ? (acquires(access) ? "an acq_rel" : "a release")
			    : releases(access) ? "an acq_rel"
					       : "an acquire";
	if (access->order == TSR_VIEWS_SEQ_CST)
		order = "a seq_cst";
	append(to, "%s at %s scope", order,
	       tsr_finding_scope_name(scope > access->scope ? scope : access->scope));
}

static void append_value(advice_text_t *to, const tsr_finding_access_t *wait)
{
	char memory[256];
	append(to, "%s",
	       wait->bytes > 0 ? tsr_finding_memory_text(wait, memory, sizeof memory) : "the flag");
	if (wait->valued)
		append(to, " is %llu and %llu is waited for", (unsigned long long)wait->seen,
		       (unsigned long long)wait->expected);
	else
		append(to, " is waited for");
}

/**
 * A word about one access: "" for call and place, "who", "is", "needs", "rank", "worker",
 * "far".
 */
static void append_about(advice_text_t *to, const tsr_finding_t *f, int index, const char *aspect)
{
	const tsr_finding_access_t *access = &f->access[index];
	char who[256];
	if (strcmp(aspect, "who") == 0)
		append(to, "%s", tsr_finding_who_text(&access->who, who, sizeof who));
	else if (strcmp(aspect, "is") == 0)
		append_is(to, access);
	else if (strcmp(aspect, "needs") == 0)
		append_needs(to, f, index);
	else if (strcmp(aspect, "rank") == 0)
		append(to, "%s", tsr_finding_rank_text(&access->who, who, sizeof who));
	else if (strcmp(aspect, "far") == 0)
		append(to, "%.*s", (int)(strlen(access->call) - strlen(LOCAL)), access->call);
	else if (strcmp(aspect, "worker") == 0)
		append(to, "%d", access->who.worker);
	else if (access->call == NULL)
		append(to, "the access");
	else if (access->file != NULL)
		append(to, "%s at %s:%d", access->call, access->file, access->line);
	else
		append(to, "%s", access->call);
}

/** The narrowest that includes the threads of both accesses, or of all of a circle. */
static tsr_views_scope_t scope_of_all(const tsr_finding_t *f)
{
	const bool circle = f->class == TSR_FINDING_LOAD_BUFFERING;
	tsr_views_scope_t scope = TSR_VIEWS_THREAD;
	for (int i = 1; i < (circle ? f->accesses : 2); i++) {
		const tsr_views_scope_t between =
			tsr_finding_scope_between(&f->access[0].who, &f->access[i].who);
		scope = between > scope ? between : scope;
	}
	return scope;
}

static void append_word(advice_text_t *to, const tsr_finding_t *f, const char *word)
{
	static const char *const roles[] = {"now", "before", "signal", "wait", "third"};
	char memory[256];
	if (strcmp(word, "scope") == 0) {
		append(to, "%s", tsr_finding_scope_name(scope_of_all(f)));
	} else if (strcmp(word, "memory") == 0) {
		tsr_finding_memory_text(&f->access[0], memory, sizeof memory);
		append(to, "%s", *memory != '\0' ? memory : "what it touches");
	} else if (strcmp(word, "raise") == 0) {
		append(to, "%s", is_shared(&f->access[0]) ? "tsr_signal_local" : "tsr_signal");
	} else if (strcmp(word, "await") == 0) {
		append(to, "%s", is_shared(&f->access[2]) ? "tsr_wait_local" : "tsr_wait");
	} else if (strcmp(word, "wait-value") == 0) {
		append_value(to, &f->access[0]);
	}
	for (int i = 0; i < (int)(sizeof roles / sizeof *roles); i++) {
		const size_t length = strlen(roles[i]);
		if (strncmp(word, roles[i], length) != 0 || strcmp(word, "wait-value") == 0)
			continue;
		if (word[length] == '\0' || word[length] == '-')
			append_about(to, f, i, word + length + (word[length] == '-'));
	}
}

static void fill_in(const char *template, const tsr_finding_t *f, char *text, size_t size)
{
	advice_text_t to = {.text = text, .size = size};
	*text = '\0';
	while (*template != '\0') {
		const size_t plain = strcspn(template, "{");
		append(&to, "%.*s", (int)plain, template);
		template += plain;
		if (*template == '\0')
			break;
		char word[24];
		const size_t length = strcspn(template, "}") - 1;
		snprintf(word, sizeof word, "%.*s", (int)length, template + 1);
		append_word(&to, f, word);
		template += length + 2;
	}
}

/* ---------------------------------------------------------------- cures that are said */

/** What stands behind the last ": " that is in no parentheses; null: there is none. */
static const char *behind_colon(const char *text)
{
	const char *behind = NULL;
	int depth = 0;
	for (; *text != '\0'; text++) {
		depth += (*text == '(') - (*text == ')');
		if (depth == 0 && text[0] == ':' && text[1] == ' ')
			behind = text + 2;
	}
	return behind;
}

/** Without the words in parentheses at its end, which say more of the cause. */
static size_t length_of_cure(const char *cure)
{
	size_t length = strlen(cure), at = length;
	int depth = 0;
	do {
		depth += at == 0 || cure[at - 1] == ')' ? 1 : cure[at - 1] == '(' ? -1 : 0;
		at -= at > 0;
	} while (at > 0 && depth > 0);
	return length > 0 && cure[length - 1] == ')' && at > 0 && cure[at - 1] == ' ' ? at - 1
										      : length;
}

/**
 * The cure in what is said: sentences of the library and of its checks name
 * cause and cure. What a program says of itself is no cure, nor are the
 * system's own words for a failed call, which begin with a capital.
 */
static const char *cure_said(const tsr_finding_t *f)
{
	const char *message = f->message != NULL ? f->message : "";
	const char *semicolon = strstr(message, "; "), *colon = behind_colon(message);
	if (f->class == TSR_FINDING_MISUSE)
		return semicolon != NULL ? semicolon + 2 : NULL;
	if (f->class != TSR_FINDING_COLLECTIVE && strstr(message, ": tessera: ") == NULL)
		return NULL;
	return colon != NULL && islower((unsigned char)*colon) ? colon : NULL;
}

void tsr_finding_advise(const tsr_finding_t *f, tsr_finding_advice_t *advice)
{
	const uint64_t facts = facts_of(f);
	const tsr_advice_rule_t *found = NULL;
	for (int i = 0; i < tsr_advice_rule_count && found == NULL; i++) {
		const tsr_advice_rule_t *rule = &tsr_advice_rules[i];
		if ((rule->classes >> f->class & 1u) && (rule->has & ~facts) == 0)
			found = rule;
	}
	fill_in(f->missing != NULL ? ""
		: found != NULL    ? found->missing
				   : "",
		f, advice->missing, sizeof advice->missing);
	fill_in(f->change != NULL ? ""
		: found != NULL   ? found->change
				  : "",
		f, advice->change, sizeof advice->change);
	if (f->missing != NULL)
		snprintf(advice->missing, sizeof advice->missing, "%s", f->missing);
	const char *said = cure_said(f);
	if (f->change != NULL)
		snprintf(advice->change, sizeof advice->change, "%s", f->change);
	else if (said != NULL)
		snprintf(advice->change, sizeof advice->change, "%.*s", (int)length_of_cure(said),
			 said);
}
