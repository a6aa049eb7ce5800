/*
 * Call sites of the host API. Every call that can wait, allocate, move data or
 * fail passes its file and line to the library, and reports name that place.
 * dev/site.h does the same for device code. tessera.h includes this header
 * last.
 */
#ifndef TESSERA_SITE_H
#define TESSERA_SITE_H

#include <stddef.h>

#include "tessera/collective.h"
#include "tessera/status.h"
#include "tessera/stream.h"
#include "tessera/unique_id.h"
#include "tessera/visibility.h"
#include "tessera/window.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Notes that the calling thread begins a call at `file`:`line`. The strings
 * live as long as the process. Any thread.
 */
TSR_API void tsr_site_begin(const char *call, const char *file, int line);

/**
 * Notes the text of the arguments of the call that has begun, of which the last
 * names what it makes. The string lives as long as the process. Any thread.
 */
TSR_API void tsr_site_made(const char *arguments);

/** Notes that this call has ended. Returns its `status`. */
TSR_API tsr_status_t tsr_site_end(tsr_status_t status);

#ifdef __cplusplus
}
#endif

/*
 * All arguments of a call are one macro argument here, so they may be compound
 * literals that contain commas. A macro does not expand within itself: each
 * name below still ends at the function of that name, and the function's
 * address can be taken as usual.
 */
#define TSR_SITED(call_, ...) \
	tsr_site_end((tsr_site_begin(#call_, __FILE__, __LINE__), call_(__VA_ARGS__)))

/* The same for a call that makes something, which reports name by its last argument. */
#define TSR_SITED_MAKING(call_, ...)                                                           \
	tsr_site_end((tsr_site_begin(#call_, __FILE__, __LINE__), tsr_site_made(#__VA_ARGS__), \
		      call_(__VA_ARGS__)))

#define tsr_init(...) TSR_SITED(tsr_init, __VA_ARGS__)
#define tsr_world_create_by_id(...) TSR_SITED(tsr_world_create_by_id, __VA_ARGS__)
#define tsr_finalize(...) TSR_SITED(tsr_finalize, __VA_ARGS__)
#define tsr_barrier(...) TSR_SITED(tsr_barrier, __VA_ARGS__)

#define tsr_team_split(...) TSR_SITED(tsr_team_split, __VA_ARGS__)
#define tsr_team_split_node(...) TSR_SITED(tsr_team_split_node, __VA_ARGS__)
#define tsr_team_create(...) TSR_SITED(tsr_team_create, __VA_ARGS__)
#define tsr_team_destroy(...) TSR_SITED(tsr_team_destroy, __VA_ARGS__)
#define tsr_team_barrier(...) TSR_SITED(tsr_team_barrier, __VA_ARGS__)
#define tsr_team_broadcast(...) TSR_SITED(tsr_team_broadcast, __VA_ARGS__)
#define tsr_team_gather_all(...) TSR_SITED(tsr_team_gather_all, __VA_ARGS__)

#define tsr_heap_alloc(...) TSR_SITED_MAKING(tsr_heap_alloc, __VA_ARGS__)
#define tsr_heap_free(...) TSR_SITED(tsr_heap_free, __VA_ARGS__)
#define tsr_memcpy_to_heap(...) TSR_SITED(tsr_memcpy_to_heap, __VA_ARGS__)
#define tsr_memcpy_from_heap(...) TSR_SITED(tsr_memcpy_from_heap, __VA_ARGS__)
#define tsr_memset_heap(...) TSR_SITED(tsr_memset_heap, __VA_ARGS__)

#define tsr_window_alloc(...) TSR_SITED_MAKING(tsr_window_alloc, __VA_ARGS__)
#define tsr_window_free(...) TSR_SITED(tsr_window_free, __VA_ARGS__)
#define tsr_window_register(...) TSR_SITED_MAKING(tsr_window_register, __VA_ARGS__)
#define tsr_window_release(...) TSR_SITED(tsr_window_release, __VA_ARGS__)

#define tsr_tensor_empty(...) TSR_SITED_MAKING(tsr_tensor_empty, __VA_ARGS__)
#define tsr_tensor_zeros(...) TSR_SITED_MAKING(tsr_tensor_zeros, __VA_ARGS__)
#define tsr_tensor_ones(...) TSR_SITED_MAKING(tsr_tensor_ones, __VA_ARGS__)
#define tsr_tensor_full(...) TSR_SITED_MAKING(tsr_tensor_full, __VA_ARGS__)
#define tsr_tensor_zeros_like(...) TSR_SITED_MAKING(tsr_tensor_zeros_like, __VA_ARGS__)
#define tsr_tensor_arange(...) TSR_SITED_MAKING(tsr_tensor_arange, __VA_ARGS__)
#define tsr_tensor_linspace(...) TSR_SITED_MAKING(tsr_tensor_linspace, __VA_ARGS__)
#define tsr_tensor_rand(...) TSR_SITED_MAKING(tsr_tensor_rand, __VA_ARGS__)
#define tsr_tensor_uniform(...) TSR_SITED_MAKING(tsr_tensor_uniform, __VA_ARGS__)
#define tsr_tensor_randn(...) TSR_SITED_MAKING(tsr_tensor_randn, __VA_ARGS__)
#define tsr_tensor_randint(...) TSR_SITED_MAKING(tsr_tensor_randint, __VA_ARGS__)
#define tsr_tensor_name(...) TSR_SITED(tsr_tensor_name, __VA_ARGS__)
#define tsr_tensor_free(...) TSR_SITED(tsr_tensor_free, __VA_ARGS__)
#define tsr_tensor_read(...) TSR_SITED(tsr_tensor_read, __VA_ARGS__)
#define tsr_tensor_write(...) TSR_SITED(tsr_tensor_write, __VA_ARGS__)

#define tsr_stream_create(...) TSR_SITED(tsr_stream_create, __VA_ARGS__)
#define tsr_stream_from_native(...) TSR_SITED(tsr_stream_from_native, __VA_ARGS__)
#define tsr_stream_destroy(...) TSR_SITED(tsr_stream_destroy, __VA_ARGS__)
#define tsr_stream_sync(...) TSR_SITED(tsr_stream_sync, __VA_ARGS__)
#define tsr_launch(stream_, kernel_, blocks_, ...)                                                \
	tsr_site_end((tsr_site_begin("tsr_launch", __FILE__, __LINE__),                           \
		      tsr_launch_sized((stream_),                                                 \
				       tsr_kernel_for((kernel_), TSR_POINTEE_BYTES(__VA_ARGS__)), \
				       (blocks_), __VA_ARGS__, TSR_POINTEE_BYTES(__VA_ARGS__))))
#define tsr_launch_group(...) TSR_SITED(tsr_launch_group, __VA_ARGS__)
#define tsr_stream_put_2d(...) TSR_SITED(tsr_stream_put_2d, __VA_ARGS__)
#define tsr_stream_wait_event(...) TSR_SITED(tsr_stream_wait_event, __VA_ARGS__)

#define tsr_stream_all_reduce(...) TSR_SITED(tsr_stream_all_reduce, __VA_ARGS__)
#define tsr_stream_reduce(...) TSR_SITED(tsr_stream_reduce, __VA_ARGS__)
#define tsr_stream_reduce_scatter(...) TSR_SITED(tsr_stream_reduce_scatter, __VA_ARGS__)
#define tsr_stream_all_gather(...) TSR_SITED(tsr_stream_all_gather, __VA_ARGS__)
#define tsr_stream_all_to_all(...) TSR_SITED(tsr_stream_all_to_all, __VA_ARGS__)
#define tsr_stream_broadcast(...) TSR_SITED(tsr_stream_broadcast, __VA_ARGS__)
#define tsr_stream_gather(...) TSR_SITED(tsr_stream_gather, __VA_ARGS__)
#define tsr_stream_scatter(...) TSR_SITED(tsr_stream_scatter, __VA_ARGS__)

#define tsr_event_create(...) TSR_SITED(tsr_event_create, __VA_ARGS__)
#define tsr_event_destroy(...) TSR_SITED(tsr_event_destroy, __VA_ARGS__)
#define tsr_event_record(...) TSR_SITED(tsr_event_record, __VA_ARGS__)
#define tsr_event_sync(...) TSR_SITED(tsr_event_sync, __VA_ARGS__)

#endif
