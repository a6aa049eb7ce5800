/*
 * Messages between nodes: their header, and what is checked of it. Both nodes
 * have the same byte order; the magic number differs where they do not.
 */
#ifndef TESSERA_NET_MESSAGE_H
#define TESSERA_NET_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/os/secret.h"

#define TSR_MESSAGE_MAGIC 0x7e55e7a2u /* with the version of the messages */

/**
 * A message is counted if it has an effect, which is acknowledged. The numbers
 * of a rank's counted messages to one peer are 1, 2, 3, ..., and the peer
 * applies them in this order, in whatever order they come. At most
 * TSR_MESSAGE_WINDOW are under way. Every message tells how many are applied.
 * Where none is sent, APPLIED tells it: when the peer has nothing else to do, when
 * there are many, and when it is ASKED, which a release and a flush do.
 */
enum { TSR_MESSAGE_WINDOW = 1024 };

typedef enum tsr_message_kind {
	TSR_MESSAGE_HELLO = 1, /* are you there? */
	TSR_MESSAGE_HERE,      /* the answer */
	TSR_MESSAGE_PUT,       /* counted; rows for the heap are the data */
	TSR_MESSAGE_FILL,      /* counted; `byte` for all bytes of rows */
	TSR_MESSAGE_UPDATE,    /* counted; an atomic access */
	TSR_MESSAGE_EACH,      /* counted; the same to words side by side, with operands as data */
	TSR_MESSAGE_FETCH,     /* counted; the same, and OLD is the answer */
	TSR_MESSAGE_OLD,       /* the old bits */
	TSR_MESSAGE_GET,       /* asks for rows of the heap */
	TSR_MESSAGE_GOT,       /* some of them */
	TSR_MESSAGE_APPLIED,   /* `applied` alone */
	TSR_MESSAGE_LEAVING,   /* the last one */
	TSR_MESSAGE_ASKED,     /* APPLIED is wanted as soon as `after` is applied */
	TSR_MESSAGE_KINDS
} tsr_message_kind_t;

typedef struct tsr_message {
	uint32_t magic;          /* TSR_MESSAGE_MAGIC */
	int32_t source;          /* rank of the sender */
	uint64_t token;          /* tsr_message_token: the sender knows the job's key */
	uint64_t applied;        /* of the receiver's counted messages 1 to this all are applied */
	uint8_t what;            /* tsr_message_kind_t */
	uint8_t byte;            /* of FILL */
	uint8_t kind, op, bytes; /* of UPDATE, EACH and FETCH */
	uint8_t unused[3];
	uint64_t number; /* of a counted message */
	/* a GET waits at the target until the sender's messages 1 to this are applied, and so does
	 * the answer to ASKED */
	uint64_t after;
	uint64_t reply; /* of FETCH and GET: the sender's number for the answer, which has it too */
	uint64_t offset;          /* in the heap. Of GOT: the first row of the data */
	uint64_t pitch_bytes;     /* in the heap. Of GOT: the first byte in that row */
	uint64_t row_bytes, rows; /* of EACH: all its bytes, 1 */
	uint64_t bits, expected;  /* of UPDATE and FETCH; bits: of OLD too */
} tsr_message_t;

/** What stands in messages from `source` to `target`, and only they know. */
uint64_t tsr_message_token(const tsr_key_t *key, int source, int target);

/** Whether rows lie in a heap of so many bytes. Nothing overflows. */
bool tsr_message_rows_fit(const tsr_message_t *message, size_t heap_bytes);

/**
 * Whether the word of an atomic access lies in it, is aligned, and has a width
 * that there is; of EACH, all words.
 */
bool tsr_message_word_fits(const tsr_message_t *message, size_t heap_bytes);

/** Whether `what` is counted. */
bool tsr_message_is_counted(uint8_t what);

#endif
