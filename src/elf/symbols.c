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

#include "base/boot_id.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "base/hash.h"
#include "elf/kallsyms.h"
#include "elf/symtab.h"

/* A file that the target has mapped. */
struct mapping {
	char *path; /* owned */
	uint64_t dev, ino;
};

/* What was asked for, and what came of it: a table or a problem, never both. */
struct module {
	uint64_t hash;		 /* of both */
	char *name, *build_id;	 /* owned; "" unknown */
	struct sp_symtab *table; /* owned */
	char *problem;		 /* owned: why there is none */
	bool given;		 /* by sp_symbols_set_vdso */
	bool refused;		 /* because this machine's is another one */
};

struct sp_symbols {
	int root_fd, host_fd;
	bool elsewhere;
	struct mapping *mappings;
	struct module *modules;
	size_t mapping_count, mapping_cap, module_count, module_cap;
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

void sp_symbols_elsewhere(struct sp_symbols *s)
{
	s->elsewhere = true;
}

static void module_done(struct module *m)
{
	free(m->name);
	free(m->build_id);
	free(m->problem);
	sp_symtab_free(m->table);
}

void sp_symbols_free(struct sp_symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->mapping_count; i++)
		free(s->mappings[i].path);
	for (size_t i = 0; i < s->module_count; i++)
		module_done(&s->modules[i]);
	free(s->mappings);
	free(s->modules);
	sp_cleanup_close(&s->host_fd);
	free(s);
}

/* Recordings of a whole application may have hundreds of modules. */
static uint64_t hash_module(const char *name, const char *build_id)
{
	return sp_hash_bytes(name, strlen(name)) ^ sp_hash_bytes(build_id, strlen(build_id)) << 1;
}

static struct module *add_module(struct sp_symbols *s, const char *name, const char *build_id)
{
	struct module m = {.hash = hash_module(name, build_id),
		.name = strdup(name),
		.build_id = strdup(build_id)};

	if (!m.name || !m.build_id ||
		sp_grow(&s->modules, &s->module_cap, s->module_count, sizeof(m), 64) < 0) {
		module_done(&m);
		return NULL;
	}
	s->modules[s->module_count] = m;
	return &s->modules[s->module_count++];
}

int sp_symbols_add_module(struct sp_symbols *s, const char *path, uint64_t dev, uint64_t ino)
{
	struct mapping m = {.dev = dev, .ino = ino};

	if (path[0] != '/')
		return 0;
	for (size_t i = 0; i < s->mapping_count; i++)
		if (s->mappings[i].ino == ino && s->mappings[i].dev == dev &&
			strcmp(s->mappings[i].path, path) == 0)
			return 0;
	m.path = strdup(path);
	if (!m.path ||
		sp_grow(&s->mappings, &s->mapping_cap, s->mapping_count, sizeof(m), 64) < 0) {
		free(m.path);
		return -ENOMEM;
	}
	s->mappings[s->mapping_count++] = m;
	return 0;
}

/* One line of /proc/PID/maps. Returns 0 or -ENOMEM. */
static int add_line(struct sp_symbols *s, const char *line)
{
	unsigned int maj, min;
	uint64_t ino;
	char perms[8];
	int at = 0;

	if (sscanf(line, "%*x-%*x %7s %*x %x:%x %" SCNu64 " %n", perms, &maj, &min, &ino, &at) <
			4 ||
		at == 0 || perms[2] != 'x')
		return 0;
	return sp_symbols_add_module(s, line + at, makedev(maj, min), ino);
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
		r = add_line(s, line);
	return r;
}

int sp_symbols_set_vdso(struct sp_symbols *s, const void *image, size_t len, struct sp_err *err)
{
	struct sp_symtab *t;
	int r = sp_symtab_open_image(image, len, &t, err);
	struct module *m;

	if (r < 0)
		return r;
	m = add_module(s, "[vdso]", "");
	if (!m) {
		sp_symtab_free(t);
		return sp_err_set(err, -ENOMEM, "not enough memory for symbols");
	}
	m->table = t;
	m->given = true;
	return 0;
}

/* The launcher's own vdso: an ELF file in memory; its section headers give its length. */
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

/* Is @path the module called @name, a whole path or the last part of one? */
static bool is_called(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return strcmp(path, name) == 0 || (slash && strcmp(slash + 1, name) == 0);
}

/* Tries the mapped files of that name (two may differ in directory), then the path itself, which is
 * believed by build id only. */
static int open_file(struct sp_symbols *s, struct module *m, struct sp_err *err)
{
	struct sp_symtab_source src = {
		.root_fd = s->root_fd, .host_fd = s->host_fd, .build_id = m->build_id};
	int r = -ENOENT;

	if (s->elsewhere && !m->build_id[0])
		return sp_err_set(err, -ESTALE,
			"%s has no build id, so it cannot be checked against the recording",
			m->name);
	sp_err_set(err, r, "%s: where this module lies is not known", m->name);
	for (size_t i = 0; i < s->mapping_count; i++) {
		if (!is_called(s->mappings[i].path, m->name))
			continue;
		src.path = s->mappings[i].path;
		src.dev = s->mappings[i].dev;
		src.ino = s->mappings[i].ino;
		r = sp_symtab_open(&src, &m->table, err);
		if (r == 0)
			return 0;
	}
	if (m->name[0] != '/' || !m->build_id[0])
		return r;
	src.path = m->name;
	src.dev = src.ino = 0;
	return sp_symtab_open(&src, &m->table, err);
}

/* Addresses of one boot say nothing in another. */
static int open_kernel(struct module *m, struct sp_err *err)
{
	char here[SP_BOOT_ID];

	if (!m->build_id[0])
		return sp_err_set(err, -ESTALE,
			"the recording does not say which boot of which machine its kernel "
			"addresses belong to");
	if (sp_boot_id(here) < 0 || strcmp(here, m->build_id) != 0)
		return sp_err_set(err, -ESTALE,
			"recorded on another machine, or before this one was last started");
	return sp_kallsyms_open(NULL, &m->table, err);
}

static int open_vdso(struct module *m, struct sp_err *err)
{
	int r = open_own_vdso(&m->table, err);

	if (r < 0 || !m->build_id[0] || strcmp(m->build_id, sp_symtab_build_id(m->table)) == 0)
		return r;
	sp_symtab_free(m->table);
	m->table = NULL;
	return sp_err_set(err, -ESTALE, "[vdso]: this kernel's is another one");
}

static int open_table(struct sp_symbols *s, struct module *m, struct sp_err *err)
{
	if (strcmp(m->name, "[kernel]") == 0)
		return open_kernel(m, err);
	if (strcmp(m->name, "[vdso]") == 0)
		return open_vdso(m, err);
	return open_file(s, m, err);
}

static struct module *module_of(struct sp_symbols *s, const char *name, const char *build_id)
{
	const char *id = build_id ? build_id : "";
	uint64_t hash = hash_module(name, id), given = hash_module(name, "");
	bool vdso = strcmp(name, "[vdso]") == 0; /* the target's own, if it was given, is it */
	struct sp_err err = {""};
	struct module *m;
	int r;

	for (size_t i = 0; i < s->module_count; i++) {
		m = &s->modules[i];
		if ((m->hash == hash && strcmp(m->name, name) == 0 &&
			    strcmp(m->build_id, id) == 0) ||
			(vdso && m->given && m->hash == given))
			return m;
	}
	m = add_module(s, name, id);
	if (!m)
		return NULL;
	r = open_table(s, m, &err);
	if (r < 0)
		m->problem = strdup(err.text);
	m->refused = r == -ESTALE;
	return m;
}

static const struct sp_symtab *table_of(
	struct sp_symbols *s, const char *name, const char *build_id)
{
	const struct module *m = module_of(s, name, build_id);

	return m ? m->table : NULL;
}

bool sp_symbols_refused(
	struct sp_symbols *s, const char *module, const char *build_id, const char **ret_why)
{
	const struct module *m = module_of(s, module, build_id);

	if (!m || !m->refused || !m->problem)
		return false;
	*ret_why = m->problem;
	return true;
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
	for (size_t i = 0; i < s->module_count; i++)
		if (s->modules[i].problem && n-- == 0)
			return s->modules[i].problem;
	return NULL;
}
