/* See private_malloc.h. Libraries are listed first and asked afterwards: the loader's lock is held
 * while it lists them. */
#include "private_malloc.h"

#include "base/cleanup.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1024

/* jemalloc (C and Rust), mimalloc, tcmalloc, rpmalloc, and whatever takes malloc's own name. */
static const char *const signs[] = {
	"je_malloc", "_rjem_malloc", "mi_malloc", "tc_malloc", "rpmalloc", "malloc"};

struct list {
	char *names[MOST]; /* owned */
	size_t count;
};

static bool starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static int list_library(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const char *base = strrchr(info->dlpi_name, '/');
	struct list *l = ctx;

	/* The C library has its malloc even where another one is the process's. */
	if (!base || starts(base, "/libc.so") || starts(base, "/libc-2") || starts(base, "/ld-") ||
		l->count == MOST)
		return 0;
	l->names[l->count] = strdup(info->dlpi_name);
	l->count += l->names[l->count] != NULL;
	return 0;
}

/* Is a function of that name in this library, and not in one that it needs? */
static bool is_in(void *library, const char *function, const void *process_malloc)
{
	void *at = dlsym(library, function);
	struct link_map *map = NULL;
	Dl_info where, own;

	if (!at || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !dladdr(at, &where))
		return false;
	if (dladdr(process_malloc, &own) && own.dli_fbase == where.dli_fbase)
		return false;
	return (uint64_t)where.dli_fbase == map->l_addr;
}

static bool has_allocator(const char *name, const void *process_malloc)
{
	void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
	bool found = false;

	if (!library)
		return false;
	for (size_t i = 0; i < SP_COUNT(signs) && !found; i++)
		found = is_in(library, signs[i], process_malloc);
	dlclose(library);
	return found;
}

void sp_private_malloc_find(const void *process_malloc, void (*fn)(const char *library))
{
	SP_AUTO_FREE struct list *l = calloc(1, sizeof(*l));

	if (!l)
		return;
	dl_iterate_phdr(list_library, l);
	for (size_t i = 0; i < l->count; i++) {
		if (has_allocator(l->names[i], process_malloc))
			fn(strrchr(l->names[i], '/') + 1);
		free(l->names[i]);
	}
}
