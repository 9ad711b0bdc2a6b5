/* The code map from /proc/self/maps. Mappings of one file that follow each other are one image;
 * only images with executable pages become modules. */
#include "unwind/modules.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "unwind/image.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#define MAPS_MAX (64u << 20)

struct sp_modules {
	const struct sp_mem *mem;
	struct sp_module *list; /* sorted by exec_start; paths are owned */
	uint32_t count;
	size_t room;
	uint32_t next_id, epoch;
	unsigned long long adds, subs;
};

int sp_modules_new(struct sp_modules **ret, const struct sp_mem *mem)
{
	struct sp_modules *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->mem = mem;
	m->next_id = 1;
	*ret = m;
	return 0;
}

static void list_free(struct sp_module *list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		free((char *)list[i].path);
	free(list);
}

void sp_modules_free(struct sp_modules *m)
{
	if (!m)
		return;
	list_free(m->list, m->count);
	free(m);
}

struct mapping {
	uint64_t start, end, offset;
	bool exec;
	const char *path;
	size_t path_len;
};

static const char *parse_hex(const char *p, const char *end, uint64_t *ret)
{
	uint64_t v = 0;

	for (; p < end; p++) {
		if (*p >= '0' && *p <= '9')
			v = v << 4 | (uint64_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			v = v << 4 | (uint64_t)(*p - 'a' + 10);
		else
			break;
	}
	*ret = v;
	return p;
}

/* "start-end perms offset dev inode   path" */
static bool parse_line(const char *p, const char *end, struct mapping *ret)
{
	p = parse_hex(p, end, &ret->start);
	if (p >= end || *p != '-')
		return false;
	p = parse_hex(p + 1, end, &ret->end);
	if (end - p < 6 || *p != ' ')
		return false;
	ret->exec = p[3] == 'x';
	p = parse_hex(p + 6, end, &ret->offset);
	for (int field = 0; field < 2; field++) { /* dev, inode */
		while (p < end && *p == ' ')
			p++;
		while (p < end && *p != ' ')
			p++;
	}
	while (p < end && *p == ' ')
		p++;
	ret->path = p;
	ret->path_len = (size_t)(end - p);
	return ret->end > ret->start;
}

static bool same_path(const struct sp_module *mod, const struct mapping *map)
{
	return mod->path && strlen(mod->path) == map->path_len &&
	       !memcmp(mod->path, map->path, map->path_len);
}

/* Takes the finished image over into the list, or drops it. */
static void image_end(struct sp_modules *m, struct sp_module *mod)
{
	const char *slash;

	if (!mod->path)
		return;
	if (!mod->exec_end || sp_image_read(m->mem, mod) < 0) {
		free((char *)mod->path);
		memset(mod, 0, sizeof(*mod));
		return;
	}
	if (sp_grow(&m->list, &m->room, m->count, sizeof(*m->list), 64) < 0) {
		free((char *)mod->path);
		memset(mod, 0, sizeof(*mod));
		return;
	}
	slash = strrchr(mod->path, '/');
	mod->name = slash ? slash + 1 : mod->path;
	m->list[m->count++] = *mod;
	memset(mod, 0, sizeof(*mod));
}

/* Somebody who reads a library as a file may have it mapped just below its image: that begins where
 * the file begins for the last time before the code, unless two segments share the first page. */
static bool begins_anew(
	const struct sp_modules *m, const struct sp_module *mod, const struct mapping *map)
{
	return map->offset == 0 &&
	       (mod->exec_end || !map->exec || sp_image_starts_with_code(m->mem, map->start));
}

static void image_add(struct sp_modules *m, struct sp_module *mod, const struct mapping *map)
{
	if (!map->path_len || (map->path[0] == '[' && memcmp(map->path, "[vdso]", 6) != 0))
		return;
	if (!same_path(mod, map) || begins_anew(m, mod, map)) {
		image_end(m, mod);
		if (map->offset != 0)
			return;
		mod->path = strndup(map->path, map->path_len);
		mod->start = map->start;
	}
	mod->end = map->end;
	if (map->exec) {
		if (!mod->exec_end)
			mod->exec_start = map->start;
		mod->exec_end = map->end;
	}
}

static bool same_module(const struct sp_module *a, const struct sp_module *b)
{
	return a->start == b->start && a->end == b->end && a->build_id_len == b->build_id_len &&
	       !memcmp(a->build_id, b->build_id, a->build_id_len) && !strcmp(a->path, b->path);
}

static bool keep_ids(struct sp_modules *m, const struct sp_module *old, uint32_t old_count)
{
	bool changed = old_count != m->count;

	for (uint32_t i = 0; i < m->count; i++) {
		for (uint32_t k = 0; k < old_count && !m->list[i].id; k++)
			if (same_module(&m->list[i], &old[k]))
				m->list[i].id = old[k].id;
		if (!m->list[i].id) {
			m->list[i].id = m->next_id++;
			changed = true;
		}
	}
	return changed;
}

static int by_start(const void *a, const void *b)
{
	const struct sp_module *x = a, *y = b;

	return x->exec_start < y->exec_start ? -1 : x->exec_start > y->exec_start;
}

int sp_modules_parse(struct sp_modules *m, const char *maps, size_t len)
{
	struct sp_module *old = m->list, mod = {0};
	uint32_t old_count = m->count;
	const char *p = maps, *end = maps + len;
	bool changed;

	m->list = NULL;
	m->count = 0;
	m->room = 0;
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		struct mapping map;

		if (!nl)
			nl = end;
		if (parse_line(p, nl, &map))
			image_add(m, &mod, &map);
		p = nl + 1;
	}
	image_end(m, &mod);
	if (m->count)
		qsort(m->list, m->count, sizeof(*m->list), by_start);
	changed = keep_ids(m, old, old_count);
	list_free(old, old_count);
	if (changed)
		m->epoch++;
	return changed;
}

static int count_loads(struct dl_phdr_info *info, size_t size, void *data)
{
	unsigned long long *counts = data;

	counts[0] = info->dlpi_adds;
	counts[1] = info->dlpi_subs;
	return 1; /* the first object is enough */
}

int sp_modules_refresh(struct sp_modules *m, bool force)
{
	SP_AUTO_BUF struct sp_buf text;
	SP_AUTO_CLOSE int fd = -1;
	unsigned long long counts[2] = {0, 0};
	int r;

	sp_buf_init(&text);
	dl_iterate_phdr(count_loads, counts);
	if (!force && m->count && counts[0] == m->adds && counts[1] == m->subs)
		return 0;
	fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = sp_buf_read_fd(&text, fd, MAPS_MAX);
	if (r < 0)
		return r;
	m->adds = counts[0];
	m->subs = counts[1];
	return sp_modules_parse(m, text.data, text.len);
}

int sp_modules_look_again(struct sp_modules *m)
{
	return m->adds ? sp_modules_refresh(m, false) : 0;
}

const struct sp_module *sp_modules_find(const struct sp_modules *m, uint64_t pc)
{
	uint32_t lo = 0, hi = m->count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (pc < m->list[mid].exec_start)
			hi = mid;
		else if (pc >= m->list[mid].exec_end)
			lo = mid + 1;
		else
			return &m->list[mid];
	}
	return NULL;
}

const struct sp_module *sp_modules_get(const struct sp_modules *m, uint32_t id)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (m->list[i].id == id)
			return &m->list[i];
	return NULL;
}

const struct sp_module *sp_modules_at(const struct sp_modules *m, uint32_t at)
{
	return at < m->count ? &m->list[at] : NULL;
}

const struct sp_module *sp_modules_by_name(const struct sp_modules *m, const char *prefix)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (!strncmp(m->list[i].name, prefix, strlen(prefix)))
			return &m->list[i];
	return NULL;
}

uint64_t sp_modules_symbol(
	const struct sp_modules *m, const struct sp_module *mod, const char *name)
{
	return sp_image_symbol(m->mem, mod, name);
}

int sp_modules_name(const struct sp_modules *m, uint64_t pc, char *buf, size_t size)
{
	const struct sp_module *mod = sp_modules_find(m, pc);

	return mod ? sp_image_name(m->mem, mod, pc, buf, size) : -ENOENT;
}

uint32_t sp_modules_epoch(const struct sp_modules *m)
{
	return m->epoch;
}

size_t sp_modules_bytes(const struct sp_modules *m)
{
	size_t n = sizeof(*m) + m->room * sizeof(*m->list);

	for (uint32_t i = 0; i < m->count; i++)
		n += strlen(m->list[i].path) + 17;
	return n;
}
