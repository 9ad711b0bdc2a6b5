/* See tmpfile.h. */
#include "in/tmpfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cleanup.h"

int sp_tmpfile_open(void)
{
	const char *dirs[] = {getenv("TMPDIR"), "/tmp", "/var/tmp"};

	for (size_t i = 0; i < SP_COUNT(dirs); i++) {
		int fd = dirs[i] ? open(dirs[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;

		if (fd >= 0)
			return fd;
	}
	return memfd_create("sparkprof", MFD_CLOEXEC);
}
