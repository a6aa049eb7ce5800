/* The state of a thread in a kernel: how it is laid down, kept, compared and put back. */
#include "cpuemu/dev/passes/frames.h"

#if defined(__has_feature)
#define HAS_FEATURE(name_) __has_feature(name_)
#else
#define HAS_FEATURE(name_) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
	HAS_FEATURE(address_sanitizer) || HAS_FEATURE(thread_sanitizer)
#define IS_WATCHED 1
#else
#define IS_WATCHED 0
#endif
#if defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif
#endif

/* ------------------------------------------------------------------ entries */

int tsr_cpu_each_began(tsr_coop_t *coop, tsr_cpu_call_t *call);
int tsr_cpu_each_ended(tsr_coop_t *coop, tsr_cpu_call_t *call);

#if TSR_CPU_FRAMES && defined(__x86_64__)
/*
 * Registers that a call need not keep are cleared, so that what a compiler
 * spills of them without need is the same each time.
 */
#define ENTRY(name_, body_)                                       \
	__asm__(".text\n"                                         \
		".p2align 4\n"                                    \
		".globl " #name_ "\n"                             \
		".type " #name_ ", @function\n" #name_ ":\n"      \
		"	.cfi_startproc\n"                               \
		"	leaq 8(%rsp), %rax\n"                           \
		"	movq (%rsp), %rdx\n"                            \
		"	subq $72, %rsp\n"                               \
		"	.cfi_adjust_cfa_offset 72\n"                    \
		"	movq %rbx, (%rsp)\n"                            \
		"	movq %rbp, 8(%rsp)\n"                           \
		"	movq %r12, 16(%rsp)\n"                          \
		"	movq %r13, 24(%rsp)\n"                          \
		"	movq %r14, 32(%rsp)\n"                          \
		"	movq %r15, 40(%rsp)\n"                          \
		"	movq %rax, 48(%rsp)\n"                          \
		"	movq %rdx, 56(%rsp)\n"                          \
		"	movq %rsp, %rsi\n"                              \
		"	call " #body_ "\n"                        \
		"	movq (%rsp), %rbx\n"                            \
		"	movq 8(%rsp), %rbp\n"                           \
		"	movq 16(%rsp), %r12\n"                          \
		"	movq 24(%rsp), %r13\n"                          \
		"	movq 32(%rsp), %r14\n"                          \
		"	movq 40(%rsp), %r15\n"                          \
		"	movq 48(%rsp), %rcx\n"                          \
		"	movq 56(%rsp), %rdx\n"                          \
		"	movq %rdx, -8(%rcx)\n"                          \
		"	leaq -8(%rcx), %rsp\n"                          \
		"	.cfi_def_cfa_offset 8\n"                        \
		"	xorl %ecx, %ecx\n"                              \
		"	xorl %edx, %edx\n"                              \
		"	xorl %esi, %esi\n"                              \
		"	xorl %edi, %edi\n"                              \
		"	xorl %r8d, %r8d\n"                              \
		"	xorl %r9d, %r9d\n"                              \
		"	xorl %r10d, %r10d\n"                            \
		"	xorl %r11d, %r11d\n"                            \
		"	.irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n" \
		"	pxor %xmm\\i, %xmm\\i\n"                        \
		"	.endr\n"                                        \
		"	ret\n"                                          \
		"	.cfi_endproc\n"                                 \
		".size " #name_ ", .-" #name_ "\n")
#elif TSR_CPU_FRAMES
#define ENTRY(name_, body_)                                  \
	__asm__(".text\n"                                    \
		".p2align 4\n"                               \
		".globl " #name_ "\n"                        \
		".type " #name_ ", %function\n" #name_ ":\n" \
		"	.cfi_startproc\n"                          \
		"	mov x9, sp\n"                              \
		"	sub sp, sp, #176\n"                        \
		"	.cfi_adjust_cfa_offset 176\n"              \
		"	.cfi_offset 30, -8\n"                      \
		"	stp x19, x20, [sp]\n"                      \
		"	stp x21, x22, [sp, #16]\n"                 \
		"	stp x23, x24, [sp, #32]\n"                 \
		"	stp x25, x26, [sp, #48]\n"                 \
		"	stp x27, x28, [sp, #64]\n"                 \
		"	stp x29, xzr, [sp, #80]\n"                 \
		"	stp d8, d9, [sp, #96]\n"                   \
		"	stp d10, d11, [sp, #112]\n"                \
		"	stp d12, d13, [sp, #128]\n"                \
		"	stp d14, d15, [sp, #144]\n"                \
		"	stp x9, x30, [sp, #160]\n"                 \
		"	mov x1, sp\n"                              \
		"	bl " #body_ "\n"                     \
		"	ldp x19, x20, [sp]\n"                      \
		"	ldp x21, x22, [sp, #16]\n"                 \
		"	ldp x23, x24, [sp, #32]\n"                 \
		"	ldp x25, x26, [sp, #48]\n"                 \
		"	ldp x27, x28, [sp, #64]\n"                 \
		"	ldr x29, [sp, #80]\n"                      \
		"	ldp d8, d9, [sp, #96]\n"                   \
		"	ldp d10, d11, [sp, #112]\n"                \
		"	ldp d12, d13, [sp, #128]\n"                \
		"	ldp d14, d15, [sp, #144]\n"                \
		"	ldp x9, x30, [sp, #160]\n"                 \
		"	mov sp, x9\n"                              \
		"	.cfi_def_cfa_offset 0\n"                   \
		"	.cfi_restore 30\n"                         \
		"	ret\n"                                     \
		"	.cfi_endproc\n"                            \
		".size " #name_ ", .-" #name_ "\n")
#endif

#if TSR_CPU_FRAMES
ENTRY(tsr_cpu_each_begin, tsr_cpu_each_began);
ENTRY(tsr_cpu_each_end, tsr_cpu_each_ended);
#else
int tsr_cpu_each_begin(tsr_coop_t *coop)
{
	return tsr_cpu_each_began(coop, NULL);
}

int tsr_cpu_each_end(tsr_coop_t *coop)
{
	return tsr_cpu_each_ended(coop, NULL);
}
#endif

/* ------------------------------------------------------------------ states */

size_t tsr_cpu_frames_bytes(const tsr_coop_t *coop, const tsr_cpu_call_t *call)
{
	return (size_t)(coop->worker->stack - call->sp);
}

/** AddressSanitizer has closed parts of the stack, and ThreadSanitizer watches none of it. */
#if IS_WATCHED
__attribute__((no_sanitize("address", "thread"))) static void copy(unsigned char *to,
								   const unsigned char *from,
								   size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
		((volatile uint64_t *)(void *)to)[i] =
			((const volatile uint64_t *)(const void *)from)[i];
}
#else
static void copy(unsigned char *to, const unsigned char *from, size_t bytes)
{
	memcpy(to, from, bytes);
}
#endif

void tsr_cpu_frames_keep(tsr_cpu_frames_t *frames, const tsr_cpu_call_t *call)
{
	frames->call = *call;
	copy(frames->stack, call->sp, frames->bytes);
#if defined(VALGRIND_MAKE_MEM_DEFINED)
	/* what is compared may be what nobody has written: it is the same each time */
	(void)VALGRIND_MAKE_MEM_DEFINED(frames->stack, frames->bytes);
	(void)VALGRIND_MAKE_MEM_DEFINED(&frames->call, sizeof frames->call);
#endif
}

void tsr_cpu_frames_resume(const tsr_cpu_frames_t *frames, tsr_cpu_call_t *call)
{
	copy(frames->call.sp, frames->stack, frames->bytes);
	*call = frames->call;
}

bool tsr_cpu_frames_equal(const tsr_cpu_frames_t *a, const tsr_cpu_frames_t *b)
{
	return memcmp(a->call.kept, b->call.kept, sizeof a->call.kept) == 0 &&
	       memcmp(a->stack, b->stack, a->bytes) == 0;
}

static bool carries(const unsigned char *none, const unsigned char *first,
		    const unsigned char *second, const unsigned char *both, size_t bytes)
{
	if (memcmp(second, both, bytes) == 0)
		return false;
	for (size_t i = 0; i < bytes; i++)
		if (both[i] != second[i] && (second[i] != none[i] || both[i] != first[i]))
			return true;
	return false;
}

bool tsr_cpu_frames_carry(const tsr_cpu_frames_t *none, const tsr_cpu_frames_t *first,
			  const tsr_cpu_frames_t *second, const tsr_cpu_frames_t *both)
{
	return carries((const unsigned char *)none->call.kept,
		       (const unsigned char *)first->call.kept,
		       (const unsigned char *)second->call.kept,
		       (const unsigned char *)both->call.kept, sizeof both->call.kept) ||
	       carries(none->stack, first->stack, second->stack, both->stack, both->bytes);
}
