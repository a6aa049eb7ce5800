/* The size of a saved state, for the host and for kernels. */
#ifndef ATTEND_STATE_H
#define ATTEND_STATE_H

/** TSR_STATE_BYTES of tiles of m_ queries, and heads of d_ columns. Constant if these are. */
#define ATTEND_STATE_BYTES(m_, d_) ((m_) * ((d_) + 2) * 4)

#endif
