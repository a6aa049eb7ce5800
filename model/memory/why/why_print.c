/* An explanation as text. */
#include <inttypes.h>
#include <string.h>

#include "model/memory/why/why.h"

int why_print_letter(int event, char *text, size_t size)
{
	if (event < 26)
		return snprintf(text, size, "%c", 'a' + event);
	return snprintf(text, size, "%c%d", 'a' + event % 26, event / 26 + 1);
}

int why_print_event(const execution_t *x, int event, char *text, size_t size)
{
	const event_t *e = &x->event[event];
	const litmus_test_t *test = x->test;
	char instruction[256], value[LITMUS_MAX_NAME];
	const char *effect = e->kind == EVENT_READ ? "reads" : "writes";

	litmus_print_number(test, e->value, value, sizeof value);
	if (e->thread < 0)
		return snprintf(text, size, "initially %s=%s", test->location[e->location], value);
	litmus_print_instruction(test, e->thread, e->instruction, instruction, sizeof instruction);
	if (e->kind == EVENT_FENCE)
		return snprintf(text, size, "P%d: %s", e->thread, instruction);
	return snprintf(text, size, "P%d: %s %s %s=%s", e->thread, instruction, effect,
			test->location[e->location], value);
}

/** a at most "n b" with nothing of the relation between them. */
static bool is_immediate(const relation_t *r, int a, int b)
{
	for (set_t left = r->row[a]; left; left &= left - 1) {
		if (related(r, set_first(left), b))
			return false;
	}
	return related(r, a, b);
}

int why_edges(const why_t *why, why_step_t *edges, int room)
{
	const execution_t *x = &why->x;
	int count = 0;

	for (int a = 0; a < x->n; a++) {
		for (int b = 0; b < x->n; b++) {
			const struct {
				bool drawn;
				const char *name;
			} kinds[] = {
				{is_immediate(&x->po, a, b), "po"},
				{related(&x->rf, a, b), "rf"},
				{is_immediate(&x->co, a, b), "co"},
				{related(&why->derived.fr, a, b) && !related(&x->rmw, a, b), "fr"},
				{related(&why->derived.sw, a, b), "sw"},
			};
			for (int k = 0; k < 5; k++) {
				if (kinds[k].drawn && count < room)
					edges[count++] = (why_step_t){a, b, kinds[k].name};
			}
		}
	}
	return count;
}

static void print_verdict(const why_t *why, FILE *file)
{
	const litmus_test_t *test = why->x.test;
	char question[2048];

	litmus_print_term(test, test->question, question, sizeof question);
	fprintf(file, "Why %s: %s%s%s ", test->name, why->asked_not ? "~(" : "", question,
		why->asked_not ? ")" : "");
	if (!why->found)
		fprintf(file, "cannot be: no execution ends so, whatever reads return (a value out "
			      "of thin air is none)\n");
	else if (why->axiom != AXIOM_NONE)
		fprintf(file, "is forbidden by %s, as in this execution\n", axiom_name(why->axiom));
	else
		fprintf(file, "is allowed%s, as in this execution\n",
			why->racy ? " and has no meaning, for two accesses race" : "");
}

static void print_steps(const why_t *why, FILE *file)
{
	char letter[WHY_LETTER];

	why_print_letter(why->step[0].from, letter, sizeof letter);
	fprintf(file, "  %s: %s", why->racy ? "race" : "cycle", letter);
	for (int i = 0; i < why->steps; i++) {
		why_print_letter(why->step[i].to, letter, sizeof letter);
		fprintf(file, " -%s-> %s", why->step[i].name, letter);
	}
	fprintf(file, "\n");
}

void why_print(const why_t *why, FILE *file)
{
	const execution_t *x = &why->x;
	char letter[WHY_LETTER], event[512];

	print_verdict(why, file);
	if (!why->found)
		return;
	for (int i = 0; i < x->n; i++) {
		why_print_letter(i, letter, sizeof letter);
		why_print_event(x, i, event, sizeof event);
		fprintf(file, "  %-3s %s\n", letter, event);
	}
	for (int i = 0; i < x->n; i++) {
		for (set_t left = x->rf.row[i]; left; left &= left - 1) {
			char reader[WHY_LETTER];
			why_print_letter(i, letter, sizeof letter);
			why_print_letter(set_first(left), reader, sizeof reader);
			fprintf(file, "  %s -rf-> %s%s\n", letter, reader,
				related(&why->derived.sw, i, set_first(left))
					? ", and synchronises with it"
					: "");
		}
	}
	if (why->steps)
		print_steps(why, file);
	fprintf(file, "\n");
}
