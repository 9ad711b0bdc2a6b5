/* See target_mem.h. */
#include "py/target_mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BATCH = 256 }; /* spans a call: well below IOV_MAX, on the stack */

/* Whole spans among the first @bytes. */
static size_t whole(const struct sp_pyspan *spans, size_t n, size_t bytes)
{
	size_t i = 0;

	while (i < n && bytes >= spans[i].len)
		bytes -= spans[i++].len;
	return i;
}

int sp_pymem_open(struct sp_pymem_process *p)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)p->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	p->file = fd;
	p->has_file = true;
	return 0;
}

void sp_pymem_close(struct sp_pymem_process *p)
{
	if (p->has_file)
		close(p->file);
	p->has_file = false;
}

/* One by one: there is no call that takes many places of a file. */
static int read_file(int fd, const struct sp_pyspan *spans, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		ssize_t got = pread(fd, spans[i].to, spans[i].len, (off_t)spans[i].addr);

		if (got == 0 && spans[i].len)
			return -ESRCH; /* its memory is gone: it has ended, or runs something else
					*/
		if (got < 0 || (size_t)got < spans[i].len)
			return (int)i;
	}
	return (int)n;
}

int sp_pymem_process(void *ctx, const struct sp_pyspan *spans, size_t n)
{
	const struct sp_pymem_process *p = ctx;
	struct iovec here[BATCH], there[BATCH];
	size_t done = 0;

	if (p->has_file)
		return read_file(p->file, spans, n);
	if (p->no_call)
		return -EPERM;
	while (done < n) {
		size_t k = n - done < BATCH ? n - done : BATCH, got;
		ssize_t bytes;

		size_t places = 0;

		for (size_t i = 0; i < k; i++) {
			const struct sp_pyspan *s = spans + done + i;
			struct iovec *last = here + places - 1;

			there[i] = (struct iovec){(void *)(uintptr_t)s->addr, s->len};
			if (places && (char *)last->iov_base + last->iov_len == s->to)
				last->iov_len += s->len;
			else
				here[places++] = (struct iovec){s->to, s->len};
		}
		bytes = process_vm_readv(p->pid, here, places, there, k, 0);
		if (bytes < 0 && errno != EFAULT)
			return -errno;
		got = bytes < 0 ? 0 : whole(spans + done, k, (size_t)bytes);
		done += got;
		if (got < k)
			break;
	}
	return (int)done;
}

bool sp_pymem_all(const struct sp_pymem *m, const struct sp_pyspan *spans, size_t n)
{
	int got = m->read(m->ctx, spans, n);

	return got >= 0 && (size_t)got == n;
}

bool sp_pymem_get(const struct sp_pymem *m, uint64_t addr, void *to, size_t len)
{
	return sp_pymem_all(m, &(struct sp_pyspan){addr, to, len}, 1);
}

uint64_t sp_pymem_word(const struct sp_pymem *m, uint64_t addr)
{
	uint64_t v = 0;

	return sp_pymem_get(m, addr, &v, sizeof(v)) ? v : 0;
}
