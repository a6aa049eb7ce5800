/*
 * Timelines: events of the protocol as trace events of Perfetto and
 * chrome://tracing. A process is a rank, a thread a worker.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/program.h"
#include "tools/check/check.h"
#include "tools/document.h"

struct check_trace {
	FILE *file;
	char *path;
	json_t *tracks;  /* the number of each track, by its name */
	uint64_t events; /* of the protocol */
	bool begun;      /* something was written: a comma comes before what is next */
};

tsr_status_t check_trace_open(const char *path, check_trace_t **trace_out)
{
	check_trace_t *trace = calloc(1, sizeof *trace);
	if (trace != NULL) {
		trace->path = strdup(path);
		trace->tracks = json_object();
	}
	if (trace == NULL || trace->path == NULL || trace->tracks == NULL) {
		(void)check_trace_close(trace, NULL);
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for a timeline; free some");
	}
	trace->file = fopen(path, "we");
	if (trace->file == NULL) {
		const int cause = errno;
		(void)check_trace_close(trace, NULL);
		return tsr_error(TSR_ERR_SYSTEM, "--trace: '%s' cannot be written: %s", path,
				 strerror(cause));
	}
	json_t *nothing = json_object(),
	       *document = json_document("tessera-check-trace/1", nothing);
	fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":", trace->file);
	(void)json_dumpf(document, trace->file, JSON_COMPACT);
	fputs(",\"traceEvents\":[", trace->file);
	json_decref(document);
	json_decref(nothing);
	*trace_out = trace;
	return TSR_OK;
}

/** Writes an event, and gives it back. */
static void write_event(check_trace_t *trace, json_t *event)
{
	if (event == NULL)
		return;
	fputs(trace->begun ? ",\n" : "\n", trace->file);
	trace->begun = true;
	(void)json_dumpf(event, trace->file, JSON_COMPACT);
	json_decref(event);
}

static void write_name(check_trace_t *trace, const char *what, json_int_t rank, json_int_t track,
		       const char *name)
{
	write_event(trace, json_pack("{s:s, s:s, s:I, s:I, s:{s:s}}", "ph", "M", "name", what,
				     "pid", rank, "tid", track, "args", "name", name));
}

static json_int_t int_of(const json_t *object, const char *name)
{
	const json_t *member = json_object_get(object, name);
	return json_is_integer(member) ? json_integer_value(member) : -1;
}

/**
 * The number of the track that an event belongs to, which is named when it is
 * first seen. Numbers count the tracks of all ranks.
 */
static json_int_t track_of(check_trace_t *trace, const json_t *event, json_int_t rank)
{
	const char *kernel = json_string_value(json_object_get(event, "kernel"));
	char name[256], key[320], process[32];
	if (kernel == NULL)
		(void)snprintf(name, sizeof name, "host");
	else
		(void)snprintf(name, sizeof name,
			       "launch %" JSON_INTEGER_FORMAT " %s, block %" JSON_INTEGER_FORMAT
			       ", worker %" JSON_INTEGER_FORMAT,
			       int_of(event, "launch"), kernel, int_of(event, "block"),
			       int_of(event, "worker"));
	(void)snprintf(key, sizeof key, "%" JSON_INTEGER_FORMAT "/%s", rank, name);
	const json_t *known = json_object_get(trace->tracks, key);
	if (known != NULL)
		return json_integer_value(known);
	const json_int_t track = (json_int_t)json_object_size(trace->tracks);
	(void)json_object_set_new(trace->tracks, key, json_integer(track));
	(void)snprintf(process, sizeof process, "rank %" JSON_INTEGER_FORMAT, rank);
	write_name(trace, "process_name", rank, track, process);
	write_name(trace, "thread_name", rank, track, name);
	return track;
}

/** An end of an arrow from a signal to a wait. It is bound to the slice around it. */
static void write_flow(check_trace_t *trace, const char *phase, json_int_t flow, json_int_t rank,
		       json_int_t track, json_int_t at)
{
	write_event(trace, json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "ph", phase, "bp",
				     "e", "name", "signal", "cat", "signal", "id", flow, "pid",
				     rank, "tid", track, "ts", at));
}

void check_trace_line(check_trace_t *trace, const json_t *object)
{
	const char *type = json_string_value(json_object_get(object, "type"));
	if (type == NULL || strcmp(type, "event") != 0)
		return;
	const json_int_t rank = int_of(object, "rank"), begin = int_of(object, "begin"),
			 end = int_of(object, "end");
	const json_int_t flow_out = int_of(object, "flow_out"), flow_in = int_of(object, "flow_in");
	const json_int_t track = track_of(trace, object, rank);
	const char *name = json_string_value(json_object_get(object, "name"));
	const char *kind = json_string_value(json_object_get(object, "kind"));
	json_t *args = json_object();
	static const char *const kept[] = {"file", "line", "detail"};
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		if (json_object_get(object, kept[i]) != NULL)
			(void)json_object_set(args, kept[i], json_object_get(object, kept[i]));
	trace->events++;
	/* Steps are shown as microseconds. What takes none is still to be seen. */
	write_event(trace, json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:o}", "ph", "X", "name",
				     name != NULL ? name : "?", "cat", kind != NULL ? kind : "call",
				     "pid", rank, "tid", track, "ts", begin, "dur",
				     end > begin ? end - begin : 1, "args", args));
	if (flow_out > 0)
		write_flow(trace, "s", flow_out, rank, track, begin);
	if (flow_in > 0)
		write_flow(trace, "f", flow_in, rank, track, end > begin ? end : begin);
}

tsr_status_t check_trace_close(check_trace_t *trace, uint64_t *events_out)
{
	tsr_status_t status = TSR_OK;
	if (trace == NULL)
		return TSR_OK;
	if (events_out != NULL)
		*events_out = trace->events;
	if (trace->file != NULL) {
		fputs("\n]}\n", trace->file);
		const bool failed = ferror(trace->file) != 0;
		if ((fclose(trace->file) != 0) | failed)
			status = tsr_error(TSR_ERR_SYSTEM, "--trace: '%s' cannot be written: %s",
					   trace->path, strerror(errno));
	}
	json_decref(trace->tracks);
	free(trace->path);
	free(trace);
	return status;
}
