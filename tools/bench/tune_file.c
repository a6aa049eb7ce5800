#include "tools/bench/tune_file.h"

#include "tools/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tessera/program.h"

enum { VERSION = 1 };

tsr_status_t tune_file_path(char path_out[PATH_MAX])
{
	const char *named = getenv("TESSERA_TUNE_FILE"), *cache = getenv("XDG_CACHE_HOME"),
		   *home = getenv("HOME");
	int length;
	if (named)
		length = snprintf(path_out, PATH_MAX, "%s", named);
	else if (cache && *cache)
		length = snprintf(path_out, PATH_MAX, "%s/tessera/tune.json", cache);
	else if (home && *home)
		length = snprintf(path_out, PATH_MAX, "%s/.cache/tessera/tune.json", home);
	else
		return tsr_error(TSR_ERR_CONFIG, "there is no place for tuned choices: set HOME, "
						 "XDG_CACHE_HOME or TESSERA_TUNE_FILE");
	if (length >= PATH_MAX)
		return tsr_error(TSR_ERR_CONFIG,
				 "the path of the file of tuned choices is longer than %d bytes",
				 PATH_MAX);
	return TSR_OK;
}

/* ---------------------------------------------------------------- reading */

/** The whole file; an empty one where there is none. */
static tsr_status_t load(const char *path, json_t **root_out)
{
	json_error_t error;
	int version;
	json_t *entries;
	errno = 0;
	FILE *file = tool_fopen_input(path);
	if (!file && (errno == ENOENT || errno == ENOTDIR)) {
		*root_out = json_pack("{s:i, s:[]}", "version", VERSION, "entries");
		return *root_out ? TSR_OK
				 : tsr_error(TSR_ERR_NO_MEMORY,
					     "the host has no memory for tuned choices; free some");
	}
	if (!file)
		return tsr_error(TSR_ERR_SYSTEM, "tuned choices: '%s' cannot be read: %s", path,
				 strerror(errno));
	errno = 0;
	json_t *root = json_loadf(file, 0, &error);
	const int cause = ferror(file) ? errno : 0;
	(void)fclose(file);
	if (cause != 0) {
		json_decref(root);
		return tsr_error(TSR_ERR_SYSTEM, "tuned choices: '%s' cannot be read: %s", path,
				 strerror(cause));
	}
	if (!root)
		return tsr_error(
			TSR_ERR_CONFIG,
			"tuned choices: '%s' is damaged (line %d: %s): repair it or remove it",
			path, error.line, error.text);
	if (json_unpack(root, "{s:i, s:o}", "version", &version, "entries", &entries) == 0 &&
	    version == VERSION && json_is_array(entries)) {
		*root_out = root;
		return TSR_OK;
	}
	json_decref(root);
	return tsr_error(
		TSR_ERR_CONFIG,
		"tuned choices: '%s' is no such file of version %d: repair it or remove it", path,
		VERSION);
}

/** Whether an entry is the key's; what is no entry is nobody's. */
static bool is_entry_of(const json_t *entry, const json_t *key)
{
	const char *name;
	json_t *value;
	if (!json_is_object(entry))
		return false;
	json_object_foreach((json_t *)key, name,
			    value) if (!json_equal(json_object_get(entry, name),
						   value)) return false;
	return true;
}

tsr_status_t tune_file_check(const char *path)
{
	json_t *root;
	tsr_status_t status = load(path, &root);
	if (status == TSR_OK)
		json_decref(root);
	return status;
}

tsr_status_t tune_file_find(const char *path, const json_t *key, json_t **entry_out)
{
	json_t *root, *entry;
	size_t i;
	tsr_status_t status = load(path, &root);
	*entry_out = NULL;
	if (status != TSR_OK)
		return status;
	json_array_foreach(json_object_get(root, "entries"), i,
			   entry) if (!*entry_out && is_entry_of(entry, key)) *entry_out =
		json_incref(entry);
	json_decref(root);
	return TSR_OK;
}

/* ---------------------------------------------------------------- writing */

/** The folder of `path`, made where it is not there, open and locked. */
static tsr_status_t lock_folder(const char *path, int *folder_out)
{
	enum { TRIES = 1000 };
	const struct timespec pause = {.tv_nsec = 10000000};
	char folder[PATH_MAX];
	(void)snprintf(folder, sizeof folder, "%s%s", strchr(path, '/') ? "" : "./", path);
	for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(folder, 0777); /* where it fails, opening the last one says why */
		*slash = '/';
	}
	*strrchr(folder, '/') = '\0';
	int fd = open(*folder ? folder : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return tsr_error(TSR_ERR_SYSTEM,
				 "tuned choices: the folder of '%s' cannot be opened: %s; name "
				 "another file by TESSERA_TUNE_FILE",
				 path, strerror(errno));
	for (int i = 0; i < TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			*folder_out = fd;
			return TSR_OK;
		}
		if (errno != EWOULDBLOCK && errno != EINTR)
			break;
		(void)nanosleep(&pause, NULL);
	}
	int cause = errno;
	(void)close(fd);
	return tsr_error(cause == EWOULDBLOCK ? TSR_ERR_TIMEOUT : TSR_ERR_SYSTEM,
			 "tuned choices: the folder of '%s' cannot be locked: %s; does another "
			 "program keep it?",
			 path, strerror(cause));
}

/** Writes beside the file, and renames: a reader sees the old one or the new one. */
static tsr_status_t replace(const char *path, const json_t *root)
{
	char beside[PATH_MAX];
	if ((size_t)snprintf(beside, sizeof beside, "%s.XXXXXX", path) >= sizeof beside)
		return tsr_error(TSR_ERR_CONFIG,
				 "the path of the file of tuned choices is longer than %d bytes",
				 PATH_MAX - 7);
	errno = 0;
	int fd = mkstemp(beside);
	bool good = fd >= 0 && json_dumpfd(root, fd, JSON_INDENT(1)) == 0 &&
		    fchmod(fd, 0644) == 0 && fsync(fd) == 0;
	int cause = errno;
	if (fd >= 0)
		(void)close(fd);
	if (good && rename(beside, path) == 0)
		return TSR_OK;
	cause = good ? errno : cause;
	if (fd >= 0)
		(void)unlink(beside);
	return tsr_error(TSR_ERR_SYSTEM,
			 "tuned choices: '%s' cannot be written: %s; name another file by "
			 "TESSERA_TUNE_FILE",
			 path, strerror(cause ? cause : EIO));
}

static json_t *new_entry(const json_t *key, const json_t *choice)
{
	json_t *entry = json_copy((json_t *)key);
	if (entry && json_object_update(entry, (json_t *)choice) == 0)
		return entry;
	json_decref(entry);
	return NULL;
}

tsr_status_t tune_file_remember(const char *path, const json_t *key, const json_t *choice)
{
	int folder;
	json_t *root;
	tsr_status_t status = lock_folder(path, &folder);
	if (status != TSR_OK)
		return status;
	status = load(path, &root);
	if (status == TSR_OK) {
		json_t *entries = json_object_get(root, "entries");
		for (size_t i = json_array_size(entries); i-- > 0;)
			if (is_entry_of(json_array_get(entries, i), key))
				(void)json_array_remove(entries, i);
		if (json_array_append_new(entries, new_entry(key, choice)) != 0)
			status = tsr_error(TSR_ERR_NO_MEMORY,
					   "the host has no memory for tuned choices; free some");
		else
			status = replace(path, root);
		json_decref(root);
	}
	(void)close(folder); /* and so the lock is gone */
	return status;
}
