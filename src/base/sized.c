#include "src/base/sized.h"

#include <string.h>

#include "src/base/error.h"
#include "tessera/version.h"

static size_t size_of(const void *theirs)
{
	size_t size;
	memcpy(&size, theirs, sizeof size);
	return size;
}

static tsr_status_t check_size(size_t size, size_t least_bytes, const char *type)
{
	if (size >= least_bytes && size <= TSR_SIZED_MOST)
		return TSR_OK;
	return tsr_error(TSR_ERR_ARGUMENT,
			 "a %s cannot have a size of %zu: make it by `%s x = {.size = sizeof x};`",
			 type, size, type);
}

tsr_status_t tsr_sized_give(void *theirs, const void *ours, size_t ours_bytes, size_t least_bytes,
			    const char *type)
{
	const size_t size = size_of(theirs);
	const tsr_status_t status = check_size(size, least_bytes, type);
	if (status != TSR_OK)
		return status;
	memcpy(theirs, ours, size < ours_bytes ? size : ours_bytes);
	if (size > ours_bytes)
		memset((char *)theirs + ours_bytes, 0, size - ours_bytes);
	memcpy(theirs, &size, sizeof size);
	return TSR_OK;
}

tsr_status_t tsr_sized_take(const void *theirs, void *ours, size_t ours_bytes, size_t least_bytes,
			    const char *type)
{
	const size_t size = size_of(theirs);
	const tsr_status_t status = check_size(size, least_bytes, type);
	if (status != TSR_OK)
		return status;
	for (size_t i = ours_bytes; i < size; i++)
		if (((const char *)theirs)[i] != 0)
			return tsr_error(TSR_ERR_UNSUPPORTED,
					 "a %s of %s has a member set behind the %s that version "
					 "%s knows: run the "
					 "program with the library that it was compiled for, or "
					 "leave the member 0",
					 type, TSR_SIZE(size), TSR_SIZE(ours_bytes),
					 tsr_version_text());
	memset(ours, 0, ours_bytes);
	memcpy(ours, theirs, size < ours_bytes ? size : ours_bytes);
	memcpy(ours, &ours_bytes, sizeof ours_bytes);
	return TSR_OK;
}
