/* The digest of a machine's state. */
#include "src/views/machine.h"

static uint64_t either(tsr_epoch_t a, tsr_epoch_t b)
{
	return (uint64_t)a << 32 | b;
}

/** A view and a clock, whose entry for one component stands apart. */
static void mix_vectors(uint64_t digest[2], const tsr_views_t *v, const tsr_vector_t *view,
			const tsr_vector_t *clock, int own, tsr_epoch_t epoch)
{
	tsr_views_mix(digest, either((tsr_epoch_t)own, epoch));
	for (int c = 0; c < v->components; c++)
		if (c != own)
			tsr_views_mix(digest,
				      either(tsr_vector_at(view, c), tsr_vector_at(clock, c)));
}

static void mix_heads(uint64_t digest[2], const tsr_views_t *v, const tsr_heads_t *heads)
{
	tsr_views_mix(digest, heads ? (uint64_t)heads->count : 0);
	for (int i = 0; heads && i < heads->count; i++) {
		const tsr_head_t *head = heads->head[i];
		tsr_views_mix(digest, (uint64_t)head->thread << 8 | (uint64_t)head->scope);
		mix_vectors(digest, v, head->view, head->clock, head->component, head->epoch);
	}
}

static void mix_location(uint64_t digest[2], const tsr_views_t *v, const tsr_location_t *location)
{
	tsr_views_mix(digest, either((tsr_epoch_t)location->message_count,
				     (tsr_epoch_t)location->mark_count));
	for (int m = 0; m < location->message_count; m++) {
		const tsr_message_t *message = &location->messages[m];
		tsr_views_mix(digest, message->value);
		tsr_views_mix(digest, (uint64_t)(message->thread + 1) << 8 |
					      (uint64_t)message->scope << 2 |
					      (uint64_t)message->plain << 1 | message->attached);
		mix_heads(digest, v, message->heads);
	}
	for (int m = 0; m < location->mark_count; m++) {
		const tsr_mark_t *mark = &location->marks[m];
		tsr_views_mix(digest, either((tsr_epoch_t)mark->component,
					     (tsr_epoch_t)(mark->thread + 1)));
		tsr_views_mix(digest, (uint64_t)mark->message << 8 | (uint64_t)mark->scope << 2 |
					      (uint64_t)mark->write << 1 | mark->plain);
		tsr_views_mix(digest, either(mark->first, mark->last));
	}
}

void tsr_views_digest(const tsr_views_t *v, uint64_t digest[2])
{
	for (int t = 0; t < v->threads; t++) {
		const tsr_views_thread_t *thread = &v->thread[t];
		if (thread->live_at < 0)
			continue;
		tsr_views_mix(digest, (uint64_t)t);
		mix_vectors(digest, v, thread->view, thread->clock, thread->component,
			    thread->epoch);
		mix_heads(digest, v, thread->pending);
		mix_heads(digest, v, thread->released);
	}
	for (int i = 0; i < v->instances; i++)
		mix_vectors(digest, v, v->instance[i].view, NULL, v->instance[i].component,
			    v->instance[i].epoch);
	for (int x = 0; x < v->locations; x++)
		mix_location(digest, v, &v->location[x]);
}
