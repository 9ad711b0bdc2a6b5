/* Paths as text. */
#ifndef SP_BASE_PATH_H
#define SP_BASE_PATH_H

#include <string.h>

/* What is behind the last '/' of @path, all of it without one: within @path. */
__attribute__((nonnull)) static inline const char *sp_path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

#endif
