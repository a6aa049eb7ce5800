/* The port's own way of storing fragments: none. */
#ifndef TESSERA_HIP_OUTGOING_H
#define TESSERA_HIP_OUTGOING_H

TSR_DEV void tsr_port_settle(tsr_coop_t *)
{
}

TSR_DEV bool tsr_port_signal_later(tsr_coop_t *, uint64_t *, uint64_t, tsr_signal_op_t, int)
{
	return false;
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

TSR_DEV bool tsr_port_copy_in_bulk(const tsr_coop_t *, tsr_gpu_rows_of_bytes_t)
{
	return false;
}

/** Where sums are written that are sent later: nowhere, they are stored to the peer at once. */
template <typename F> TSR_DEV char *tsr_port_stage(const tsr_coop_t *, int)
{
	return 0;
}

template <typename F>
TSR_DEV void tsr_port_send_staged(tsr_coop_t *, const F *, const char *, char *, int, int)
{
}

#endif
