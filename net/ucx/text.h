/* What UCX is and uses, for people: read off what UCX prints. */
#ifndef TESSERA_NET_UCX_TEXT_H
#define TESSERA_NET_UCX_TEXT_H

#include <stddef.h>
#include <ucp/api/ucp.h>

/**
 * Writes "UCX 1.13.1, tcp over lo": version, transports and devices of an
 * endpoint; of none (null) the version alone.
 */
void tsr_ucx_describe(ucp_ep_h endpoint, char *text_out, size_t bytes);

/**
 * Writes "UCX 1.13": ranks whose releases differ in one of the two numbers do
 * not find each other, or end within UCX (seen between 1.13, 1.18, 1.19, 1.20
 * and 1.22).
 */
void tsr_ucx_release(char *text_out, size_t bytes);

/**
 * Writes version, transports with their devices, and types of memory of a
 * context; of none (null) that UCX finds no device.
 */
void tsr_ucx_about(ucp_context_h context, char *text_out, size_t bytes);

#endif
