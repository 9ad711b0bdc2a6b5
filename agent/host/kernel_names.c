/* See kernel_names.h. "ffffffff81000000 T name [module]" a line; sorted but for the modules. Which
 * name is taken where several are at one address is as in src/elf/symtab_table.c, so that reports
 * made here and there agree. */
#include "kernel_names.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "own_thread.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOWEST 0xffffffff80000000ull /* the kernel's code and its modules' lie above (x86-64) */
#define LOCAL  0x80000000u	     /* of entry.name */
#define PIECE  65536

struct entry {
	uint32_t offset, name;
};

struct sp_kernel_names {
	struct sp_own_thread *thread; /* NULL: all is read */
	const char *path;
	size_t memory, count, cap;
	size_t core; /* those before the first module's */
	bool cut;    /* there are more */
	struct entry *entries;
	struct sp_buf names;
};

/* Returns whether to go on: not without room, or where addresses are hidden. */
static bool take_line(struct sp_kernel_names *k, const char *line, size_t len)
{
	char *end;
	uint64_t addr = strtoull(line, &end, 16);
	const char *name = end + 3;
	size_t n = len > (size_t)(name - line) ? strcspn(name, " \t\n") : 0;

	if (!n || *end != ' ' || !strchr("tTwW", end[1]))
		return true; /* the first ones may be of a CPU's own data, which lie at 0 */
	if (!addr)
		return false;
	if (addr < LOWEST)
		return true;
	k->core = k->core || name[n] != '\t' ? k->core : k->count;
	k->cut = k->count * sizeof(*k->entries) + k->names.len + n > k->memory ||
		 sp_grow(&k->entries, &k->cap, k->count, sizeof(*k->entries), 4096) < 0;
	if (k->cut)
		return false;
	k->entries[k->count++] = (struct entry){(uint32_t)(addr - LOWEST),
		(uint32_t)k->names.len | (strchr("TW", end[1]) ? 0 : LOCAL)};
	sp_buf_add(&k->names, name, n);
	sp_buf_addc(&k->names, 0);
	return !k->names.failed;
}

/* Takes the whole lines of @text; what is left is moved to its begin. */
static bool take_lines(struct sp_kernel_names *k, char *text, size_t *len)
{
	char *line = text, *end;
	bool more = true;

	while (more && (end = memchr(line, '\n', *len - (size_t)(line - text)))) {
		*end = '\0';
		more = take_line(k, line, (size_t)(end - line));
		line = end + 1;
	}
	*len -= (size_t)(line - text);
	memmove(text, line, *len);
	return more && *len < PIECE;
}

static const char *name_of(const struct sp_kernel_names *k, const struct entry *e)
{
	return k->names.data + (e->name & ~LOCAL);
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct entry *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if ((x->name ^ y->name) & LOCAL)
		return x->name & LOCAL ? 1 : -1;
	return strcmp(name_of(ctx, x), name_of(ctx, y));
}

static void *run(void *arg)
{
	struct sp_kernel_names *k = arg;
	SP_AUTO_FREE char *text = malloc(PIECE + 1);
	SP_AUTO_CLOSE int fd = open(k->path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	while (text && fd >= 0 && (n = read(fd, text + len, PIECE - len)) > 0) {
		len += (size_t)n;
		if (!take_lines(k, text, &len))
			break;
	}
	if (k->names.failed)
		k->count = 0;
	/* Some of the modules' would be taken for others'. */
	if (k->cut && k->core)
		k->count = k->core;
	qsort_r(k->entries, k->count, sizeof(*k->entries), compare, k);
	return NULL;
}

int sp_kernel_names_new(struct sp_kernel_names **ret, const char *path, size_t memory)
{
	struct sp_kernel_names *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return -ENOMEM;
	k->path = path ? path : "/proc/kallsyms";
	k->memory = memory < LOCAL ? memory : LOCAL - 1;
	r = sp_own_thread_start(&k->thread, "sparkprof-ksyms", SP_STACK_PLAIN, run, k);
	if (r < 0) {
		free(k);
		return r;
	}
	*ret = k;
	return 0;
}

static void wait_for(struct sp_kernel_names *k)
{
	if (k->thread)
		sp_own_thread_join(k->thread);
	k->thread = NULL;
}

void sp_kernel_names_free(struct sp_kernel_names *k)
{
	if (!k)
		return;
	wait_for(k);
	free(k->entries);
	sp_buf_done(&k->names);
	free(k);
}

const char *sp_kernel_names_find(struct sp_kernel_names *k, uint64_t addr)
{
	size_t lo = 0, hi;

	wait_for(k);
	hi = addr < LOWEST ? 0 : k->count;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (k->entries[mid].offset <= (uint32_t)(addr - LOWEST))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || (k->cut && lo == k->count))
		return NULL;
	/* the first of those at its address */
	for (lo--; lo && k->entries[lo - 1].offset == k->entries[lo].offset;)
		lo--;
	return name_of(k, &k->entries[lo]);
}
