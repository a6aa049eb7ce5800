/*
 * The device half of a source: what is kept of C at file scope, and that every
 * line stays where it was.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/device_half/device_half.h"

static char folder[64];

static void make_folder(void)
{
	snprintf(folder, sizeof folder, "/tmp/tessera-half-XXXXXX");
	cr_assert(mkdtemp(folder) != NULL);
}

static void remove_folder(void)
{
	static const char *const names[] = {"source.c", "own.h", "list.def"};
	char path[128];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

static const char *write_file(const char *name, const char *text)
{
	static char path[128];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	cr_assert(file != NULL);
	fputs(text, file);
	fclose(file);
	return path;
}

static int lines_of(const char *text)
{
	int lines = 0;
	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/** The half of `source`, which lasts until the next call; "" where it does not come apart. */
static const char *half_of(const char *source)
{
	static char *half;
	size_t size;
	const char *why = NULL;

	free(half);
	FILE *out = open_memstream(&half, &size);
	cr_assert(out != NULL);
	bool apart = device_half_write(write_file("source.c", source), NULL, 0, out, &why);
	fclose(out);
	cr_assert(apart || (why && *why), "no reason is given");
	return apart ? half : "";
}

/**
 * What stands between | in `kept` is in the half of `source`, what stands so in
 * `dropped` is not, and no line has moved.
 */
static void divides(const char *source, const char *kept, const char *dropped)
{
	const char *half = half_of(source);
	char copy[1024], *rest = copy;

	cr_assert(*half, "it does not come apart: %s", source);
	snprintf(copy, sizeof copy, "%s", kept);
	for (char *text; (text = strsep(&rest, "|")) != NULL;)
		cr_expect(strstr(half, text) != NULL, "'%s' is missing in: %s", text, half);
	snprintf(copy, sizeof copy, "%s", dropped);
	rest = copy;
	for (char *text; (text = strsep(&rest, "|")) != NULL;)
		cr_expect(!*text || strstr(half, text) == NULL, "'%s' is left in: %s", text, half);
	if (!strstr(source, "#include \""))
		/* #line is one more */
		cr_expect_eq(lines_of(half), lines_of(source) + 1, "lines have moved: %s", half);
}

#define KERNEL "TSR_KERNEL(k, args_t, a)\n{\n\tuse(block, a);\n}\n"

Test(device_half, functions)
{
	make_folder();
	divides(KERNEL "static int host(int n)\n{\n\treturn n;\n}\n", "TSR_KERNEL(k|use(block, a)",
		"host|return n");
	divides("TSR_FN int use(int n)\n{\n\treturn n;\n}\nTSR_MAIN(w, c, v)\n{\n\treturn "
		"7;\n}\n" KERNEL,
		"return n", "TSR_MAIN|return 7");
	divides("static int use(int n)\n{\n\treturn n;\n}\n" KERNEL, "static int use(int n)|;",
		"return n"); /* its mark is missing */
	divides("TSR_FN int use(int);\nint (*host(int n))(void)\n{\n\treturn 0;\n}\n" KERNEL,
		"TSR_FN int use(int);", "host");
	divides("__attribute__((noinline)) static int host(void)\n{\n\treturn 1;\n}\n" KERNEL,
		"TSR_KERNEL", "noinline|return 1");
	divides("TSR_PORT_ENTRY(1) entry(int *p)\n{\n\t*p = 1;\n}\n",
		"TSR_PORT_ENTRY(1) entry(int *p)|*p = 1", ""); /* a port's own */
	divides("struct pair { int a; } host(void)\n{\n\treturn (struct pair){1};\n}\n" KERNEL,
		"TSR_KERNEL", "pair");
	remove_folder();
}

Test(device_half, declarations)
{
	make_folder();
	divides("typedef struct args { other_t *o; } args_t;\ntypedef int other_t;\ntypedef int "
		"third_t;\n" KERNEL,
		"args_t|other_t", "third_t");
	divides("struct __attribute__((packed)) args { int n; };\ntypedef struct args "
		"args_t;\n" KERNEL,
		"packed|struct args args_t", "");
	divides("enum { A, B = 2 };\nenum { C };\n"
		"typedef struct { int v[B]; } args_t;\n" KERNEL,
		"enum { A, B = 2 }", "C }");
	divides("typedef int (*args_t)(int first);\nstatic int second(int first);\n" KERNEL,
		"(*args_t)(int first)", "second");
	divides("static args_t defaults = {.b = 1, .a = 2};\ntypedef int args_t;\n" KERNEL,
		"typedef int args_t", "defaults");
	divides("static const int use[] = {[3] = 4};\n" KERNEL, "[3] = 4", "");
	divides("struct node { int class; };\nstatic struct node *list, table[4];\n" KERNEL,
		"TSR_KERNEL", "class|list|table");
	divides("static int a;\nstatic int before, block = 1;\n" KERNEL, "before, block = 1", "");
	remove_folder();
}

Test(device_half, what_macros_say)
{
	make_folder();
	divides("TSR_TILE(cfg, bf16, 16, 16, 16);\nTSR_KERNEL_DECLARE(other);\n" KERNEL,
		"TSR_TILE|TSR_KERNEL_DECLARE", "");
	divides("#define DEVICE TSR_FN\nDEVICE int f(void)\n{\n\treturn 1;\n}\n" KERNEL, "return 1",
		"");
	divides("#define OP(n) TSR_FN int op_##n(void)\nOP(add)\n{\n\treturn 1;\n}\n" KERNEL,
		"OP(add)|return 1", "");
	divides("#define MAKE(kind, n) kind(n, args_t, a) { use(block, a); }\nMAKE(TSR_KERNEL, "
		"one)\nMAKE(TSR_KERNEL_WIDE, two);\n",
		"MAKE(TSR_KERNEL, one)|MAKE(TSR_KERNEL_WIDE, two)", "");
	divides("#define EACH(does) does(one) does(two)\n#define MAKE(n) TSR_KERNEL(n, args_t, a) "
		"{ use(block, a); }\nEACH(MAKE)\n",
		"EACH(MAKE)", "");
	divides("#define MAKE(kind, n) TSR_##kind(n, args_t, a) { use(block, a); }\nMAKE(KERNEL, "
		"one)\n",
		"MAKE(KERNEL, one)", "");
	divides("#define HOST(n) static int n(void) { return 0; }\nHOST(one)\nHOST(two)\n" KERNEL,
		"#define HOST", "HOST(one)|HOST(two)");
	divides("#define WIDTH SIZE\nenum { SIZE = 4 };\ntypedef struct { int v[WIDTH]; } "
		"args_t;\n" KERNEL,
		"SIZE = 4", "");
	divides("Test(suite, name)\n{\n\tcr_assert(1);\n}\n" KERNEL, "TSR_KERNEL",
		"Test|cr_assert");
	divides("_Static_assert(sizeof(args_t) == 4, \"\");\n_Static_assert(sizeof(gone_t) == 4, "
		"\"\");\ntypedef int "
		"args_t;\ntypedef int gone_t;\n" KERNEL,
		"sizeof(args_t)", "gone_t");
	remove_folder();
}

Test(device_half, conditions_and_comments)
{
	make_folder();
	divides("#if ONE\nint host(int a) {\n#else\nint host(long a) {\n#endif\n\treturn "
		"0;\n}\n" KERNEL,
		"#if ONE|#else|#endif|TSR_KERNEL", "host");
	divides("int host(void)\n{\n#define LATER 1\n#ifdef X\n\tf('}');\n#endif\n\treturn "
		"\"}\"[0]; /* } */ // }\n}\n" KERNEL,
		"#define LATER 1|#ifdef X|TSR_KERNEL", "return|f(");
	divides("#include <stdatomic.h>\n#include <stdio.h>\n" KERNEL, "<stdio.h>", "stdatomic");
	divides("extern \"C\" {\nint host(void);\n}\n" KERNEL, "extern \"C\" {|}", "host");
	divides("#define LONG(a) \\\n\tf(a) \\\n\t{\nint host(void) { return 1; }\n" KERNEL,
		"#define LONG|TSR_KERNEL", "host");
	cr_expect_str_eq(half_of("int host(void) {\n"), "", "braces do not match");
	cr_expect_str_eq(half_of("int host[3;\n"), "", "brackets do not match");
	remove_folder();
}

Test(device_half, headers_of_the_users)
{
	make_folder();
	write_file("own.h", "#pragma once\ntypedef int args_t;\nstatic void "
			    "*host(void)\n{\n\treturn malloc(1);\n}\n");
	divides("#include \"own.h\"\n#include \"own.h\"\n#include \"not-there.h\"\n#include "
		"\"tessera/dev.h\"\nint "
		"line_5;\n" KERNEL,
		"typedef int args_t;|own.h\"\n|#include \"not-there.h\"|#include \"tessera/dev.h\"",
		"malloc|line_5|pragma");
	char expected[128];
	snprintf(expected, sizeof expected, "#line 3 \"%s/source.c\"\n#include \"not-there.h\"",
		 folder);
	cr_expect(strstr(half_of("#include \"own.h\"\n#include \"own.h\"\n#include "
				 "\"not-there.h\"\n" KERNEL),
			 expected) != NULL);
	write_file("list.def", "ENTRY(one)\nENTRY(two)\n");
	divides("#define ENTRY(n) NUMBER_##n,\nenum {\n#include \"list.def\"\n};\n" KERNEL,
		"ENTRY(one)|ENTRY(two)", "");
	remove_folder();
}
