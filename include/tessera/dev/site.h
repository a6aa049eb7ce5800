/*
 * Call sites of the device API. Every call that can wait, move data or fail
 * passes its file and line to the port, and reports name that place.
 */
#ifndef TESSERA_DEV_SITE_H
#define TESSERA_DEV_SITE_H

/*
 * The port defines TSR_AT(coop): it notes file and line in the coop, or does
 * nothing. A macro does not expand within itself, so each name below still ends
 * at the function of that name.
 */
#define tsr_sync(coop_) tsr_sync(TSR_AT(coop_))
#define tsr_split(coop_) tsr_split(TSR_AT(coop_))
#define tsr_coop_scan(coop_, ...) tsr_coop_scan(TSR_AT(coop_), __VA_ARGS__)
#define tsr_shared_clear(coop_, ...) tsr_shared_clear(TSR_AT(coop_), __VA_ARGS__)
#define tsr_put(coop_, ...) tsr_put(TSR_AT(coop_), __VA_ARGS__)
#define tsr_put_all(coop_, ...) tsr_put_all(TSR_AT(coop_), __VA_ARGS__)
#define tsr_get(coop_, ...) tsr_get(TSR_AT(coop_), __VA_ARGS__)
#define tsr_copy(coop_, ...) tsr_copy(TSR_AT(coop_), __VA_ARGS__)
#define tsr_put_2d(coop_, ...) tsr_put_2d(TSR_AT(coop_), __VA_ARGS__)
#define tsr_put_all_2d(coop_, ...) tsr_put_all_2d(TSR_AT(coop_), __VA_ARGS__)
#define tsr_get_2d(coop_, ...) tsr_get_2d(TSR_AT(coop_), __VA_ARGS__)
#define tsr_copy_2d(coop_, ...) tsr_copy_2d(TSR_AT(coop_), __VA_ARGS__)
#define tsr_flush(coop_, ...) tsr_flush(TSR_AT(coop_), __VA_ARGS__)
#define tsr_declare_writes(coop_, ...) tsr_declare_writes(TSR_AT(coop_), __VA_ARGS__)
#define tsr_load(coop_, ...) tsr_load(TSR_AT(coop_), __VA_ARGS__)
#define tsr_store(coop_, ...) tsr_store(TSR_AT(coop_), __VA_ARGS__)
#define tsr_store_all(coop_, ...) tsr_store_all(TSR_AT(coop_), __VA_ARGS__)
#define tsr_store_add(coop_, ...) tsr_store_add(TSR_AT(coop_), __VA_ARGS__)
#define tsr_reduce(coop_, ...) tsr_reduce(TSR_AT(coop_), __VA_ARGS__)
#define tsr_all_reduce(coop_, ...) tsr_all_reduce(TSR_AT(coop_), __VA_ARGS__)
#define tsr_load_masked(coop_, ...) tsr_load_masked(TSR_AT(coop_), __VA_ARGS__)
#define tsr_store_masked(coop_, ...) tsr_store_masked(TSR_AT(coop_), __VA_ARGS__)
#define tsr_rows_load(coop_, ...) tsr_rows_load(TSR_AT(coop_), __VA_ARGS__)
#define tsr_rows_store(coop_, ...) tsr_rows_store(TSR_AT(coop_), __VA_ARGS__)
#define tsr_rows_map(coop_, ...) tsr_rows_map(TSR_AT(coop_), __VA_ARGS__)
#define tsr_rows_zip(coop_, ...) tsr_rows_zip(TSR_AT(coop_), __VA_ARGS__)
#define tsr_rows_fill(coop_, ...) tsr_rows_fill(TSR_AT(coop_), __VA_ARGS__)
#define tsr_frag_zip(coop_, ...) tsr_frag_zip(TSR_AT(coop_), __VA_ARGS__)
#define tsr_tile_load(coop_, ...) tsr_tile_load(TSR_AT(coop_), __VA_ARGS__)
#define tsr_tile_store(coop_, ...) tsr_tile_store(TSR_AT(coop_), __VA_ARGS__)
#define tsr_load_hint(coop_, ...) tsr_load_hint(TSR_AT(coop_), __VA_ARGS__)
#define tsr_store_hint(coop_, ...) tsr_store_hint(TSR_AT(coop_), __VA_ARGS__)
#define tsr_put_hint(coop_, ...) tsr_put_hint(TSR_AT(coop_), __VA_ARGS__)
#define tsr_put_2d_hint(coop_, ...) tsr_put_2d_hint(TSR_AT(coop_), __VA_ARGS__)
#define tsr_frag_save(coop_, ...) tsr_frag_save(TSR_AT(coop_), __VA_ARGS__)
#define tsr_frag_add(coop_, ...) tsr_frag_add(TSR_AT(coop_), __VA_ARGS__)
#define tsr_frag_send(coop_, ...) tsr_frag_send(TSR_AT(coop_), __VA_ARGS__)
#define tsr_frag_add_sent(coop_, ...) tsr_frag_add_sent(TSR_AT(coop_), __VA_ARGS__)
#define tsr_tile_dot(coop_, ...) tsr_tile_dot(TSR_AT(coop_), __VA_ARGS__)
#define tsr_tile_dot_bt(coop_, ...) tsr_tile_dot_bt(TSR_AT(coop_), __VA_ARGS__)
#define tsr_signal(coop_, ...) tsr_signal(TSR_AT(coop_), __VA_ARGS__)
#define tsr_signal_all(coop_, ...) tsr_signal_all(TSR_AT(coop_), __VA_ARGS__)
#define tsr_put_signal(coop_, ...) tsr_put_signal(TSR_AT(coop_), __VA_ARGS__)
#define tsr_put_signal_2d(coop_, ...) tsr_put_signal_2d(TSR_AT(coop_), __VA_ARGS__)
#define tsr_wait(coop_, ...) tsr_wait(TSR_AT(coop_), __VA_ARGS__)
#define tsr_wait_until(coop_, ...) tsr_wait_until(TSR_AT(coop_), __VA_ARGS__)
#define tsr_wait_any(coop_, ...) tsr_wait_any(TSR_AT(coop_), __VA_ARGS__)
#define tsr_wait_any_until(coop_, ...) tsr_wait_any_until(TSR_AT(coop_), __VA_ARGS__)
#define tsr_put_marked(coop_, ...) tsr_put_marked(TSR_AT(coop_), __VA_ARGS__)
#define tsr_put_all_marked(coop_, ...) tsr_put_all_marked(TSR_AT(coop_), __VA_ARGS__)
#define tsr_take_marked(coop_, ...) tsr_take_marked(TSR_AT(coop_), __VA_ARGS__)
#define tsr_take_marked_until(coop_, ...) tsr_take_marked_until(TSR_AT(coop_), __VA_ARGS__)
#define tsr_barrier_ranks(coop_, ...) tsr_barrier_ranks(TSR_AT(coop_), __VA_ARGS__)
#define tsr_lock(coop_, ...) tsr_lock(TSR_AT(coop_), __VA_ARGS__)
#define tsr_lock_until(coop_, ...) tsr_lock_until(TSR_AT(coop_), __VA_ARGS__)
#define tsr_unlock(coop_, ...) tsr_unlock(TSR_AT(coop_), __VA_ARGS__)
#define tsr_all_gather(coop_, ...) tsr_all_gather(TSR_AT(coop_), __VA_ARGS__)
#define tsr_gemm_mainloop(coop_, ...) tsr_gemm_mainloop(TSR_AT(coop_), __VA_ARGS__)

#endif
