/* device-half SOURCE OUTPUT: for the build, which compiles device code as `tessera cc` does. */
#include <errno.h>
#include <string.h>

#include "tools/device_half/device_half.h"

int main(int argc, char **argv)
{
	const char *why = NULL;

	if (argc != 3) {
		fprintf(stderr, "usage: device-half SOURCE OUTPUT\n");
		return 2;
	}
	FILE *out = fopen(argv[2], "w");
	if (!out) {
		fprintf(stderr, "device-half: cannot write '%s': %s\n", argv[2], strerror(errno));
		return 1;
	}
	bool written = device_half_write(argv[1], NULL, 0, out, &why);
	bool failed = ferror(out);
	if (fclose(out) || failed) {
		fprintf(stderr, "device-half: cannot write '%s': %s\n", argv[2], strerror(errno));
		return 1;
	}
	if (!written)
		fprintf(stderr, "device-half: %s: %s\n", argv[1], why);
	return written ? 0 : 1;
}
