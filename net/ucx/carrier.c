/*
 * UCX carries messages: active messages (UCP), and nothing else of it. The
 * features for remote memory access stay off, so that no peer of UCP can ask
 * for an address of this process.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>
#include <ucs/config/global_opts.h>
#include <ucs/debug/debug.h>
#include <unistd.h>

#include "net/ucx/text.h"
#include "src/net/carrier.h"

/*
 * MESSAGE: the number of the only active message. PIECE_BYTES: with the
 * headers it fits one segment that TCP receives (64 KiB): UCX passes on what it
 * has received, and copies nothing together.
 */
enum { MESSAGE = 1, PIECE_BYTES = 60 * 1024 };

struct peer {
	tsr_carrier_link_t *link;
	int rank;
	ucp_ep_h endpoint;
	bool lost;
};

struct tsr_carrier_link {
	tsr_carrier_events_t events;
	ucp_context_h context;
	ucp_worker_h worker;
	int size, descriptor;
	bool closing;
	struct peer peers[];
};

/** What a request of UCX keeps until it is complete. */
typedef struct request {
	tsr_carrier_link_t *link;
} request_t;

static bool explain(char *why_out, size_t why_bytes, const char *call, ucs_status_t status)
{
	snprintf(why_out, why_bytes, "%s: %s", call, ucs_status_string(status));
	return false;
}

/* ------------------------------------------------------------------ messages */

static ucs_status_t receive(void *arg, const void *header, size_t header_bytes, void *data,
			    size_t bytes, const ucp_am_recv_param_t *param)
{
	tsr_carrier_link_t *link = arg;
	/* a rendezvous is dropped: none of ours begins one */
	if (!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) && !link->closing)
		link->events.arrived(link->events.ctx, header, header_bytes, data, bytes);
	return UCS_OK;
}

/** A request is complete; errors are told by the endpoint's handler. */
static void complete(void *data, ucs_status_t status, void *mark)
{
	request_t *request = data;
	tsr_carrier_link_t *link = request->link;
	(void)status;
	ucp_request_free(request);
	if (!link->closing)
		link->events.sent(link->events.ctx, mark);
}

static void lose(struct peer *peer, ucs_status_t status)
{
	if (peer->lost || peer->link->closing)
		return;
	peer->lost = true;
	peer->link->events.lost(peer->link->events.ctx, peer->rank, ucs_status_string(status));
}

static void on_error(void *arg, ucp_ep_h endpoint, ucs_status_t status)
{
	(void)endpoint;
	lose(arg, status);
}

static tsr_carrier_sent_t send_message(tsr_carrier_link_t *link, int rank, const void *header,
				       size_t header_bytes, const void *data, size_t bytes,
				       void *mark)
{
	struct peer *peer = &link->peers[rank];
	const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
							   UCP_OP_ATTR_FIELD_USER_DATA |
							   UCP_OP_ATTR_FIELD_FLAGS,
					   .flags = UCP_AM_SEND_FLAG_EAGER,
					   .cb.send = complete,
					   .user_data = mark};
	if (peer->lost || peer->endpoint == NULL)
		return TSR_CARRIER_FAILED;
	const ucs_status_ptr_t answer =
		ucp_am_send_nbx(peer->endpoint, MESSAGE, header, header_bytes, data, bytes, &param);
	if (answer == NULL)
		return TSR_CARRIER_SENT;
	if (UCS_PTR_IS_ERR(answer)) {
		lose(peer, UCS_PTR_STATUS(answer));
		return TSR_CARRIER_FAILED;
	}
	((request_t *)answer)->link = link;
	return TSR_CARRIER_SENDING;
}

static unsigned progress(tsr_carrier_link_t *link)
{
	return ucp_worker_progress(link->worker);
}

static int descriptor(const tsr_carrier_link_t *link)
{
	return link->descriptor;
}

static bool arm(tsr_carrier_link_t *link)
{
	return ucp_worker_arm(link->worker) != UCS_ERR_BUSY;
}

/* ------------------------------------------------------------------ open and close */

/**
 * UCX would print what went wrong, and print a backtrace where the program
 * receives a signal of an error: a library does neither. Its variables say
 * otherwise where somebody looks for a mistake.
 */
static void keep_quiet(void)
{
	if (getenv("UCX_LOG_LEVEL") == NULL)
		(void)ucs_global_opts_set_value("LOG_LEVEL", "fatal");
	const int signals[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE};
	for (size_t i = 0; getenv("UCX_HANDLE_ERRORS") == NULL && i < 4; i++)
		ucs_debug_disable_signal(signals[i]);
}

static ucs_status_t open_context(const char *interface, ucp_context_h *context_out)
{
	const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES |
						   UCP_PARAM_FIELD_REQUEST_SIZE,
				     .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
				     .request_size = sizeof(request_t)};
	ucp_config_t *config;
	ucs_status_t status = ucp_config_read(NULL, NULL, &config);
	if (status != UCS_OK)
		return status;
	if (interface != NULL)
		status = ucp_config_modify(config, "NET_DEVICES", interface);
	/* Peers are on other nodes. Shared memory would be made all the same, and its files be left
	 * in /dev/shm by a process that is killed meanwhile. */
	if (status == UCS_OK && getenv("UCX_TLS") == NULL)
		status = ucp_config_modify(config, "TLS", "^shm");
	if (status == UCS_OK)
		status = ucp_init(&params, config, context_out);
	ucp_config_release(config);
	return status;
}

static ucs_status_t open_worker(tsr_carrier_link_t *link)
{
	const ucp_worker_params_t params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
					    .thread_mode = UCS_THREAD_MODE_SERIALIZED};
	const ucp_am_handler_param_t handler = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
							      UCP_AM_HANDLER_PARAM_FIELD_CB |
							      UCP_AM_HANDLER_PARAM_FIELD_ARG,
						.id = MESSAGE,
						.cb = receive,
						.arg = link};
	ucs_status_t status = ucp_worker_create(link->context, &params, &link->worker);
	if (status != UCS_OK)
		return status;
	status = ucp_worker_set_am_recv_handler(link->worker, &handler);
	if (status == UCS_OK)
		status = ucp_worker_get_efd(link->worker, &link->descriptor);
	if (status != UCS_OK)
		ucp_worker_destroy(link->worker);
	return status;
}

static bool open_link(const tsr_carrier_settings_t *settings, tsr_carrier_link_t **link_out,
		      char *why_out, size_t why_bytes)
{
	tsr_carrier_link_t *link =
		calloc(1, sizeof *link + (size_t)settings->size * sizeof(struct peer));
	if (link == NULL)
		return explain(why_out, why_bytes, "a rank's end", UCS_ERR_NO_MEMORY);
	keep_quiet();
	link->events = settings->events;
	link->size = settings->size;
	ucs_status_t status = open_context(settings->interface, &link->context);
	if (status != UCS_OK) {
		free(link);
		return explain(why_out, why_bytes, "ucp_init", status);
	}
	status = open_worker(link);
	if (status != UCS_OK) {
		ucp_cleanup(link->context);
		free(link);
		return explain(why_out, why_bytes, "ucp_worker_create", status);
	}
	*link_out = link;
	return true;
}

static void close_link(tsr_carrier_link_t *link)
{
	link->closing = true;
	ucp_worker_destroy(link->worker);
	ucp_cleanup(link->context);
	free(link);
}

/* ------------------------------------------------------------------ addresses */

/** The first four bytes are the length, because the place for it has a fixed size. */
static bool address(tsr_carrier_link_t *link, unsigned char *address_out, size_t bytes,
		    char *why_out, size_t why_bytes)
{
	ucp_worker_attr_t attributes = {.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS |
						      UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS,
					/* peers are on other nodes: no shared memory */
					.address_flags = UCP_WORKER_ADDRESS_FLAG_NET_ONLY};
	const ucs_status_t status = ucp_worker_query(link->worker, &attributes);
	if (status != UCS_OK)
		return explain(why_out, why_bytes, "ucp_worker_query", status);
	const uint32_t length = (uint32_t)attributes.address_length;
	const bool fits = length + sizeof length <= bytes;
	if (fits) {
		memcpy(address_out, &length, sizeof length);
		memcpy(address_out + sizeof length, attributes.address, length);
	} else {
		snprintf(
			why_out, why_bytes,
			"this node has so many network devices that their addresses have %u bytes; "
			"name one or two by TESSERA_NET_INTERFACE",
			length);
	}
	ucp_worker_release_address(link->worker, attributes.address);
	return fits;
}

static bool connect_peer(tsr_carrier_link_t *link, int rank, const unsigned char *address_bytes,
			 size_t bytes, char *why_out, size_t why_bytes)
{
	struct peer *peer = &link->peers[rank];
	uint32_t length;
	memcpy(&length, address_bytes, sizeof length);
	if (length == 0 || length > bytes - sizeof length) {
		snprintf(why_out, why_bytes, "its address is none of UCX");
		return false;
	}
	*peer = (struct peer){.link = link, .rank = rank};
	const ucp_ep_params_t params = {
		.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
			      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
		.address = (const ucp_address_t *)(address_bytes + sizeof length),
		/* a peer that ends is told, and does not end this process */
		.err_mode = UCP_ERR_HANDLING_MODE_PEER,
		.err_handler = {.cb = on_error, .arg = peer}};
	const ucs_status_t status = ucp_ep_create(link->worker, &params, &peer->endpoint);
	if (status == UCS_ERR_UNREACHABLE && access("/sys/class/net", F_OK) != 0) {
		snprintf(why_out, why_bytes,
			 "UCX looks for networks in /sys/class/net, which is not there: mount "
			 "sysfs at /sys");
		return false;
	}
	return status == UCS_OK || explain(why_out, why_bytes, "ucp_ep_create", status);
}

/* ------------------------------------------------------------------ what it is */

static void describe(const tsr_carrier_link_t *link, char *text_out, size_t bytes)
{
	ucp_ep_h endpoint = NULL;
	for (int r = 0; endpoint == NULL && r < link->size; r++)
		endpoint = link->peers[r].endpoint;
	tsr_ucx_describe(endpoint, text_out, bytes);
}

static void about(char *text_out, size_t bytes)
{
	ucp_context_h context = NULL;
	keep_quiet();
	if (open_context(NULL, &context) != UCS_OK)
		context = NULL;
	tsr_ucx_about(context, text_out, bytes);
	if (context != NULL)
		ucp_cleanup(context);
}

extern const tsr_carrier_t tsr_carrier_plugin;

__attribute__((visibility("default")))
const tsr_carrier_t tsr_carrier_plugin = {.abi = TSR_CARRIER_ABI,
					  .size = sizeof(tsr_carrier_t),
					  .name = "UCX",
					  .open = open_link,
					  .release = tsr_ucx_release,
					  .address = address,
					  .connect = connect_peer,
					  .send = send_message,
					  .progress = progress,
					  .descriptor = descriptor,
					  .arm = arm,
					  .close = close_link,
					  .describe = describe,
					  .about = about,
					  .piece_bytes = PIECE_BYTES};
