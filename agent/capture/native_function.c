/* See native_function.h. */
#include "native_function.h"

#include "base/cleanup.h"
#include "host/elf_symtab.h"
#include "unwind/cfi.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST 8 /* of one name that are kept apart */

/* How well a symbol fits what was asked for. */
enum fit { NONE, CLONE, PARAMETERS, EXACT };

struct candidate {
	uint64_t address;
	char symbol[128];
};

struct search {
	const char *name;
	char mangled[256]; /* what a C++ function of that name begins with; "": no such name */
	const struct sp_module *module;
	enum fit best;
	struct candidate found[MOST];
	uint32_t count;
};

/* A::b is _ZN1A1bE…, and with const behind it _ZNK1A1bE…; f is _Z1f…. Itanium C++ ABI, 5.1. */
static void mangle(const char *name, char *ret, size_t size)
{
	bool nested = strstr(name, "::") != NULL;
	size_t used = (size_t)snprintf(ret, size, nested ? "_ZN" : "_Z");

	for (const char *p = name; *p;) {
		const char *end = strstr(p, "::");
		size_t n = end ? (size_t)(end - p) : strlen(p);

		if (!n || used + n + 8 > size) {
			*ret = '\0';
			return;
		}
		used += (size_t)snprintf(ret + used, size - used, "%zu%.*s", n, (int)n, p);
		p += n + (end ? 2 : 0);
	}
	if (nested)
		snprintf(ret + used, size - used, "E");
}

static bool begins(const char *symbol, const char *with)
{
	return strncmp(symbol, with, strlen(with)) == 0;
}

static bool is_mangled(const struct search *s, const char *symbol)
{
	bool constant = begins(symbol, "_ZNK") && begins(s->mangled, "_ZN");

	if (!*s->mangled)
		return false;
	return constant ? begins(symbol + 4, s->mangled + 3) : begins(symbol, s->mangled);
}

static enum fit fits(const struct search *s, const char *symbol)
{
	size_t n = strlen(s->name);
	const char *dot;

	if (strcmp(symbol, s->name) == 0)
		return EXACT;
	if (strncmp(symbol, s->name, n) != 0 || symbol[n] != '.') {
		if (!is_mangled(s, symbol))
			return NONE;
	}
	dot = strchr(symbol, '.');
	/* What is seldom run of a function lies elsewhere, and is none. */
	if (dot && strstr(dot, ".cold"))
		return NONE;
	return dot ? CLONE : PARAMETERS;
}

static void look(void *ctx, const char *symbol, uint64_t offset)
{
	struct search *s = ctx;
	uint64_t address = s->module->base + offset;
	enum fit fit = fits(s, symbol);

	if (fit == NONE || fit < s->best)
		return;
	if (fit > s->best)
		s->count = 0;
	s->best = fit;
	for (uint32_t i = 0; i < s->count && i < MOST; i++)
		if (s->found[i].address == address)
			return;
	if (s->count < MOST) {
		s->found[s->count].address = address;
		snprintf(s->found[s->count].symbol, sizeof(s->found[0].symbol), "%s", symbol);
	}
	s->count++;
}

struct place {
	uint64_t address, offset;
	const char *path;
};

static int find_place(struct dl_phdr_info *lib, size_t size, void *ctx)
{
	struct place *p = ctx;

	for (int i = 0; i < lib->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &lib->dlpi_phdr[i];
		uint64_t at = lib->dlpi_addr + h->p_vaddr;

		if (h->p_type == PT_LOAD && p->address >= at && p->address < at + h->p_memsz) {
			p->offset = p->address - at + h->p_offset;
			return 1;
		}
	}
	return 0;
}

static void take(struct sp_native_function *ret, uint64_t address, const char *path)
{
	struct place p = {.address = address};

	ret->address = address;
	if (dl_iterate_phdr(find_place, &p) && strlen(path) < sizeof(ret->path)) {
		memcpy(ret->path, path, strlen(path) + 1);
		ret->offset = p.offset;
	}
}

static int refuse(const char *event, const char *path, const struct search *s, struct sp_err *err)
{
	char names[4 * sizeof(s->found[0].symbol)] = "";
	size_t used = 0;

	if (!s->count && path)
		return sp_err_set(err, -ENOENT,
			"%s: that library is not loaded in the target, or has no such function; "
			"write uprobe:/PATH+OFFSET",
			event);
	if (!s->count)
		return sp_err_set(err, -ENOENT,
			"'%s' is not an event, nor a function of a library that is loaded in the "
			"target; 'sparkprof list' shows events",
			event);
	for (uint32_t i = 0; i < s->count && i < 4; i++)
		if (s->best == EXACT)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s0x%llx",
				i ? ", " : "", (unsigned long long)s->found[i].address);
		else
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
				i ? ", " : "", s->found[i].symbol);
	return sp_err_set(err, -EINVAL,
		"%s: %u functions have that name; write one of them with mem: before and :x behind "
		"it: %s",
		event, s->count, names);
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* By symbol tables. Libraries whose files are gone or stripped have none. */
static int search_all(const char *event, const char *path, struct sp_modules *modules,
	struct search *s, struct sp_native_function *ret, struct sp_err *err)
{
	const struct sp_module *m, *owner = NULL;
	uint32_t before = 0;
	enum fit was = NONE;

	for (uint32_t i = 0; (m = sp_modules_at(modules, i)); i++) {
		s->module = m;
		if (m->path[0] != '/' || (path && !same_file(m->path, path)))
			continue;
		sp_elf_symtab_each(m, look, s);
		if (s->best != was || s->count != before)
			owner = m;
		was = s->best;
		before = s->count;
	}
	if (s->count != 1)
		return refuse(event, path, s, err);
	take(ret, s->found[0].address, owner->path);
	return 0;
}

/* What the linker would take; it also chooses among the variants of an indirect function. A
 * library's handle finds what those export that it needs, too: that is not asked for. */
static uint64_t exported(const char *path, const char *name, char *ret_path, size_t size)
{
	void *lib = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	void *at = path && !lib ? NULL : dlsym(lib ? lib : RTLD_DEFAULT, name);
	struct link_map *map = NULL;
	Dl_info info = {0};

	if (at && !dladdr(at, &info))
		at = NULL;
	if (at && lib &&
		(dlinfo(lib, RTLD_DI_LINKMAP, &map) < 0 || (uint64_t)info.dli_fbase != map->l_addr))
		at = NULL;
	if (at)
		snprintf(ret_path, size, "%s", path ? path : info.dli_fname);
	if (lib)
		dlclose(lib);
	return (uint64_t)at;
}

int sp_native_function_find(const char *event, const char *path, const char *name,
	struct sp_native_function *ret, struct sp_err *err)
{
	char file[256] = "";
	uint64_t at = exported(path, name, file, sizeof(file));
	SP_AUTO_FREE struct search *s = calloc(1, sizeof(*s));
	struct sp_mem_live *live = NULL;
	struct sp_modules *modules = NULL;
	int r;

	memset(ret, 0, sizeof(*ret));
	if (at) {
		take(ret, at, file);
		return 0;
	}
	if (!s || sp_mem_live_new(&live, 0, NULL) < 0)
		return sp_err_set(err, -ENOMEM, "out of memory");
	s->name = name;
	mangle(name, s->mangled, sizeof(s->mangled));
	r = sp_modules_new(&modules, sp_mem_live_mem(live));
	if (r == 0)
		r = sp_modules_refresh(modules, true);
	r = r < 0 ? sp_err_set(err, r, "%s: the target's libraries cannot be read", event)
		  : search_all(event, path, modules, s, ret, err);
	sp_modules_free(modules);
	sp_mem_live_free(live);
	return r;
}

struct beginning {
	uint64_t base, offset, address; /* where @offset of the file lies in memory */
	bool found;
};

static int find_address(struct dl_phdr_info *lib, size_t size, void *ctx)
{
	struct beginning *b = ctx;

	for (int i = 0; lib->dlpi_addr == b->base && i < lib->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &lib->dlpi_phdr[i];

		if (h->p_type == PT_LOAD && h->p_flags & PF_X && b->offset >= h->p_offset &&
			b->offset - h->p_offset < h->p_filesz) {
			b->address = b->base + h->p_vaddr + b->offset - h->p_offset;
			return 1;
		}
	}
	return 0;
}

static void compare(void *ctx, const char *symbol, uint64_t offset)
{
	struct beginning *b = ctx;

	b->found |= b->base + offset == b->address;
}

/* By the unwind table, which stripped libraries have as well, or by a symbol. */
static bool begins_there(const struct sp_mem *mem, const struct sp_module *m, struct beginning *b)
{
	struct sp_cfi_row row;
	uint64_t function;

	if (!dl_iterate_phdr(find_address, b))
		return false;
	if (sp_cfi_find(mem, m, b->address, &row, &function) == 0 && function == b->address)
		return true;
	sp_elf_symtab_each(m, compare, b);
	return b->found;
}

int sp_native_function_begins(
	const char *event, const char *path, uint64_t offset, struct sp_err *err)
{
	const struct sp_module *m = NULL;
	struct beginning b = {.offset = offset};
	struct sp_mem_live *live = NULL;
	struct sp_modules *modules = NULL;
	int r = sp_mem_live_new(&live, 0, NULL);

	if (r == 0)
		r = sp_modules_new(&modules, sp_mem_live_mem(live));
	if (r == 0)
		r = sp_modules_refresh(modules, true);
	for (uint32_t i = 0; r >= 0 && (m = sp_modules_at(modules, i)); i++)
		if (m->path[0] == '/' && same_file(m->path, path))
			break;
	b.base = m ? m->base : 0;
	if (r < 0)
		sp_err_set(err, r, "%s: the target's libraries cannot be read", event);
	else if (!m)
		r = sp_err_set(err, -ENOENT, "%s: that file is not loaded in the target", event);
	else if (begins_there(sp_mem_live_mem(live), m, &b))
		r = 0;
	else
		r = sp_err_set(err, -EINVAL,
			"%s: no function begins there; in the middle of an instruction a probe "
			"would end the target",
			event);
	sp_modules_free(modules);
	sp_mem_live_free(live);
	return r;
}
