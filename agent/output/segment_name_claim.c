/* Names that belong to this JVM while it records: see segments_internal.h. The lock of a file goes
 * with its descriptor, and a segment that is complete has none any more: a child with the same
 * options would write over it. So the name of the first one is held for all. It is held as a socket
 * in the abstract namespace, which leaves no file and goes with the process. */
#include "segments_internal.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static uint64_t hash(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 0x100000001b3ull;
	return h;
}

/* The same for all paths that lead to the file, which need not be there. */
static int put_key(const char *path, struct sockaddr_un *ret, socklen_t *ret_len)
{
	const char *slash = strrchr(path, '/');
	char dir[SP_SEGMENTS_PATH];
	struct stat st;
	int n;

	snprintf(dir, sizeof(dir), "%.*s/", slash ? (int)(slash - path) : 1, slash ? path : ".");
	if (stat(dir, &st) < 0)
		return -errno;
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	n = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "sparkprof-%llx-%llx-%llx",
		(unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
		(unsigned long long)hash(slash ? slash + 1 : path));
	*ret_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	return 0;
}

bool sp_segments_claim(struct sp_segments *p, const char *path)
{
	SP_AUTO_CLOSE int fd = -1;
	struct sockaddr_un name;
	socklen_t len;

	if (put_key(path, &name, &len) < 0)
		return true;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return true;
	if (bind(fd, (struct sockaddr *)&name, len) < 0)
		return errno != EADDRINUSE;
	p->claim_fd = sp_steal_fd(&fd);
	return true;
}
