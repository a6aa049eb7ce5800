/* Every TESSERA_* variable: its name, its default, its meaning, its reader. */
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"
#include "src/base/settings/options.h"
#include "tessera/types.h"

extern char **environ;

enum { SECRET_LENGTH = 128, ROOT_LENGTH = 240, INTERFACE_LENGTH = 48 };

typedef struct option {
	const char *name;
	const char *fallback; /* read like a value; null: not set */
	const char *meaning;
	tsr_status_t (*read)(const char *name, const char *text, tsr_options_t *options);
} option_t;

static tsr_status_t read_backend(const char *name, const char *text, tsr_options_t *options)
{
	(void)name; /* the registry knows the names */
	options->backend = text;
	return TSR_OK;
}

/** Which of two words it is: *second_out says the second. */
static tsr_status_t read_word(const char *name, const char *text, const char *first,
			      const char *second, bool *second_out)
{
	if (strcmp(text, first) != 0 && strcmp(text, second) != 0)
		return tsr_error(TSR_ERR_CONFIG, "%s is '%s'; it must be '%s' or '%s'", name, text,
				 first, second);
	*second_out = strcmp(text, second) == 0;
	return TSR_OK;
}

static tsr_status_t read_placement(const char *name, const char *text, tsr_options_t *options)
{
	return read_word(name, text, "process", "thread", &options->threads);
}

static tsr_status_t read_log(const char *name, const char *text, tsr_options_t *options)
{
	return tsr_log_read(name, text, &options->log);
}

static tsr_status_t read_cuda_heap(const char *name, const char *text, tsr_options_t *options)
{
	return read_word(name, text, "vmm", "ipc", &options->cuda_ipc);
}

static tsr_status_t read_check_collectives(const char *name, const char *text,
					   tsr_options_t *options)
{
	return read_word(name, text, "0", "1", &options->check_collectives);
}

static tsr_status_t read_hip_heap(const char *name, const char *text, tsr_options_t *options)
{
	return read_word(name, text, "fine", "uncached", &options->hip_uncached);
}

static tsr_status_t read_int(const char *name, const char *text, long low, long high,
			     int *value_out)
{
	long value;
	const tsr_status_t status = tsr_parse_int(name, text, low, high, &value);
	if (status == TSR_OK)
		*value_out = (int)value;
	return status;
}

static tsr_status_t read_rank(const char *name, const char *text, tsr_options_t *options)
{
	return read_int(name, text, 0, TSR_MAX_RANKS - 1, &options->rank);
}

static tsr_status_t read_size(const char *name, const char *text, tsr_options_t *options)
{
	return read_int(name, text, 1, TSR_MAX_RANKS, &options->size);
}

static tsr_status_t read_nodes(const char *name, const char *text, tsr_options_t *options)
{
	return read_int(name, text, 1, TSR_MAX_RANKS, &options->nodes);
}

static tsr_status_t read_node_network(const char *name, const char *text, tsr_options_t *options)
{
	static const char *const words[] = {"loopback", "namespaces", "auto"};
	for (int i = 0; i < 3; i++)
		if (strcmp(text, words[i]) == 0) {
			options->node_network = (tsr_node_network_t)i;
			return TSR_OK;
		}
	return tsr_error(TSR_ERR_CONFIG,
			 "%s is '%s'; it must be 'loopback', 'namespaces' or 'auto'", name, text);
}

static tsr_status_t read_job(const char *name, const char *text, tsr_options_t *options)
{
	const size_t length = strlen(text);
	bool plain = length > 0 && length <= 64;
	for (size_t i = 0; plain && i < length; i++)
		plain = isalnum((unsigned char)text[i]) || strchr("._-:@", text[i]) != NULL;
	if (!plain)
		return tsr_error(
			TSR_ERR_CONFIG,
			"%s is '%s'; it must have 1 to 64 letters, digits or any of . _ - : @",
			name, text);
	options->job = text;
	return TSR_OK;
}

static tsr_status_t read_secret(const char *name, const char *text, tsr_options_t *options)
{
	if (strlen(text) > SECRET_LENGTH)
		return tsr_error(TSR_ERR_CONFIG, "%s has %zu letters; it may have %d", name,
				 strlen(text), SECRET_LENGTH);
	options->secret = text;
	return TSR_OK;
}

static tsr_status_t read_node(const char *name, const char *text, tsr_options_t *options)
{
	return read_int(name, text, 0, TSR_MAX_RANKS - 1, &options->node);
}

static tsr_status_t read_local_rank(const char *name, const char *text, tsr_options_t *options)
{
	return read_int(name, text, 0, TSR_MAX_RANKS - 1, &options->local_rank);
}

static tsr_status_t read_root(const char *name, const char *text, tsr_options_t *options)
{
	const char *colon = strrchr(text, ':');
	long port;
	if (colon == NULL || colon == text || strlen(text) > ROOT_LENGTH)
		return tsr_error(TSR_ERR_CONFIG,
				 "%s is '%s'; it must be HOST:PORT, such as node1:29600", name,
				 text);
	options->root = text;
	return tsr_parse_int(name, colon + 1, 1, 65535, &port);
}

static tsr_status_t read_root_fd(const char *name, const char *text, tsr_options_t *options)
{
	return read_int(name, text, 3, INT_MAX, &options->root_fd);
}

static tsr_status_t read_ranks_fd(const char *name, const char *text, tsr_options_t *options)
{
	return read_int(name, text, 3, INT_MAX, &options->ranks_fd);
}

static tsr_status_t read_net_interface(const char *name, const char *text, tsr_options_t *options)
{
	if (strlen(text) > INTERFACE_LENGTH)
		return tsr_error(TSR_ERR_CONFIG, "%s has %zu letters; it may have %d", name,
				 strlen(text), INTERFACE_LENGTH);
	options->net_interface = text;
	return TSR_OK;
}

static tsr_status_t read_bytes(const char *name, const char *text, size_t low, size_t high,
			       size_t *size_out)
{
	size_t size = 0;
	const tsr_status_t status = tsr_parse_size(name, text, &size);
	if (status != TSR_OK)
		return status;
	if (size < low || size > high)
		return tsr_error(TSR_ERR_CONFIG, "%s is '%s'; it must be from %s to %s", name, text,
				 TSR_SIZE(low), TSR_SIZE(high));
	*size_out = size;
	return TSR_OK;
}

/** "1ms", or "1ms,300us": what messages are late by, and how much more or less. */
static tsr_status_t read_net_delay(const char *name, const char *text, tsr_options_t *options)
{
	const uint64_t longest = 1000000000;
	const char *comma = strchr(text, ',');
	char delay[32];
	uint64_t delay_ns = 0, jitter_ns = 0;
	snprintf(delay, sizeof delay, "%.*s", (int)(comma ? comma - text : (long)strlen(text)),
		 text);
	tsr_status_t status = tsr_parse_duration(name, delay, &delay_ns);
	if (status == TSR_OK && comma != NULL)
		status = tsr_parse_duration(name, comma + 1, &jitter_ns);
	if (status != TSR_OK || delay_ns > longest || jitter_ns > delay_ns)
		return tsr_error(TSR_ERR_CONFIG,
				 "%s is '%s'; it must be TIME or TIME,JITTER such as 1ms,300us: at "
				 "most 1s, and a jitter of at most the time",
				 name, text);
	options->net_delay_ns = delay_ns;
	options->net_jitter_ns = jitter_ns;
	return TSR_OK;
}

static tsr_status_t read_net_rate(const char *name, const char *text, tsr_options_t *options)
{
	return read_bytes(name, text, 1024, (size_t)1 << 40, &options->net_rate);
}

static tsr_status_t read_tune_file(const char *name, const char *text, tsr_options_t *options)
{
	(void)name; /* a path is judged where it is opened */
	options->tune_file = text;
	return TSR_OK;
}

static tsr_status_t read_net_plugin(const char *name, const char *text, tsr_options_t *options)
{
	(void)name; /* a path is judged where it is opened */
	options->net_plugin = text;
	return TSR_OK;
}

static tsr_status_t read_check(const char *name, const char *text, tsr_options_t *options)
{
	(void)name; /* judged where ranks are started */
	options->check = text;
	return TSR_OK;
}

static tsr_status_t read_heap_size(const char *name, const char *text, tsr_options_t *options)
{
	return read_bytes(name, text, 4096, (size_t)1 << 46, &options->heap_bytes);
}

static tsr_status_t read_shared_size(const char *name, const char *text, tsr_options_t *options)
{
	return read_bytes(name, text, 0, (size_t)1 << 30, &options->shared_bytes);
}

static tsr_status_t read_deadline(const char *name, const char *text, tsr_options_t *options)
{
	const uint64_t shortest = 1000000, longest = 7ull * 24 * 3600 * 1000000000;
	uint64_t ns = 0;
	const tsr_status_t status = tsr_parse_duration(name, text, &ns);
	if (status != TSR_OK)
		return status;
	if (ns < shortest || ns > longest)
		return tsr_error(TSR_ERR_CONFIG, "%s is '%s'; it must be from 1ms to 168h", name,
				 text);
	options->deadline_ns = ns;
	return TSR_OK;
}

static tsr_status_t read_resident_blocks(const char *name, const char *text, tsr_options_t *options)
{
	return read_int(name, text, 1, 65536, &options->resident_blocks);
}

static tsr_status_t read_workers(const char *name, const char *text, tsr_options_t *options)
{
	return read_int(name, text, 1, 64, &options->max_workers);
}

static tsr_status_t read_spread_passes(const char *name, const char *text, tsr_options_t *options)
{
	return read_int(name, text, 1, 1024, &options->spread_passes);
}

static const option_t table[] = {
	{"TESSERA_BACKEND", NULL, "backend to use: cpuemu, cuda, hip; not set: the best present",
	 read_backend},
	{"TESSERA_PLACEMENT", "process", "what a rank is: process or thread", read_placement},
	{"TESSERA_RANK", NULL, "rank of this process; set by tessera run", read_rank},
	{"TESSERA_SIZE", NULL,
	 "number of ranks; set by tessera run, or by hand with TESSERA_PLACEMENT=thread",
	 read_size},
	{"TESSERA_JOB", NULL,
	 "a word that all ranks of a job share and no other job has; set by tessera run", read_job},
	{"TESSERA_SECRET", NULL,
	 "a word that all ranks of a job share and nobody else knows, so that nobody else can "
	 "join; set by tessera run",
	 read_secret},
	{"TESSERA_NODES", "1",
	 "emulated nodes that a world on this machine is split into, at most as many as it has "
	 "ranks; tessera run --nodes overrules it",
	 read_nodes},
	{"TESSERA_NODE_NETWORK", "loopback",
	 "how emulated nodes reach each other: loopback, namespaces (each node has a network of "
	 "its own, which takes root), or auto (namespaces where that is permitted)",
	 read_node_network},
	{"TESSERA_NODE", NULL,
	 "of a job on several nodes: the number of this process's node; set by tessera run --nodes",
	 read_node},
	{"TESSERA_LOCAL_RANK", NULL,
	 "of a job on several nodes: its rank among those of its node; set by tessera run --nodes",
	 read_local_rank},
	{"TESSERA_ROOT", NULL,
	 "of a job on several nodes: HOST:PORT where rank 0 listens for the other nodes, on all "
	 "ranks; set by tessera run --nodes",
	 read_root},
	{"TESSERA_ROOT_FD", NULL,
	 "a descriptor of rank 0 that listens at TESSERA_ROOT already; set by tessera run --nodes",
	 read_root_fd},
	{"TESSERA_RANKS_FD", NULL,
	 "a pipe on which the process of all ranks tells the launcher when these begin and have "
	 "finished; set by tessera run --placement thread",
	 read_ranks_fd},
	{"TESSERA_NET_INTERFACE", NULL,
	 "the interface, or its address, that carries messages between nodes and at which rank 0 "
	 "listens for the others; not set: UCX's choice, and that of TESSERA_ROOT",
	 read_net_interface},
	{"TESSERA_NET_DELAY", NULL,
	 "TIME or TIME,JITTER such as 1ms,300us: messages between nodes take so much longer, to "
	 "try on one machine what a network does; not set: no longer",
	 read_net_delay},
	{"TESSERA_NET_RATE", NULL,
	 "bytes a second, such as 1G, that a rank sends to other nodes at most; not set: no limit",
	 read_net_rate},
	{"TESSERA_HEAP_SIZE", "1G", "bytes of a rank's symmetric heap; memory is used when touched",
	 read_heap_size},
	{"TESSERA_DEADLINE", "30s", "how long any wait of the library may last", read_deadline},
	{"TESSERA_CPUEMU_RESIDENT_BLOCKS", "64",
	 "blocks that are on an emulated device at one time", read_resident_blocks},
	{"TESSERA_CPUEMU_WORKERS", "8", "workers that a block of an emulated device may have",
	 read_workers},
	{"TESSERA_SPREAD_PASSES", "1",
	 "threads of an emulated worker that share the passes of a TSR_EACH; with more than one, "
	 "each has locals of its own and does not see what the others write, as on a GPU",
	 read_spread_passes},
	{"TESSERA_CPUEMU_SHARED_SIZE", "228K", "shared memory of a block of an emulated device",
	 read_shared_size},
	{"TESSERA_CUDA_HEAP", "vmm",
	 "how ranks share heaps on cuda: vmm (descriptors), or ipc (handles)", read_cuda_heap},
	{"TESSERA_HIP_HEAP", "fine", "memory of heaps on hip: fine (fine-grained), or uncached",
	 read_hip_heap},
	{"TESSERA_NET_PLUGIN", NULL,
	 "file that carries messages between nodes; not set: libtessera-net-ucx.so, looked for "
	 "beside the library or the program",
	 read_net_plugin},
	{"TESSERA_CHECK_COLLECTIVES", "0",
	 "1: compare what ranks pass to collectives on streams on GPUs too; on the emulator always",
	 read_check_collectives},
	{"TESSERA_TUNE_FILE", NULL,
	 "where tessera bench --tune remembers; not set: tessera/tune.json in the user's cache",
	 read_tune_file},
	{"TESSERA_CHECK", NULL, "what tessera check asks of this program; set by it", read_check},
	{"TESSERA_LOG", "quiet",
	 "quiet, error, info (which backend is used and why) or debug; :FILE may follow, with %r "
	 "for the rank and %p for the process",
	 read_log},
};
enum { COUNT = sizeof table / sizeof *table };

/** Refuses a TESSERA_* variable that is not in the table. */
static tsr_status_t check_name(const char *entry)
{
	char name[64];
	const size_t length = strcspn(entry, "=");
	snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
		 entry);
	const char *names[COUNT + 1] = {NULL};
	for (size_t i = 0; i < COUNT; i++) {
		if (strcmp(table[i].name, name) == 0)
			return TSR_OK;
		names[i] = table[i].name;
	}
	const char *nearest = tsr_nearest_name(name, names);
	if (nearest != NULL)
		return tsr_error(TSR_ERR_CONFIG, "there is no setting %s: did you mean %s?", name,
				 nearest);
	return tsr_error(TSR_ERR_CONFIG,
			 "there is no setting %s: unset it; 'tessera info settings' lists them",
			 name);
}

tsr_status_t tsr_options_read(tsr_options_t *options_out)
{
	for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
		const tsr_status_t status =
			strncmp(*entry, "TESSERA_", 8) == 0 ? check_name(*entry) : TSR_OK;
		if (status != TSR_OK)
			return status;
	}
	tsr_options_t options = {.rank = -1, .size = -1, .node = -1, .local_rank = -1};
	for (size_t i = 0; i < COUNT; i++) {
		const char *text = getenv(table[i].name);
		if (text != NULL && *text == '\0')
			return tsr_error(TSR_ERR_CONFIG,
					 "%s is set, but empty: give it a value or unset it",
					 table[i].name);
		if (text == NULL)
			text = table[i].fallback;
		const tsr_status_t status =
			text != NULL ? table[i].read(table[i].name, text, &options) : TSR_OK;
		if (status != TSR_OK)
			return status;
	}
	*options_out = options;
	return TSR_OK;
}

bool tsr_setting_at(size_t index, tsr_setting_t *setting_out)
{
	if (index >= COUNT)
		return false;
	const option_t *option = &table[index];
	const char *value = getenv(option->name);
	const bool set = value != NULL;
	if (set && option->read == read_secret)
		value = "(set)";
	*setting_out = (tsr_setting_t){.name = option->name,
				       .meaning = option->meaning,
				       .value = set ? value : option->fallback,
				       .fallback = option->fallback,
				       .set = set};
	return true;
}

void tsr_options_print(FILE *out)
{
	tsr_setting_t setting;
	for (size_t i = 0; tsr_setting_at(i, &setting); i++)
		fprintf(out, "%-31s %-10s (default: %s)\n    %s\n", setting.name,
			setting.value != NULL ? setting.value : "not set",
			setting.fallback != NULL ? setting.fallback : "not set", setting.meaning);
}
