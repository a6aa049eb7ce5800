/*
 * Jumps between stacks: what is saved on the one that is left, and a stack that
 * nobody has been on.
 */
#include "src/explore/process/fibre_jump.h"

#if TSR_JUMP_DIRECT

/*
 * tsr_jump_direct(rdi: where to note the stack that is left, rsi: the stack to
 * go on with). The registers that the System V ABI has a function keep, with
 * mxcsr and the control word of x87, lie on each stack that is left.
 *
 * tsr_jump_first is where a new fibre begins: it calls r12 with r13.
 */
__asm__(".text\n"
	".p2align 4\n"
	".globl tsr_jump_direct\n"
	".hidden tsr_jump_direct\n"
	".type tsr_jump_direct, @function\n"
	"tsr_jump_direct:\n"
	"	.cfi_startproc\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	subq $8, %rsp\n"
	"	.cfi_def_cfa_offset 64\n"
	"	stmxcsr (%rsp)\n"
	"	fnstcw 4(%rsp)\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	ldmxcsr (%rsp)\n"
	"	fldcw 4(%rsp)\n"
	"	addq $8, %rsp\n"
	"	.cfi_def_cfa_offset 56\n"
	"	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size tsr_jump_direct, .-tsr_jump_direct\n"
	".p2align 4\n"
	".type tsr_jump_first, @function\n"
	"tsr_jump_first:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined rip\n"
	"	movq %r13, %rdi\n"
	"	callq *%r12\n"
	"	ud2\n"
	"	.cfi_endproc\n"
	".size tsr_jump_first, .-tsr_jump_first\n"
	".globl tsr_jump_first\n"
	".hidden tsr_jump_first\n");

void tsr_jump_first(void);

/** What tsr_jump_direct finds on a stack, from the lowest address on. */
typedef struct tsr_jump_frame {
	uint32_t mxcsr, x87;
	uint64_t r15, r14, r13, r12, rbx, rbp, rip;
	uint64_t pad; /* rsp is a multiple of 16 once rip has been taken off */
} tsr_jump_frame_t;

void tsr_jump_prepare(tsr_jump_t *jump, unsigned char *bottom, size_t bytes, tsr_jump_fn entry,
		      void *argument)
{
	const uintptr_t top = ((uintptr_t)bottom + bytes) / 16 * 16;
	tsr_jump_frame_t *frame = (tsr_jump_frame_t *)(top - 8 - sizeof *frame);
	uint32_t mxcsr;
	uint16_t x87;

	/* as whoever makes the fibre has them */
	__asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(x87));
	*frame = (tsr_jump_frame_t){.mxcsr = mxcsr,
				    .x87 = x87,
				    .r12 = (uint64_t)(uintptr_t)entry,
				    .r13 = (uint64_t)(uintptr_t)argument,
				    .rip = (uint64_t)(uintptr_t)tsr_jump_first};
	jump->stack = frame;
}

#else

/** makecontext hands on ints only: pointers in two halves. */
static void first(unsigned entry_high, unsigned entry_low, unsigned high, unsigned low)
{
	const tsr_jump_fn entry = (tsr_jump_fn)((uintptr_t)entry_high << 16 << 16 | entry_low);
	entry((void *)((uintptr_t)high << 16 << 16 | low));
}

void tsr_jump_prepare(tsr_jump_t *jump, unsigned char *bottom, size_t bytes, tsr_jump_fn entry,
		      void *argument)
{
	const uintptr_t function = (uintptr_t)entry, address = (uintptr_t)argument;

	getcontext(&jump->context);
	jump->context.uc_link = NULL;
	jump->context.uc_stack.ss_sp = bottom;
	jump->context.uc_stack.ss_size = bytes;
	makecontext(&jump->context, (void (*)(void))first, 4, (unsigned)(function >> 16 >> 16),
		    (unsigned)function, (unsigned)(address >> 16 >> 16), (unsigned)address);
	/* whose swapcontext forgets what it knows of a stack of known size, at each switch */
	if (TSR_WATCH_ADDRESSES)
		jump->context.uc_stack.ss_size = 0;
}

#endif
