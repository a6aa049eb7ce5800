#include "tools/cc/toolkit.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/usage.h"

/* ------------------------------------------------------------------ the installation */

static bool is_root(const char *folder)
{
	char file[PATH_MAX];

	return snprintf(file, sizeof file, "%s/include/tessera/dev.h", folder) < (int)sizeof file &&
	       access(file, R_OK) == 0 &&
	       snprintf(file, sizeof file, "%s/tools/embed.S", folder) < (int)sizeof file &&
	       access(file, R_OK) == 0;
}

/** Cuts the last part of a path off. False at the top. */
static bool go_up(char *folder)
{
	char *slash = strrchr(folder, '/');

	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

static int find_root(const char *asked, const char *beside, char *root)
{
	if (asked) {
		if (realpath(asked, root) && is_root(root))
			return TOOL_OK;
		fprintf(stderr,
			"tessera cc: --root %s: no include/tessera/dev.h and tools/embed.S there\n",
			asked);
		return TOOL_FAILED;
	}
	snprintf(root, PATH_MAX, "%s", beside);
	do {
		if (is_root(root))
			return TOOL_OK;
	} while (go_up(root));
	fprintf(stderr,
		"tessera cc: no include/tessera/dev.h above %s: install what programs are built "
		"with (libtessera-dev on Debian), or say by --root where Tessera is\n",
		beside);
	return TOOL_FAILED;
}

/**
 * An installed command is in bin/, and what it builds with is in lib/tessera/
 * beside that: headers, and a link to the archive, which tells the folder of
 * both libraries.
 */
static bool find_installed(const char *beside, cc_place_t *place)
{
	static const char room[] = "/../lib/tessera", archive[] = "/libtessera.a";
	char path[PATH_MAX + sizeof room + sizeof archive];

	snprintf(path, sizeof path, "%s%s", beside, room);
	if (!realpath(path, place->root) || !is_root(place->root))
		return false;
	snprintf(path, sizeof path, "%s%s", place->root, archive);
	return realpath(path, place->library) && go_up(place->library);
}

static bool has_library(const char *folder, const char *name)
{
	char file[PATH_MAX];

	return snprintf(file, sizeof file, "%s/%s", folder, name) < (int)sizeof file &&
	       access(file, R_OK) == 0;
}

/** The folder of this executable. */
static bool find_self(char folder[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);

	if (length < 0)
		return false;
	folder[length] = '\0';
	return go_up(folder);
}

bool cc_place_look(cc_place_t *place_out)
{
	char beside[PATH_MAX];
	cc_place_t place;

	if (!find_self(beside))
		return false;
	if (!find_installed(beside, &place)) {
		strcpy(place.library, beside);
		strcpy(place.root, beside);
		while (!is_root(place.root)) {
			if (!go_up(place.root))
				return false;
		}
	}
	*place_out = place;
	return true;
}

int cc_place_find(const char *root, bool dynamic, cc_place_t *place_out)
{
	const char *library = dynamic ? "libtessera.so" : "libtessera.a";
	cc_place_t place;
	char beside[PATH_MAX];

	if (!find_self(beside)) {
		fprintf(stderr,
			"tessera cc: cannot tell where this executable is: /proc is not mounted\n");
		return TOOL_FAILED;
	}
	if (root || !find_installed(beside, &place)) {
		if (find_root(root, beside, place.root))
			return TOOL_FAILED;
		strcpy(place.library, beside);
	}
	if (!has_library(place.library, library)) {
		fprintf(stderr,
			"tessera cc: no %s in %s, where this executable looks for it; `scons` "
			"makes both\n",
			library, place.library);
		return TOOL_FAILED;
	}
	*place_out = place;
	return TOOL_OK;
}

void cc_place_add_includes(const cc_place_t *place, cc_words_t *words)
{
	cc_words_add(words, "-I%s/include", place->root);
	cc_words_add(words, "-I%s/backends", place->root);
	cc_words_add(words, "-I%s", place->root);
}

void cc_place_add_library(const cc_place_t *place, bool dynamic, cc_words_t *words)
{
	/* What the library stands on: the same as in SConstruct. */
	static const char *const libraries[] = {"-lsodium", "-lm", "-ldl", "-pthread"};

	cc_words_add(words, "-L%s", place->library);
	if (dynamic) {
		cc_words_add(words, "-ltessera");
		cc_words_add(words, "-Wl,-rpath,%s", place->library);
		return;
	}
	cc_words_add(words, "%s/libtessera.a", place->library);
	for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
		cc_words_add(words, "%s", libraries[i]);
}

/* ------------------------------------------------------------------ device compilers */

/** Finds a program as execvp would. */
static bool find_program(const char *name, char *path_out)
{
	const char *path = getenv("PATH");

	if (strchr(name, '/')) {
		snprintf(path_out, PATH_MAX, "%s", name);
		return access(name, X_OK) == 0;
	}
	for (const char *part = path ? path : ""; *part;) {
		int length = (int)strcspn(part, ":");
		if (length &&
		    snprintf(path_out, PATH_MAX, "%.*s/%s", length, part, name) < PATH_MAX &&
		    access(path_out, X_OK) == 0)
			return true;
		part += length;
		part += *part == ':';
	}
	return false;
}

static bool find_first(const char *const *names, char *path_out)
{
	for (; *names; names++) {
		if (find_program(*names, path_out))
			return true;
	}
	return false;
}

int cc_toolkits_find(const char *backend, cc_toolkit_t *toolkits, int *count)
{
	static const char *const nvccs[] = {"nvcc", "/usr/local/cuda/bin/nvcc", NULL};
	/* first the one whose code the library's own checks know, then the newest */
	static const char *const clangs[] = {"clang-19", "clang-22", "clang-21", "clang-20", NULL};
	static const char *const amd_arches[] = {"gfx942", "gfx90a"};
	char compiler[PATH_MAX];

	if (strcmp(backend, "cuda") == 0) {
		if (!find_first(nvccs, compiler)) {
			fprintf(stderr, "tessera cc: backend cuda: no nvcc on PATH nor in "
					"/usr/local/cuda/bin; install the CUDA toolkit "
					"13 or later, or leave cuda out of --backends\n");
			return TOOL_FAILED;
		}
		toolkits[*count] = (cc_toolkit_t){.backend = "cuda", .arch = "sm_90a"};
		strcpy(toolkits[(*count)++].compiler, compiler);
		return TOOL_OK;
	}
	if (!find_first(clangs, compiler)) {
		fprintf(stderr, "tessera cc: backend hip: no clang-19 or later on PATH; install "
				"clang-19 and lld-19, or leave hip out of "
				"--backends\n");
		return TOOL_FAILED;
	}
	for (size_t i = 0; i < sizeof amd_arches / sizeof *amd_arches; i++) {
		toolkits[*count] = (cc_toolkit_t){.backend = "hip", .arch = amd_arches[i]};
		strcpy(toolkits[(*count)++].compiler, compiler);
	}
	return TOOL_OK;
}

void cc_toolkit_compile(const cc_toolkit_t *toolkit, cc_words_t *words)
{
	cc_words_add(words, "%s", toolkit->compiler);
	if (strcmp(toolkit->backend, "cuda") == 0) {
		/* The shorthand -arch=sm_90a fails; this works. */
		cc_words_add(words, "-gencode=arch=compute_90a,code=%s", toolkit->arch);
		cc_words_add(words, "-cubin");
		cc_words_add(words, "-lineinfo"); /* the same instructions, and their lines */
		cc_words_add(words, "-x");
		cc_words_add(words, "cu");
	} else {
		cc_words_add(words, "--offload-arch=%s", toolkit->arch);
		cc_words_add(words, "--offload-device-only");
		cc_words_add(words, "--no-gpu-bundle-output");
		cc_words_add(words, "-nogpulib");
		cc_words_add(words, "-nogpuinc");
		cc_words_add(words, "-gline-tables-only"); /* likewise */
		cc_words_add(words, "-x");
		cc_words_add(words, "hip");
	}
	cc_words_add(words, "-std=c++17");
	cc_words_add(words, "-O3");
}

/* ------------------------------------------------------------------ objects */

static bool read_at(FILE *file, uint64_t offset, void *data, size_t size_bytes)
{
	return fseek(file, (long)offset, SEEK_SET) == 0 && fread(data, size_bytes, 1, file) == 1;
}

static bool file_has_section(FILE *file, const char *name)
{
	Elf64_Ehdr head;
	Elf64_Shdr names, section;
	char found[32];

	if (!read_at(file, 0, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    !read_at(file, head.e_shoff + head.e_shstrndx * sizeof names, &names, sizeof names))
		return false;
	for (unsigned i = 0; i < head.e_shnum; i++) {
		if (!read_at(file, head.e_shoff + i * sizeof section, &section, sizeof section))
			return false;
		if (read_at(file, names.sh_offset + section.sh_name, found, strlen(name) + 1) &&
		    strcmp(found, name) == 0)
			return true;
	}
	return false;
}

bool cc_object_has_kernels(const char *path)
{
	FILE *file = fopen(path, "rb");
	bool found = file && file_has_section(file, "tsr_kernels");

	if (file)
		fclose(file);
	return found;
}
