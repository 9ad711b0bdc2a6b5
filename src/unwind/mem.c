/* Live memory of the own process, read by system call so that a page which went away is an error
 * and not a SIGSEGV in the host. Pages are kept for one batch of snapshots: most of what
 * an unwind needs (code, unwind tables, metadata) is asked for again within the batch. */
#include "unwind/mem.h"

#include "base/arena.h"
#include "base/filtered.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define LINE	    4096u
#define CACHE_BYTES (256u << 10)
#define STABLE_MAX  32

struct line {
	uint64_t tag; /* address / LINE */
	uint64_t generation;
};

struct sp_mem_live {
	struct sp_arena arena;
	struct sp_mem mem, guard;
	struct line *lines;
	uint8_t *bytes;
	uint32_t mask;
	uint64_t generation;
	struct {
		uint64_t from, to;
	} stable[STABLE_MAX];		    /* read directly: see live_stable() */
	uint32_t stable_count, stable_last; /* the one that was read last is read again */
	pid_t pid;
	int fd;
	struct sp_mem_stats stats;
};

int sp_mem_str(const struct sp_mem *m, uint64_t addr, char *buf, size_t size)
{
	size_t n = 0;

	while (n + 1 < size) {
		/* by words that do not cross a page, so that a string at a page's end is readable
		 */
		size_t step = 8 - (addr & 7);

		if (step > size - 1 - n)
			step = size - 1 - n;
		if (sp_mem_read(m, addr, buf + n, step) < 0)
			return -EFAULT;
		if (memchr(buf + n, 0, step))
			return 0;
		n += step;
		addr += step;
	}
	buf[n] = 0;
	return 0;
}

static int read_raw(struct sp_mem_live *l, uint64_t addr, void *buf, size_t len)
{
	struct iovec local = {buf, len};
	struct iovec remote = {(void *)(uintptr_t)addr, len};
	ssize_t n;

	if (l->stats.how == SP_MEM_PROCESS_VM)
		n = syscall(SYS_process_vm_readv, l->pid, &local, 1ul, &remote, 1ul, 0ul);
	else if (l->stats.how == SP_MEM_PROC_FD)
		n = pread(l->fd, buf, len, (off_t)addr);
	else
		n = sp_mem_read(&l->guard, addr, buf, len) < 0 ? -1 : (ssize_t)len;
	if (n == (ssize_t)len)
		return 0;
	l->stats.faults++;
	return -EFAULT;
}

static const uint8_t *line_get(struct sp_mem_live *l, uint64_t tag)
{
	uint32_t i = (uint32_t)(tag ^ (tag >> 9) ^ (tag >> 17)) & l->mask;
	uint8_t *bytes = l->bytes + (size_t)i * LINE;

	if (l->lines[i].tag == tag && l->lines[i].generation == l->generation) {
		l->stats.hits++;
		return bytes;
	}
	l->lines[i].generation = 0;
	if (read_raw(l, tag * LINE, bytes, LINE) < 0)
		return NULL;
	l->lines[i].tag = tag;
	l->lines[i].generation = l->generation;
	return bytes;
}

static bool in_stable(const struct sp_mem_live *l, uint32_t i, uint64_t addr, size_t len)
{
	return addr >= l->stable[i].from && addr < l->stable[i].to && len <= l->stable[i].to - addr;
}

static bool is_stable(struct sp_mem_live *l, uint64_t addr, size_t len)
{
	if (in_stable(l, l->stable_last, addr, len))
		return true;
	for (uint32_t i = 0; i < l->stable_count; i++) {
		if (in_stable(l, i, addr, len)) {
			l->stable_last = i;
			return true;
		}
	}
	return false;
}

static int live_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct sp_mem_live *l = ctx;
	uint8_t *to = buf;

	l->stats.reads++;
	if (is_stable(l, addr, len)) {
		memcpy(buf, (const void *)(uintptr_t)addr, len);
		l->stats.hits++;
		return 0;
	}
	if (addr < 4096 || addr + len < addr || addr + len > (1ull << 47))
		return -EFAULT;
	while (len) {
		size_t off = addr % LINE, n = LINE - off;
		const uint8_t *from = line_get(l, addr / LINE);

		if (!from)
			return -EFAULT;
		if (n > len)
			n = len;
		memcpy(to, from + off, n);
		to += n;
		addr += n;
		len -= n;
	}
	return 0;
}

/* Committed parts of the code heaps, which HotSpot never gives back, and libraries that stay: they
 * need no system call and are always fresh. A range that grew replaces its older self. */
static void live_stable(void *ctx, uint64_t from, uint64_t to)
{
	struct sp_mem_live *l = ctx;
	uint32_t i = 0;

	while (i < l->stable_count && l->stable[i].from != from)
		i++;
	if (i == STABLE_MAX || from >= to)
		return;
	l->stable[i].from = from;
	l->stable[i].to = to;
	if (i == l->stable_count)
		l->stable_count++;
}

static void live_forget(void *ctx)
{
	sp_mem_live_refresh(ctx);
}

/* Tries the ways to read in order, on a word that is surely there. */
static int choose(struct sp_mem_live *l)
{
	uint64_t word = 0x5350a0b1c2d3e4f5, got = 0;
	uint64_t addr = (uint64_t)(uintptr_t)&word;

	l->stats.how = SP_MEM_PROCESS_VM;
	if (!sp_filtered() && read_raw(l, addr, &got, 8) == 0 && got == word)
		return 0;
	l->stats.how = SP_MEM_PROC_FD;
	l->fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	if (l->fd >= 0 && read_raw(l, addr, &got, 8) == 0 && got == word)
		return 0;
	l->stats.how = SP_MEM_GUARDED;
	return l->guard.read ? 0 : -EPERM;
}

int sp_mem_live_new(struct sp_mem_live **ret, size_t cache, const struct sp_mem *guard)
{
	struct sp_arena arena;
	struct sp_mem_live *l;
	uint32_t lines = 1;
	int r;

	if (!cache)
		cache = CACHE_BYTES;
	while (lines * 2 * (size_t)LINE <= cache)
		lines *= 2;
	r = sp_arena_init(&arena, lines * (LINE + sizeof(struct line)) + sizeof(*l) + 64);
	if (r < 0)
		return r;
	l = sp_arena_alloc(&arena, sizeof(*l));
	l->lines = sp_arena_alloc(&arena, lines * sizeof(*l->lines));
	l->bytes = sp_arena_alloc(&arena, (size_t)lines * LINE);
	l->mask = lines - 1;
	l->generation = 1;
	l->pid = getpid();
	l->fd = -1;
	if (guard)
		l->guard = *guard;
	l->mem = (struct sp_mem){live_read, l, live_forget, live_stable};
	l->stats.bytes = arena.cap;
	l->arena = arena;
	r = choose(l);
	if (r < 0) {
		sp_mem_live_free(l);
		return r;
	}
	l->stats.faults = 0;
	*ret = l;
	return 0;
}

void sp_mem_live_free(struct sp_mem_live *l)
{
	struct sp_arena arena;

	if (!l)
		return;
	if (l->fd >= 0)
		close(l->fd);
	arena = l->arena;
	sp_arena_done(&arena);
}

const struct sp_mem *sp_mem_live_mem(const struct sp_mem_live *l)
{
	return &l->mem;
}

void sp_mem_live_refresh(struct sp_mem_live *l)
{
	l->generation++;
}

void sp_mem_live_stats(const struct sp_mem_live *l, struct sp_mem_stats *ret)
{
	*ret = l->stats;
}
