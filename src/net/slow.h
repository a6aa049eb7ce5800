/*
 * A carrier that carries for another one, late and slowly: so that a test on
 * one machine meets the times of a network. Each message takes `delay_ns`, more
 * or less by a random time of up to `jitter_ns`; messages overtake each other
 * then, as the contract of carriers allows. What a rank sends leaves it at
 * `bytes_per_s`, to all peers together: each rank has a network adapter of its
 * own.
 */
#ifndef TESSERA_NET_SLOW_H
#define TESSERA_NET_SLOW_H

#include "src/net/carrier.h"

typedef struct tsr_slow {
	uint64_t delay_ns, jitter_ns; /* jitter_ns <= delay_ns */
	uint64_t bytes_per_s;         /* 0: as fast as the carrier is */
} tsr_slow_t;

/**
 * As carrier->open. `*slow_out` is the carrier of this link, to be called in
 * place of `carrier`, and lives as long as the link.
 *
 * A message that has left its rank is sent, though it arrives later: its parts
 * may be reused. One that waits to leave is being sent.
 */
bool tsr_slow_open(const tsr_carrier_t *carrier, const tsr_slow_t *how,
		   const tsr_carrier_settings_t *settings, const tsr_carrier_t **slow_out,
		   tsr_carrier_link_t **link_out, char *why_out, size_t why_bytes);

#endif
