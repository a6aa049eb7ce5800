/* The port's own way of storing fragments: none. */
#ifndef TESSERA_HIP_OUTGOING_H
#define TESSERA_HIP_OUTGOING_H

TSR_DEV void tsr_port_settle(tsr_coop_t *)
{
}

template <typename F>
TSR_DEV bool tsr_port_store_frag(tsr_coop_t *, const tsr_gpu_target_t &, const F *)
{
	return false;
}

/**
 * Sends the tile that the coop has just stored in my own memory to all other
 * ranks; not available here.
 */
TSR_DEV bool tsr_port_send_stored(tsr_coop_t *)
{
	return false;
}

#endif
