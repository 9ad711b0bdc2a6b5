/* The cache of opened modules: see symbols.h. A module is opened at the first question about it and
 * kept; one that failed is remembered with its sentence and not tried again. */
#include "elf/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "elf/kallsyms.h"
#include "elf/symtab.h"

struct module {
	char *path;	/* owned */
	char *build_id; /* owned; "" unknown */
	uint64_t dev, ino;
	struct sp_symtab *table; /* NULL: not opened yet, or failed */
	char *problem;		 /* owned; why it could not be opened */
};

struct sp_symbols {
	int root_fd, host_fd;
	struct module *modules;
	size_t count, cap;
};

int sp_symbols_new(struct sp_symbols **ret, int root_fd, struct sp_err *err)
{
	struct sp_symbols *s = calloc(1, sizeof(*s));

	if (!s)
		return sp_err_set(err, -ENOMEM, "not enough memory for symbols");
	s->root_fd = root_fd;
	s->host_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	*ret = s;
	return 0;
}

void sp_symbols_free(struct sp_symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++) {
		free(s->modules[i].path);
		free(s->modules[i].build_id);
		free(s->modules[i].problem);
		sp_symtab_free(s->modules[i].table);
	}
	free(s->modules);
	sp_cleanup_close(&s->host_fd);
	free(s);
}

static struct module *add_module(struct sp_symbols *s, const char *path, const char *build_id)
{
	struct module *m;

	if (s->count == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 64;

		m = reallocarray(s->modules, cap, sizeof(*m));
		if (!m)
			return NULL;
		s->modules = m;
		s->cap = cap;
	}
	m = &s->modules[s->count];
	memset(m, 0, sizeof(*m));
	m->path = strdup(path);
	m->build_id = strdup(build_id);
	if (!m->path || !m->build_id) {
		free(m->path);
		free(m->build_id);
		return NULL;
	}
	s->count++;
	return m;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* One line of /proc/PID/maps. Returns 0 or -ENOMEM. */
static int add_mapping(struct sp_symbols *s, const char *line)
{
	unsigned int maj, min;
	char perms[8];
	uint64_t ino;
	int at = 0;
	struct module *m;

	if (sscanf(line, "%*x-%*x %7s %*x %x:%x %" SCNu64 " %n", perms, &maj, &min, &ino, &at) <
			4 ||
		at == 0 || perms[2] != 'x' || line[at] != '/')
		return 0;
	for (size_t i = 0; i < s->count; i++) {
		m = &s->modules[i];
		if (m->ino == ino && m->dev == makedev(maj, min) && strcmp(m->path, line + at) == 0)
			return 0;
	}
	m = add_module(s, line + at, "");
	if (!m)
		return -ENOMEM;
	m->dev = makedev(maj, min);
	m->ino = ino;
	return 0;
}

int sp_symbols_add_maps(struct sp_symbols *s, const char *maps, size_t len)
{
	SP_AUTO_FREE char *text = strndup(maps, len);
	char *save = NULL;
	int r = 0;

	if (!text)
		return -ENOMEM;
	for (char *line = strtok_r(text, "\n", &save); r == 0 && line;
		line = strtok_r(NULL, "\n", &save))
		r = add_mapping(s, line);
	return r;
}

int sp_symbols_set_vdso(struct sp_symbols *s, const void *image, size_t len, struct sp_err *err)
{
	struct sp_symtab *t;
	int r = sp_symtab_open_image(image, len, &t, err);
	struct module *m;

	if (r < 0)
		return r;
	m = add_module(s, "[vdso]", sp_symtab_build_id(t));
	if (!m) {
		sp_symtab_free(t);
		return sp_err_set(err, -ENOMEM, "not enough memory for symbols");
	}
	m->table = t;
	return 0;
}

/* The launcher's own vdso: an ELF file in memory whose length its section headers tell. */
static int open_own_vdso(struct sp_symtab **ret, struct sp_err *err)
{
	unsigned long base = getauxval(AT_SYSINFO_EHDR);
	SP_AUTO_FCLOSE FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned long from, to;

	while (f && base && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && from == base)
			return sp_symtab_open_image((const void *)from, to - from, ret, err);
	return sp_err_set(err, -ENOENT, "there is no vdso");
}

static int open_table(struct sp_symbols *s, struct module *m, struct sp_err *err)
{
	struct sp_symtab_source src = {.root_fd = s->root_fd,
		.host_fd = s->host_fd,
		.path = m->path,
		.dev = m->dev,
		.ino = m->ino,
		.build_id = m->build_id};

	if (strcmp(m->path, "[kernel]") == 0)
		return sp_kallsyms_open(NULL, &m->table, err);
	if (strcmp(m->path, "[vdso]") == 0)
		return open_own_vdso(&m->table, err);
	if (m->path[0] != '/')
		return sp_err_set(err, -ENOENT, "%s: where this module lies is not known", m->path);
	if (m->ino == 0 && !m->build_id[0])
		return sp_err_set(
			err, -ENOENT, "%s: neither mapped nor known by build id", m->path);
	return sp_symtab_open(&src, &m->table, err);
}

/* A module that was asked for is known by the name it was asked by and the build id. */
static struct module *lookup(struct sp_symbols *s, const char *name, const char *build_id)
{
	struct module *mapped = NULL, *m;

	for (size_t i = 0; i < s->count; i++) {
		m = &s->modules[i];
		if (strcmp(m->path, name) != 0 &&
			(strchr(name, '/') || strcmp(last_part(m->path), name) != 0))
			continue;
		if (strcmp(m->build_id, build_id) == 0 && (m->table || m->problem))
			return m;
		if (!m->build_id[0] && !m->table && !m->problem)
			mapped = m; /* from maps, not opened yet */
	}
	if (!mapped)
		return add_module(s, name, build_id);
	if (build_id[0]) {
		free(mapped->build_id);
		mapped->build_id = strdup(build_id);
		if (!mapped->build_id)
			mapped->build_id = strdup("");
	}
	return mapped->build_id ? mapped : NULL;
}

static const struct sp_symtab *table_of(
	struct sp_symbols *s, const char *name, const char *build_id)
{
	struct module *m = lookup(s, name, build_id ? build_id : "");
	struct sp_err err = {""};

	if (!m)
		return NULL;
	if (!m->table && !m->problem && open_table(s, m, &err) < 0)
		m->problem = strdup(err.text);
	return m->table;
}

int sp_symbols_find(struct sp_symbols *s, const char *module, const char *build_id, uint64_t addr,
	const char **ret_name)
{
	const struct sp_symtab *t = table_of(s, module, build_id);

	return t ? sp_symtab_find(t, addr, ret_name) : -ENOENT;
}

int sp_symbols_find_offset(struct sp_symbols *s, const char *module, const char *build_id,
	uint64_t file_offset, const char **ret_name)
{
	const struct sp_symtab *t = table_of(s, module, build_id);
	uint64_t addr;

	if (!t || sp_symtab_address(t, file_offset, &addr) < 0)
		return -ENOENT;
	return sp_symtab_find(t, addr, ret_name);
}

const char *sp_symbols_problem(const struct sp_symbols *s, size_t n)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->modules[i].problem && n-- == 0)
			return s->modules[i].problem;
	return NULL;
}
