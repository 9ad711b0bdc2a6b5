/* See mem.h. */
#include "py/mem.h"

#include <errno.h>
#include <sys/uio.h>

enum { BATCH = 256 }; /* spans a call: well below IOV_MAX, on the stack */

/* Whole spans among the first @bytes. */
static size_t whole(const struct sp_pyspan *spans, size_t n, size_t bytes)
{
	size_t i = 0;

	while (i < n && bytes >= spans[i].len)
		bytes -= spans[i++].len;
	return i;
}

int sp_pymem_process(void *ctx, const struct sp_pyspan *spans, size_t n)
{
	const struct sp_pymem_process *p = ctx;
	struct iovec here[BATCH], there[BATCH];
	size_t done = 0;

	while (done < n) {
		size_t k = n - done < BATCH ? n - done : BATCH, got;
		ssize_t bytes;

		for (size_t i = 0; i < k; i++) {
			here[i] = (struct iovec){spans[done + i].to, spans[done + i].len};
			there[i] = (struct iovec){
				(void *)(uintptr_t)spans[done + i].addr, spans[done + i].len};
		}
		bytes = process_vm_readv(p->pid, here, k, there, k, 0);
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
