/* See got_patch.h. Reads what is mapped (program headers, dynamic table), never the libraries'
 * files. */
#include "got_patch.h"

#include "base/buf.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAPS_MAX (16u << 20)

struct library {
	uint64_t base;
	const Elf64_Rela *rela[2]; /* of data and of calls */
	size_t count[2];
	const Elf64_Sym *symbols;
	const char *strings;
	uint64_t relro, relro_end; /* read-only once relocated */
	uint64_t text, text_end;
	const char *file; /* without its folder */
};

enum seal {
	SEALED,
	OPEN,
	UNKNOWN,
};

struct work {
	const struct sp_got_hook *hooks;
	size_t count, changed, left;
	uint64_t settled;
	bool restore, is_settled;
	struct sp_buf maps; /* /proc/self/maps as it was before; empty until it is needed */
	uint64_t page;	    /* the last one that was asked for */
	enum seal seal;	    /* its */
};

/* Some loaders leave the addresses in the dynamic table as they are in the file. */
static uint64_t at(const struct library *l, uint64_t p)
{
	return p < l->base ? p + l->base : p;
}

static void read_dynamic(struct library *l, const Elf64_Dyn *d)
{
	for (; d->d_tag != DT_NULL; d++) {
		switch (d->d_tag) {
		case DT_RELA:
			l->rela[0] = (const Elf64_Rela *)at(l, d->d_un.d_ptr);
			break;
		case DT_RELASZ:
			l->count[0] = d->d_un.d_val / sizeof(Elf64_Rela);
			break;
		case DT_JMPREL:
			l->rela[1] = (const Elf64_Rela *)at(l, d->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			l->count[1] = d->d_un.d_val / sizeof(Elf64_Rela);
			break;
		case DT_SYMTAB:
			l->symbols = (const Elf64_Sym *)at(l, d->d_un.d_ptr);
			break;
		case DT_STRTAB:
			l->strings = (const char *)at(l, d->d_un.d_ptr);
			break;
		default:
			break;
		}
	}
}

static bool read_library(const struct dl_phdr_info *info, struct library *l)
{
	const Elf64_Dyn *dynamic = NULL;

	const char *slash = strrchr(info->dlpi_name, '/');

	memset(l, 0, sizeof(*l));
	l->base = info->dlpi_addr;
	l->file = slash ? slash + 1 : info->dlpi_name;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_DYNAMIC)
			dynamic = (const Elf64_Dyn *)(l->base + p->p_vaddr);
		if (p->p_type == PT_GNU_RELRO) {
			l->relro = l->base + p->p_vaddr;
			l->relro_end = l->relro + p->p_memsz;
		}
		if (p->p_type == PT_LOAD && (p->p_flags & PF_X)) {
			l->text = l->base + p->p_vaddr;
			l->text_end = l->text + p->p_memsz;
		}
	}
	if (dynamic)
		read_dynamic(l, dynamic);
	return l->symbols && l->strings;
}

/* Ours, and the loader, which must not call out while it works. */
static bool is_exempt(const struct library *l)
{
	uint64_t self = (uint64_t)is_exempt;

	if (self >= l->text && self < l->text_end)
		return true;
	return strncmp(l->file, "ld-", 3) == 0;
}

static enum seal maps_say(const char *line, uint64_t page)
{
	for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		char *end;
		uint64_t from = strtoull(line, &end, 16),
			 to = *end ? strtoull(end + 1, &end, 16) : 0;

		if (page >= from && page < to)
			return *end && end[1] && end[2] == 'w' ? OPEN : SEALED;
	}
	return UNKNOWN;
}

static void read_maps(struct sp_buf *ret)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	sp_buf_read_fd(ret, fd, MAPS_MAX);
	close(fd);
}

/* As it was when this work began. */
static enum seal seal_of(struct work *w, uint64_t page)
{
	if (!w->maps.len)
		read_maps(&w->maps);
	if (page != w->page) {
		w->page = page;
		w->seal = maps_say(sp_buf_str(&w->maps), page);
	}
	return w->seal;
}

/* A page that is open where it should be sealed is one of two: another agent has unsealed it for
 * good, and would fall over a page that we seal behind us; or the loader still relocates it, and
 * will seal it at the very moment at which we write, or fall over our seal itself. Which of them it
 * is, only settled libraries show. */
static bool write_entry(const struct library *l, struct work *w, void **entry, void *to)
{
	uint64_t page = (uint64_t)entry & ~4095ull;
	bool relro = (uint64_t)entry >= l->relro && (uint64_t)entry < (l->relro_end & ~4095ull);
	enum seal seal = relro ? seal_of(w, page) : OPEN;

	if (relro && seal != SEALED && !w->is_settled)
		return false;
	if (seal != OPEN && mprotect((void *)page, 4096, PROT_READ | PROT_WRITE) < 0)
		return true;
	__atomic_store_n(entry, to, __ATOMIC_RELEASE);
	if (seal != OPEN)
		mprotect((void *)page, 4096, PROT_READ);
	w->changed++;
	return true;
}

static bool is_meant(const struct library *l, const struct sp_got_hook *h)
{
	return h->real && !(h->not_in && strncmp(l->file, h->not_in, strlen(h->not_in)) == 0);
}

/* Leads the entry to the real function, or to the library's own stub that will look it up? */
static bool is_bound(const struct library *l, const void *to, const struct sp_got_hook *h)
{
	return to == h->real || ((uint64_t)to >= l->text && (uint64_t)to < l->text_end);
}

static void patch_entry(const struct library *l, const Elf64_Rela *r, struct work *w)
{
	uint32_t type = ELF64_R_TYPE(r->r_info), symbol = ELF64_R_SYM(r->r_info);
	void **entry = (void **)(l->base + r->r_offset);
	const char *name;

	if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) || !symbol)
		return;
	name = l->strings + l->symbols[symbol].st_name;
	for (size_t i = 0; i < w->count; i++) {
		const struct sp_got_hook *h = &w->hooks[i];

		if (h->name[0] != name[0] || strcmp(h->name, name) != 0)
			continue;
		if (!is_meant(l, h))
			return;
		if (w->restore ? *entry == h->hook : is_bound(l, *entry, h))
			w->left += !write_entry(l, w, entry, w->restore ? h->real : h->hook);
		else if (!w->is_settled && (uint64_t)*entry < l->base)
			w->left++; /* not relocated yet */
		return;
	}
}

static int visit(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct library l;
	struct work *w = ctx;

	/* What holds a hook was settled when it got it. */
	w->is_settled = w->restore || info->dlpi_adds == w->settled;
	if (!read_library(info, &l) || is_exempt(&l))
		return 0;
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; l.rela[k] && i < l.count[k]; i++)
			patch_entry(&l, &l.rela[k][i], w);
	return 0;
}

size_t sp_got_patch_apply(
	const struct sp_got_hook *hooks, size_t count, uint64_t settled, size_t *ret_left)
{
	struct work w = {.hooks = hooks, .count = count, .settled = settled};

	dl_iterate_phdr(visit, &w);
	sp_buf_done(&w.maps);
	*ret_left = w.left;
	return w.changed;
}

size_t sp_got_patch_restore(const struct sp_got_hook *hooks, size_t count)
{
	struct work w = {.hooks = hooks, .count = count, .restore = true};

	dl_iterate_phdr(visit, &w);
	sp_buf_done(&w.maps);
	return w.changed;
}

static int first(struct dl_phdr_info *info, size_t size, void *ctx)
{
	*(uint64_t *)ctx = info->dlpi_adds;
	return 1;
}

uint64_t sp_got_patch_epoch(void)
{
	uint64_t epoch = 0;

	dl_iterate_phdr(first, &epoch);
	return epoch;
}

/* The loader holds its lock from before it lists a library until it has run its constructors;
 * dladdr() takes that lock. */
uint64_t sp_got_patch_settle(void)
{
	uint64_t epoch = sp_got_patch_epoch();
	Dl_info info;

	dladdr((void *)sp_got_patch_settle, &info);
	return epoch;
}
