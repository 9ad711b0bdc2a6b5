/* See std_streams.h. */
#include "std_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int sp_std_streams_fill(void)
{
	/* The wrong way round for 0 and 1: a use of them must fail, not succeed with nothing. */
	static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		/* The lowest free number: those below are in use by now. */
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", modes[fd]) != fd)
			return errno ? -errno : -EBADF;
	return 0;
}
