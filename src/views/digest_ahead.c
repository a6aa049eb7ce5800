/* The digest of what of a machine's state may still matter. */
#include "src/views/machine.h"

/** What is known at some point: a view and a clock, whose entries for one component stand apart. */
typedef struct knowledge {
	const tsr_vector_t *view, *clock;
	int own;
	tsr_epoch_t epoch;
} knowledge_t;

static tsr_epoch_t reached(const knowledge_t *k, const tsr_vector_t *vector, int component)
{
	return component == k->own ? k->epoch : tsr_vector_at(vector, component);
}

/**
 * Of each mark at these locations: whether its first access is in view, and its
 * last one in the clock.
 */
static void mix_knowledge(uint64_t digest[2], const tsr_views_t *v, uint64_t locations,
			  const knowledge_t *k)
{
	uint64_t bits = 1;

	for (; locations; locations &= locations - 1) {
		const tsr_location_t *location = &v->location[__builtin_ctzll(locations)];
		for (int i = 0; i < location->mark_count; i++) {
			const tsr_mark_t *mark = &location->marks[i];
			bits = bits << 2 |
			       (uint64_t)(reached(k, k->view, mark->component) >= mark->first)
				       << 1 |
			       (uint64_t)(reached(k, k->clock, mark->component) >= mark->last);
			if (!(bits >> 62))
				continue;
			tsr_views_mix(digest, bits);
			bits = 1;
		}
	}
	tsr_views_mix(digest, bits);
}

static void mix_heads(uint64_t digest[2], const tsr_views_t *v, uint64_t locations,
		      const tsr_heads_t *heads)
{
	tsr_views_mix(digest, heads ? (uint64_t)heads->count : 0);
	for (int i = 0; heads && i < heads->count; i++) {
		const tsr_head_t *head = heads->head[i];
		tsr_views_mix(digest, (uint64_t)head->thread << 8 | (uint64_t)head->scope);
		mix_knowledge(digest, v, locations,
			      &(knowledge_t){head->view, head->clock, head->component,
					     head->epoch});
	}
}

/**
 * Which scope instance has a component, by its place: components are numbered
 * as they are needed. 0: a thread has it.
 */
static uint64_t owner_of(const tsr_views_t *v, const tsr_mark_t *mark)
{
	for (int i = 0; mark->thread < 0 && i < v->instances; i++)
		if (v->instance[i].component == mark->component)
			return (uint64_t)v->instance[i].number << 8 |
			       (uint64_t)v->instance[i].scope;
	return 0;
}

/** Marks of one holder are told apart by which came first. */
static void mix_mark(uint64_t digest[2], const tsr_views_t *v, const tsr_location_t *location,
		     const tsr_mark_t *mark)
{
	uint64_t before_first = 0, before_last = 0;

	for (int i = 0; i < location->mark_count; i++) {
		const tsr_mark_t *other = &location->marks[i];
		before_first += other->component == mark->component && other->first < mark->first;
		before_last += other->component == mark->component && other->last < mark->last;
	}
	tsr_views_mix(digest, owner_of(v, mark) << 32 | (uint64_t)(mark->thread + 1) << 16 |
				      before_first << 8 | before_last);
	tsr_views_mix(digest, (uint64_t)mark->message << 8 | (uint64_t)mark->scope << 2 |
				      (uint64_t)mark->write << 1 | mark->plain);
}

static void mix_location(uint64_t digest[2], const tsr_views_t *v, uint64_t locations,
			 const tsr_location_t *location)
{
	tsr_views_mix(digest,
		      (uint64_t)location->message_count << 32 | (uint64_t)location->mark_count);
	for (int m = 0; m < location->message_count; m++) {
		const tsr_message_t *message = &location->messages[m];
		tsr_views_mix(digest, message->value);
		tsr_views_mix(digest, (uint64_t)(message->thread + 1) << 8 |
					      (uint64_t)message->scope << 2 |
					      (uint64_t)message->plain << 1 | message->attached);
		mix_heads(digest, v, locations, message->heads);
	}
	for (int i = 0; i < location->mark_count; i++)
		mix_mark(digest, v, location, &location->marks[i]);
}

static void mix_thread(uint64_t digest[2], const tsr_views_t *v, uint64_t locations, int number,
		       const tsr_views_future_t *future)
{
	const tsr_views_thread_t *t = &v->thread[number];
	const uint64_t own = future->releases ? locations : future->locations;

	tsr_views_mix(digest, (uint64_t)number);
	mix_knowledge(digest, v, own, &(knowledge_t){t->view, t->clock, t->component, t->epoch});
	if (future->acquires)
		mix_heads(digest, v, locations, t->pending);
	if (future->writes)
		mix_heads(digest, v, locations, t->released);
}

void tsr_views_digest_ahead(const tsr_views_t *v, const tsr_views_future_t *futures,
			    uint64_t digest[2])
{
	uint64_t locations = 0;
	bool seq_cst = false;

	for (int i = 0; i < v->live_count; i++) {
		locations |= futures[v->live[i]].locations;
		seq_cst |= futures[v->live[i]].seq_cst;
	}
	for (int x = 0; x < v->locations; x++) {
		if (locations >> x & 1)
			mix_location(digest, v, locations, &v->location[x]);
		else
			tsr_views_mix(digest, tsr_views_newest(v, x));
	}
	for (int t = 0; t < v->threads; t++)
		if (v->thread[t].live_at >= 0)
			mix_thread(digest, v, locations, t, &futures[t]);
	for (int i = 0; i < v->instances && seq_cst; i++) {
		const tsr_instance_t *instance = &v->instance[i];
		tsr_views_mix(digest, (uint64_t)instance->number << 8 | (uint64_t)instance->scope);
		mix_knowledge(digest, v, locations,
			      &(knowledge_t){instance->view, NULL, instance->component,
					     instance->epoch});
	}
}
