/*
 * Messages of views in words that carry their own flag (dev/marked.h), as the
 * collectives in one step need them of a port. C11 and C++17.
 *
 * Each row of a view begins with another word. A port defines these calls; their
 * views are not empty, and else they are as tsr_put_marked and tsr_take_marked.
 *   tsr_port_put_words(coop, dst, row_words, src, epoch, peer): to every rank,
 *   this one included, if `peer` is TSR_ANY_RANK
 *   tsr_port_take_words(coop, dst, src, row_words, epoch, from)
 *   tsr_port_combine_words(coop, dst, words, epoch, op): takes what all ranks
 *   have put, combines it in rank order, and stores the result to my own `dst`
 */
#ifndef TESSERA_COMMON_DEV_WORDS_H
#define TESSERA_COMMON_DEV_WORDS_H

#include <stdint.h>

#include "tessera/dev/port.h"

/** What all ranks have put for my `dst`. */
typedef struct tsr_one_shot_words {
	TSR_HEAP uint64_t *first; /* of rank 0 */
	int64_t row_words;        /* from one row to the next */
	int64_t apart;            /* from one rank's to the next one's */
	TSR_HEAP void *room;      /* as many bytes as all messages, for ports that need it */
} tsr_one_shot_words_t;

#endif
