/*
 * The macros that the contracts describe, the same for all GPUs. What they name
 * is defined in the bodies.
 */
#ifndef TESSERA_GPU_DEV_MACROS_H
#define TESSERA_GPU_DEV_MACROS_H

/* ---- dev/kernel.h */

#define TSR_GPU_PASTE_(a_, b_) a_##b_
#define TSR_GPU_PASTE(a_, b_) TSR_GPU_PASTE_(a_, b_)
#if defined(TSR_VARIANT)
#define TSR_GPU_NAME(name_) TSR_GPU_PASTE(name_##__, TSR_VARIANT)
#else
#define TSR_GPU_NAME(name_) name_
#endif
#define TSR_GPU_ENTRY(name_) TSR_GPU_PASTE(tsr_entry_, TSR_GPU_NAME(name_))
#define TSR_GPU_BODY(name_) TSR_GPU_PASTE(tsr_body_, TSR_GPU_NAME(name_))

/* The descriptor is made by the host's compiler; host code in the same file may name it. */
#define TSR_KERNEL(name_, args_t_, a_) TSR_GPU_KERNEL(name_, TSR_PORT_BLOCK_THREADS(1), args_t_, a_)
#define TSR_KERNEL_WIDE(name_, args_t_, a_) \
	TSR_GPU_KERNEL(name_, TSR_PORT_WIDE_THREADS, args_t_, a_)

#define TSR_GPU_KERNEL(name_, threads_, args_t_, a_)                                    \
	TSR_KERNEL_DECLARE(TSR_GPU_NAME(name_));                                        \
	TSR_DEV void TSR_GPU_BODY(name_)(tsr_coop_t * block, const args_t_ *a_);        \
	TSR_PORT_ENTRY(threads_)                                                        \
	TSR_GPU_ENTRY(name_)                                                            \
	(TSR_PORT_BY_VALUE(tsr_gpu_context_t) context, TSR_PORT_BY_VALUE(args_t_) args) \
	{                                                                               \
		TSR_PORT_SHARED tsr_gpu_shared_t shared;                                \
		TSR_PORT_SHARED tsr_gpu_scratch_t scratch[1];                           \
		tsr_coop_t block = tsr_gpu_block(&context, &shared, scratch, 1);        \
		block.threads = (threads_);                                             \
		tsr_gpu_record_enter();                                                 \
		tsr_gpu_record_open(&block, 0);                                         \
		TSR_GPU_BODY(name_)(&block, &args);                                     \
		tsr_gpu_record_close(&block);                                           \
	}                                                                               \
	TSR_DEV void TSR_GPU_BODY(name_)(tsr_coop_t * block __attribute__((unused)),    \
					 const args_t_ *a_ __attribute__((unused)))

#define TSR_KERNEL_SHARED(name_, shared_t_, args_t_, a_)                                    \
	TSR_KERNEL_DECLARE(TSR_GPU_NAME(name_));                                            \
	TSR_DEV void TSR_GPU_BODY(name_)(tsr_coop_t * block, shared_t_ * shared,            \
					 const args_t_ *a_);                                \
	TSR_PORT_ENTRY(TSR_PORT_BLOCK_THREADS(1))                                           \
	TSR_GPU_ENTRY(name_)                                                                \
	(TSR_PORT_BY_VALUE(tsr_gpu_context_t) context, TSR_PORT_BY_VALUE(args_t_) args)     \
	{                                                                                   \
		TSR_PORT_SHARED tsr_gpu_shared_t words;                                     \
		TSR_PORT_SHARED tsr_gpu_scratch_t scratch[1];                               \
		tsr_coop_t block = tsr_gpu_block(&context, &words, scratch, 1);             \
		block.threads = TSR_PORT_BLOCK_THREADS(1);                                  \
		tsr_gpu_record_enter();                                                     \
		tsr_gpu_record_open(&block, 0);                                             \
		TSR_GPU_BODY(name_)(&block, (shared_t_ *)tsr_port_dynamic_shared(), &args); \
		tsr_gpu_record_close(&block);                                               \
	}                                                                                   \
	TSR_DEV void TSR_GPU_BODY(name_)(tsr_coop_t * block __attribute__((unused)),        \
					 shared_t_ * shared __attribute__((unused)),        \
					 const args_t_ *a_ __attribute__((unused)))

/*
 * The body is laid down twice, for worker 0 and for the others, so that in each
 * the coop's size is a constant.
 */
#define TSR_KERNEL_SPLIT(name_, workers_, shared_t_, args_t_, a_)                            \
	TSR_KERNEL_DECLARE(TSR_GPU_NAME(name_));                                             \
	static_assert((workers_) >= 1 && (workers_) <= TSR_GPU_MAX_WORKERS,                  \
		      #name_ ": a GPU's block has 1 to 4 workers");                          \
	TSR_DEV void TSR_GPU_BODY(name_)(tsr_coop_t * block, tsr_coop_t * worker,            \
					 shared_t_ * shared, const args_t_ *a_);             \
	TSR_PORT_ENTRY(TSR_PORT_BLOCK_THREADS(workers_))                                     \
	TSR_GPU_ENTRY(name_)                                                                 \
	(TSR_PORT_BY_VALUE(tsr_gpu_context_t) context, TSR_PORT_BY_VALUE(args_t_) args)      \
	{                                                                                    \
		TSR_PORT_SHARED tsr_gpu_shared_t words;                                      \
		TSR_PORT_SHARED tsr_gpu_scratch_t scratch[workers_];                         \
		tsr_coop_t block = tsr_gpu_block(&context, &words, scratch, (workers_));     \
		shared_t_ *shared = (shared_t_ *)tsr_port_dynamic_shared();                  \
		tsr_gpu_record_enter();                                                      \
		if ((workers_) == 1 || tsr_port_thread() < TSR_PORT_MAIN_THREADS) {          \
			tsr_coop_t worker =                                                  \
				tsr_gpu_worker_main(&context, &words, scratch, (workers_));  \
			tsr_gpu_record_open(&worker, worker.worker);                         \
			TSR_GPU_BODY(name_)(&block, &worker, shared, &args);                 \
			tsr_gpu_record_close(&worker);                                       \
		} else {                                                                     \
			tsr_coop_t worker =                                                  \
				tsr_gpu_worker_mover(&context, &words, scratch, (workers_)); \
			tsr_gpu_record_open(&worker, worker.worker);                         \
			TSR_GPU_BODY(name_)(&block, &worker, shared, &args);                 \
			tsr_gpu_record_close(&worker);                                       \
		}                                                                            \
	}                                                                                    \
	TSR_DEV void TSR_GPU_BODY(name_)(tsr_coop_t * block __attribute__((unused)),         \
					 tsr_coop_t * worker __attribute__((unused)),        \
					 shared_t_ * shared __attribute__((unused)),         \
					 const args_t_ *a_ __attribute__((unused)))

/* ---- dev/coop.h */

#define TSR_EACH(coop_, i_, count_) \
	for (int i_ = (coop_)->thread, i_##_end = (count_); i_ < i_##_end; i_ += (coop_)->threads)

/*
 * ---- dev/atomic.h: order and scope become template arguments, so that the
 * compilers' builtins see literals. In parentheses, because the commas between
 * template arguments would else divide the arguments of a macro around the
 * call.
 */

#define tsr_atomic_load(coop_, p_, peer_, order_, scope_) \
	(tsr_gpu_atomic_load<order_, scope_>(TSR_AT(coop_), (p_), (peer_)))
#define tsr_atomic_store(coop_, p_, v_, peer_, order_, scope_) \
	(tsr_gpu_atomic_store<order_, scope_>(TSR_AT(coop_), (p_), (v_), (peer_)))
#define TSR_GPU_RMW(op_, coop_, p_, v_, peer_, order_, scope_) \
	(tsr_gpu_atomic_rmw<order_, scope_, op_>(TSR_AT(coop_), (p_), (v_), (peer_)))
#define tsr_atomic_xchg(coop_, p_, v_, peer_, order_, scope_) \
	TSR_GPU_RMW(tsr_gpu_xchg, coop_, p_, v_, peer_, order_, scope_)
#define tsr_atomic_add(coop_, p_, v_, peer_, order_, scope_) \
	TSR_GPU_RMW(tsr_gpu_add, coop_, p_, v_, peer_, order_, scope_)
#define tsr_atomic_and(coop_, p_, v_, peer_, order_, scope_) \
	TSR_GPU_RMW(tsr_gpu_and, coop_, p_, v_, peer_, order_, scope_)
#define tsr_atomic_or(coop_, p_, v_, peer_, order_, scope_) \
	TSR_GPU_RMW(tsr_gpu_or, coop_, p_, v_, peer_, order_, scope_)
#define tsr_atomic_xor(coop_, p_, v_, peer_, order_, scope_) \
	TSR_GPU_RMW(tsr_gpu_xor, coop_, p_, v_, peer_, order_, scope_)
#define tsr_atomic_min(coop_, p_, v_, peer_, order_, scope_) \
	TSR_GPU_RMW(tsr_gpu_min, coop_, p_, v_, peer_, order_, scope_)
#define tsr_atomic_max(coop_, p_, v_, peer_, order_, scope_) \
	TSR_GPU_RMW(tsr_gpu_max, coop_, p_, v_, peer_, order_, scope_)
#define tsr_atomic_cas(coop_, p_, expected_, desired_, peer_, order_, failure_order_, scope_) \
	(tsr_gpu_atomic_cas<order_, failure_order_, scope_>(TSR_AT(coop_), (p_), (expected_), \
							    (desired_), (peer_)))
#define tsr_fence(coop_, order_, scope_) (tsr_gpu_fence<order_, scope_>(TSR_AT(coop_)))
#define tsr_signal_local(coop_, flag_, value_, scope_) \
	(tsr_gpu_signal_local<scope_>(TSR_AT(coop_), (flag_), (value_)))
#define tsr_wait_local(coop_, flag_, value_, scope_) \
	(tsr_gpu_wait_local<scope_>(TSR_AT(coop_), (flag_), (value_)))

/* ---- dev/word.h */

#define tsr_wait_word(coop_, p_, cmp_, value_, peer_, order_, scope_, from_, seen_out_)    \
	(tsr_gpu_wait_word<order_, scope_>(TSR_AT(coop_), (p_), (cmp_), (value_), (peer_), \
					   (from_), (seen_out_)))
#define tsr_wait_word_until(coop_, p_, cmp_, value_, peer_, order_, scope_, from_, deadline_ns_, \
			    seen_out_)                                                           \
	(tsr_gpu_wait_word_until<order_, scope_>(TSR_AT(coop_), (p_), (cmp_), (value_), (peer_), \
						 (from_), (deadline_ns_), (seen_out_)))

/* ---- dev/pointer.h */

#define tsr_put_value(coop_, p_, v_, peer_) (tsr_gpu_put_value(TSR_AT(coop_), (p_), (v_), (peer_)))
#define tsr_get_value(coop_, p_, peer_) (tsr_gpu_get_value(TSR_AT(coop_), (p_), (peer_)))
#define tsr_put_record(coop_, p_, record_, peer_) \
	(tsr_gpu_put_record(TSR_AT(coop_), (p_), (record_), (peer_)))
#define tsr_get_record(coop_, record_, p_, peer_) \
	(tsr_gpu_get_record(TSR_AT(coop_), (record_), (p_), (peer_)))

/* ---- dev/tile.h */

#define TSR_TILE(cfg_, dtype_, M_, N_, K_) \
	TSR_TILE_MAJOR(cfg_, dtype_, M_, N_, K_, TSR_ROW_MAJOR, TSR_ROW_MAJOR)
/* A_ALONG, B_ALONG: K runs along the rows of the operand's view, not across them. */
#define TSR_TILE_MAJOR(cfg_, dtype_, M_, N_, K_, a_major_, b_major_) \
	TSR_GPU_TILE(cfg_, dtype_, M_, N_, K_, a_major_, b_major_, 0)
/* ATTENDS: the keys that a tile of attention meets in a step; 0: a tile of products. */
#define TSR_GPU_TILE(cfg_, dtype_, M_, N_, K_, a_major_, b_major_, keys_)       \
	struct cfg_##_tile_t {                                                  \
		enum { M = (M_), N = (N_), K = (K_), ATTENDS = (keys_) };       \
		enum { A_ALONG = (a_major_) == TSR_ROW_MAJOR };                 \
		enum { B_ALONG = (b_major_) == TSR_COL_MAJOR };                 \
		typedef tsr_gpu_##dtype_ dtype_t;                               \
	};                                                                      \
	typedef tsr_gpu_frag<cfg_##_tile_t, TSR_GPU_ACCUMULATOR> cfg_##_frag_t; \
	typedef tsr_gpu_frag<cfg_##_tile_t, TSR_GPU_OPERAND_A> cfg_##_a_t;      \
	typedef tsr_gpu_frag<cfg_##_tile_t, TSR_GPU_OPERAND_B> cfg_##_b_t;      \
	typedef tsr_gpu_frag<cfg_##_tile_t, TSR_GPU_OPERAND_BT> cfg_##_bt_t;    \
	typedef tsr_gpu_frag<cfg_##_tile_t, TSR_GPU_ROWS> cfg_##_rows_t
#define TSR_TILE_M(cfg_) ((int)cfg_##_tile_t::M)
#define TSR_TILE_N(cfg_) ((int)cfg_##_tile_t::N)
#define TSR_TILE_K(cfg_) ((int)cfg_##_tile_t::K)
#define TSR_TILE_DTYPE(cfg_) ((tsr_dtype_t)cfg_##_tile_t::dtype_t::code)
#define TSR_FRAG_BYTES(cfg_) (sizeof(cfg_##_frag_t::value_t) * cfg_##_frag_t::elements)
#define TSR_FRAG_SENT_BYTES(cfg_, as_)                                                   \
	(((size_t)cfg_##_frag_t::elements * ((as_) == TSR_F32 ? 4 : 2) + 15) / 16 * 16 + \
	 TSR_GPU_SENT_HEADER_BYTES)
#define TSR_SHARED_TILES(cfg_, name_, count_) \
	__attribute__((aligned(128)))         \
	cfg_##_tile_t::dtype_t::stored_t name_[count_][cfg_##_tile_t::M * cfg_##_tile_t::N]

#define TSR_GPU_FRAG(type_, name_, coop_) \
	type_ name_##_storage;            \
	type_ *const name_ = ((void)(coop_), &name_##_storage)
#define TSR_FRAG(cfg_, name_, coop_) TSR_GPU_FRAG(cfg_##_frag_t, name_, coop_)
#define TSR_FRAG_A(cfg_, name_, coop_) TSR_GPU_FRAG(cfg_##_a_t, name_, coop_)
#define TSR_FRAG_B(cfg_, name_, coop_) TSR_GPU_FRAG(cfg_##_b_t, name_, coop_)
#define TSR_FRAG_BT(cfg_, name_, coop_) TSR_GPU_FRAG(cfg_##_bt_t, name_, coop_)
#define TSR_FRAG_ROWS(cfg_, name_, coop_) TSR_GPU_FRAG(cfg_##_rows_t, name_, coop_)

/* ---- dev/gemm.h: order, gate and epilogue become template arguments, so that they are inlined */

#define tsr_gemm(cfg_, coop_, a_, b_, tasks_, order_, gate_, epilogue_, ctx_)             \
	tsr_port_gemm<cfg_##_frag_t, order_, gate_, epilogue_>(TSR_AT(coop_), (a_), (b_), \
							       (tasks_), (ctx_))

/* ---- dev/attend.h: as a configuration of tiles of M x D; K is that of the main loop's tiles */

#define TSR_ATTEND_TILE(cfg_, dtype_, M_, N_, D_)                                 \
	TSR_GPU_TILE(cfg_, dtype_, M_, D_, 64, TSR_ROW_MAJOR, TSR_ROW_MAJOR, N_); \
	typedef tsr_gpu_state<cfg_##_tile_t, (N_)> cfg_##_state_t
#define TSR_ATTEND_KEYS(cfg_) ((int)cfg_##_state_t::keys)
#define TSR_STATE_BYTES(cfg_) ((size_t)cfg_##_state_t::bytes)
#define TSR_STATE(cfg_, name_, coop_) TSR_GPU_FRAG(cfg_##_state_t, name_, coop_)
#define TSR_NO_START nullptr
#define tsr_attend(cfg_, coop_, q_, k_, v_, scale_, tasks_, span_, gate_, start_, epilogue_, ctx_) \
	tsr_port_attend<cfg_##_state_t, span_, gate_, start_, epilogue_>(TSR_AT(coop_), (q_),      \
									 (k_), (v_), (scale_),     \
									 (tasks_), (ctx_))

#endif
