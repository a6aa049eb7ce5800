/*
 * What carries messages between nodes: the contract of plug-ins. A carrier
 * delivers each message once, whole and unchanged, in any order. It knows
 * nothing of what is in them.
 *
 * A plug-in is a shared library that shows one symbol, tsr_carrier_plugin, a
 * tsr_carrier_t. It uses no function of libtessera, so one file serves programs
 * that link the archive and programs that link the shared library.
 *
 * Threads:    all calls for one link are made by one thread at a time, but not
 *             always by the same thread.
 */
#ifndef TESSERA_NET_CARRIER_H
#define TESSERA_NET_CARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* changes with every change of this file or of the messages */
#define TSR_CARRIER_ABI 3u

/** A rank's end of the carrier. */
typedef struct tsr_carrier_link tsr_carrier_link_t;

/**
 * What the carrier tells, from within `progress` alone. The functions may call
 * `send`, and nothing else of the carrier.
 */
typedef struct tsr_carrier_events {
	void *ctx;
	/* a message; both parts may be read until it returns, and have any alignment */
	void (*arrived)(void *ctx, const void *header, size_t header_bytes, const void *data,
			size_t data_bytes);
	/* header and data of a message that was sent with `mark` may be reused */
	void (*sent)(void *ctx, void *mark);
	/* no message can be sent to that peer any more; or (-1) to any */
	void (*lost)(void *ctx, int peer, const char *why);
} tsr_carrier_events_t;

typedef struct tsr_carrier_settings {
	int rank, size;
	const char *interface; /* the network interface to use; null: the carrier's choice */
	tsr_carrier_events_t events;
} tsr_carrier_settings_t;

typedef enum tsr_carrier_sent {
	TSR_CARRIER_FAILED, /* and `lost` follows, or came already */
	TSR_CARRIER_SENT,   /* header and data may be reused at once; `sent` does not follow */
	TSR_CARRIER_SENDING /* `sent` will follow */
} tsr_carrier_sent_t;

typedef struct tsr_carrier {
	uint32_t abi;     /* TSR_CARRIER_ABI */
	uint32_t size;    /* of this struct */
	const char *name; /* "UCX" */

	/**
	 * Opens a link. Returns false with a sentence: what is missing or wrong, and what to do.
	 */
	bool (*open)(const tsr_carrier_settings_t *settings, tsr_carrier_link_t **link_out,
		     char *why_out, size_t why_bytes);

	/**
	 * Writes what ranks must have alike to understand each other, in words for people:
	 * "UCX 1.13". Ranks that have another one are never connected.
	 */
	void (*release)(char *text_out, size_t bytes);

	/** Writes the link's address. Returns false with a sentence if it does not fit. */
	bool (*address)(tsr_carrier_link_t *link, unsigned char *address_out, size_t bytes,
			char *why_out, size_t why_bytes);

	/** Prepares sending to a peer. Returns false with a sentence. */
	bool (*connect)(tsr_carrier_link_t *link, int peer, const unsigned char *address,
			size_t bytes, char *why_out, size_t why_bytes);

	/** Begins to send. Header and data stay as they are until they may be reused. */
	tsr_carrier_sent_t (*send)(tsr_carrier_link_t *link, int peer, const void *header,
				   size_t header_bytes, const void *data, size_t data_bytes,
				   void *mark);

	/** Moves messages; does not wait. Returns how much it did; 0: nothing was to do. */
	unsigned (*progress)(tsr_carrier_link_t *link);

	/** A descriptor to poll for reading. The carrier's own. */
	int (*descriptor)(const tsr_carrier_link_t *link);

	/**
	 * Prepares sleeping: true if the descriptor will be readable as soon as there is something
	 * to do; false if there is already. Messages may be sent meanwhile, without another call
	 * of this.
	 */
	bool (*arm)(tsr_carrier_link_t *link);

	/** Frees the link. Tells nothing any more; does not wait for peers. */
	void (*close)(tsr_carrier_link_t *link);

	/** "UCX 1.13.1, tcp over lo" */
	void (*describe)(const tsr_carrier_link_t *link, char *text_out, size_t bytes);

	/** The version, and what it finds on this machine. Needs no link. */
	void (*about)(char *text_out, size_t bytes);

	/* most bytes of data that are sent as one message */
	size_t piece_bytes;
} tsr_carrier_t;

#endif
