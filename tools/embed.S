/*
 * A device image as an object of the executable: a tsr_image_t with its bytes, and a pointer to it among the `tsr_images` that
 * the registry walks (include/tessera/kernel.h). For x86-64 and AArch64, any C compiler that takes assembly:
 *
 *     cc -c -DTSR_IMAGE_FILE='"build/hello.cubin"'  path of the image, from the compiler's folder or absolute
 *           -DTSR_IMAGE_UNIT='"examples/hello"'     equals -DTSR_UNIT of the unit's host object
 *           -DTSR_IMAGE_BACKEND='"cuda"'            cuda, hip
 *           -DTSR_IMAGE_ARCH='"sm_90a"'             sm_90a, gfx942, gfx90a
 *           tools/embed.S -o hello.cuda.o
 *
 * Everything is local to the object, so that objects for many images link into one executable. They are linked as they are, not
 * from an archive: nothing refers to them by name. The object depends on the image: whoever builds it must say so.
 *
 * With -DTSR_IMAGE_SYMBOL=name the descriptor has a name within the executable instead of a place among the images: for code of
 * the library's own, which comes from an archive and which no kernel's descriptor asks for.
 */
#if !defined(TSR_IMAGE_FILE) || !defined(TSR_IMAGE_UNIT) || !defined(TSR_IMAGE_BACKEND) || !defined(TSR_IMAGE_ARCH)
#error "embed.S wants -DTSR_IMAGE_FILE, -DTSR_IMAGE_UNIT, -DTSR_IMAGE_BACKEND and -DTSR_IMAGE_ARCH, each a string"
#endif

	.section .rodata, "a", %progbits
.Lunit:
	.asciz TSR_IMAGE_UNIT
.Lbackend:
	.asciz TSR_IMAGE_BACKEND
.Larch:
	.asciz TSR_IMAGE_ARCH
	.balign 64 /* the drivers take the bytes as they lie */
.Lbytes:
	.incbin TSR_IMAGE_FILE
.Lbytes_end:

	/* tsr_image_t: unit, backend, arch, bytes, size_bytes. Holds addresses, so the loader must be able to write it once. */
	.section .data.rel.ro.local, "aw", %progbits
	.balign 8
.Limage:
	.8byte .Lunit, .Lbackend, .Larch, .Lbytes
	.8byte .Lbytes_end - .Lbytes
	.size .Limage, . - .Limage

#if defined(TSR_IMAGE_SYMBOL)
	.globl TSR_IMAGE_SYMBOL
	.hidden TSR_IMAGE_SYMBOL
	.set TSR_IMAGE_SYMBOL, .Limage
#else
	.section tsr_images, "aw", %progbits
	.balign 8
	.8byte .Limage
#endif

	.section .note.GNU-stack, "", %progbits
