/* See list_dir.h. */
#include "base/list_dir.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As the kernel writes it: getdents64(2). */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t len;
	uint8_t type;
	char name[];
};

int sp_list_dir(const char *path, void (*fn)(void *ctx, const char *name), void *ctx)
{
	SP_AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_Alignas(struct entry) char buf[8192];
	long n;

	if (fd < 0)
		return -errno;
	while ((n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
		for (char *p = buf; p < buf + n; p += ((struct entry *)p)->len)
			fn(ctx, ((struct entry *)p)->name);
	return n < 0 ? -errno : 0;
}
