/* Reading and writing descriptors to the end. */
#ifndef SP_BASE_IO_H
#define SP_BASE_IO_H

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

/* Reads the begin of a small file, as those of /proc, into @ret of @size bytes, and terminates it;
 * one read, so that it is of one moment. @dir as openat has it, AT_FDCWD too.
 * Returns how many bytes, or -errno with "" in @ret. */
__attribute__((nonnull)) static inline ssize_t sp_io_read_text(
	int dir, const char *path, char *ret, size_t size)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -errno : read(fd, ret, size - 1);

	if (fd >= 0 && n < 0)
		n = -errno;
	if (fd >= 0)
		close(fd);
	ret[n > 0 ? n : 0] = '\0';
	return n;
}

/* Writes all of @data, however often it is interrupted. Returns 0 or -errno. */
__attribute__((nonnull, warn_unused_result)) static inline int sp_io_write_all(
	int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

#endif
