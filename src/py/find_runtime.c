/* See find_runtime.h. */
#include "py/find_runtime.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "py/cpython_layout.h"
#include "py/elf_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MAPS_MAX = 16 << 20,
	SCAN_MAX = 8 << 20, /* bytes of data that are searched where nothing says it */
	IMAGES = 4,
};

/* A mapped file that may be the interpreter. */
struct image {
	char path[512];
	uint64_t inode;
	uint64_t base;		 /* where its first byte lies */
	uint64_t data, data_end; /* what of it can be written, with the zeroes behind */
};

struct search {
	pid_t pid;
	struct sp_pymem mem;
	struct image images[IMAGES];
	size_t count;
	unsigned minor; /* by paths; 0: none says it */
	struct sp_pyruntime *found;
};

unsigned sp_pyruntime_version(const char *path)
{
	const char *p = path;
	char *end;

	while ((p = strstr(p, "python3."))) {
		unsigned long v = strtoul(p + 8, &end, 10);

		if (end != p + 8 && v > 0 && v < 100)
			return (unsigned)v;
		p++;
	}
	p = strstr(path, ".cpython-3");
	return p ? (unsigned)strtoul(p + 10, NULL, 10) % 100 : 0;
}

static bool may_be_python(const char *path, const char *exe)
{
	const char *name = sp_path_base(path);

	return strcmp(path, exe) == 0 || strncmp(name, "libpython3", 10) == 0;
}

static struct image *image_of(struct search *s, const char *path)
{
	struct image *i;

	for (size_t k = 0; k < s->count; k++)
		if (strcmp(s->images[k].path, path) == 0)
			return &s->images[k];
	if (s->count == IMAGES)
		return NULL;
	i = &s->images[s->count++];
	snprintf(i->path, sizeof(i->path), "%s", path);
	return i;
}

struct mapping {
	unsigned long long start, end, offset, inode;
	bool writable;
	const char *path; /* "" anonymous */
};

static bool parse_line(char *line, struct mapping *ret)
{
	char perms[5];
	int at = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %*s %llu %n", &ret->start, &ret->end, perms,
		    &ret->offset, &ret->inode, &at) < 5)
		return false;
	ret->writable = perms[1] == 'w';
	ret->path = at ? line + at : "";
	return true;
}

static void take_mapping(
	struct search *s, const struct mapping *m, const char *exe, struct image **last)
{
	struct image *i;
	unsigned minor = sp_pyruntime_version(m->path);

	if (!m->path[0]) { /* zeroes that go on where a file's data ended */
		if (*last && m->start == (*last)->data_end && m->writable)
			(*last)->data_end = m->end;
		*last = NULL;
		return;
	}
	*last = NULL;
	if (minor && (!s->minor || strstr(m->path, "libpython")))
		s->minor = minor;
	if (!may_be_python(m->path, exe))
		return;
	i = image_of(s, m->path);
	if (!i)
		return;
	i->inode = m->inode;
	if (m->offset == 0 && !i->base)
		i->base = m->start;
	if (m->writable) {
		i->data = i->data ? i->data : m->start;
		i->data_end = m->end;
		*last = i;
	}
}

static int read_maps(struct search *s, struct sp_err *err)
{
	SP_AUTO_BUF struct sp_buf maps;
	SP_AUTO_CLOSE int fd = -1;
	char path[48], exe[512] = "", *line, *save = NULL;
	struct image *last = NULL;
	ssize_t n;

	sp_buf_init(&maps);
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)s->pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)s->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return sp_err_set(err, -ESRCH, "no such process");
	if (fd < 0 || sp_buf_read_fd(&maps, fd, MAPS_MAX) < 0)
		return sp_err_set(
			err, -EPERM, "its memory may not be read: run as its user, or with sudo");
	sp_buf_str(&maps);
	for (line = strtok_r(maps.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct mapping m;

		if (parse_line(line, &m))
			take_mapping(s, &m, exe, &last);
	}
	return 0;
}

struct found_runtime {
	uint64_t runtime, version;
	const char *how;
};

/* The file that is mapped. Its path is one of the process's own root, or of ours (chroot); what ran
 * may have been replaced since. */
static int open_image(const struct search *s, const struct image *i)
{
	char paths[3][600];

	snprintf(paths[0], sizeof(paths[0]), "/proc/%d/root%s", (int)s->pid, i->path);
	snprintf(paths[1], sizeof(paths[1]), "%s", i->path);
	snprintf(paths[2], sizeof(paths[2]), "/proc/%d/exe", (int)s->pid);
	for (int k = 0; k < 3; k++) {
		int fd = open(paths[k], O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		struct stat st;

		if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == i->inode)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

/* Asks the file itself. *t has addresses as the process has them. */
static void ask_file(const struct search *s, const struct image *i, struct found_runtime *t)
{
	SP_AUTO_CLOSE int fd = open_image(s, i);
	struct sp_pyelf said;

	if (fd < 0 || sp_pyelf_read(fd, &said) < 0)
		return;
	t->runtime = said.runtime ? said.runtime + i->base - said.first : 0;
	t->version = said.version ? said.version + i->base - said.first : 0;
	t->how = said.how;
}

/* An interpreter's first thread belongs to it. */
static bool is_interpreter(const struct search *s, const struct sp_pylayout *l, uint64_t interp)
{
	uint64_t thread = sp_pymem_word(&s->mem, interp + l->in_threads);

	return thread && sp_pymem_word(&s->mem, thread + l->ts_interp) == interp;
}

/* _PyRuntime.interpreters: head and main, which are one unless there are several. */
static uint64_t runtime_at(const struct search *s, unsigned minor, const uint8_t *data, size_t at,
	size_t n, uint64_t addr)
{
	struct sp_pylayout l;
	uint64_t head = sp_pyword(data + at), main;

	if (minor >= 13)
		return memcmp(data + at, "xdebugpy", 8) == 0 ? addr + at : 0;
	if (at + 16 > n || !head || head % 8)
		return 0;
	main = sp_pyword(data + at + 8);
	if (head != main || sp_pylayout_get(&s->mem, 0, minor, &l) < 0)
		return 0;
	return is_interpreter(s, &l, head) ? addr + at - l.rt_interp : 0;
}

/* Block by block: the data may be many times what the JVM gives its profiler. */
static void search_memory(const struct search *s, const struct image *i, struct found_runtime *t)
{
	enum { BLOCK = 1 << 16, SHAPE = 16 };
	size_t n = i->data_end - i->data;
	SP_AUTO_FREE uint8_t *data = NULL;

	if (!s->minor || n < 64 || n > SCAN_MAX)
		return;
	data = malloc(BLOCK);
	for (size_t from = 0; data && from + 8 <= n && !t->runtime; from += BLOCK - SHAPE) {
		size_t len = n - from < BLOCK ? n - from : BLOCK;

		if (!sp_pymem_get(&s->mem, i->data + from, data, len))
			return;
		for (size_t at = 0; at + 8 <= len && !t->runtime; at += 8)
			t->runtime = runtime_at(s, s->minor, data, at, len, i->data + from);
	}
	t->how = "memory";
}

static bool take_image(struct search *s, const struct image *i, bool by_memory)
{
	struct found_runtime t = {.how = ""};
	unsigned minor = sp_pyruntime_version(i->path);
	uint64_t version = 0;

	if (by_memory)
		search_memory(s, i, &t);
	else
		ask_file(s, i, &t);
	if (!t.runtime)
		return false;
	if (t.version && sp_pymem_get(&s->mem, t.version, &version, 4) && version >> 24 == 3)
		minor = version >> 16 & 0xff;
	s->found->runtime = t.runtime;
	s->found->minor = minor ? minor : s->minor;
	s->found->micro = version ? version >> 8 & 0xff : 255;
	snprintf(s->found->how, sizeof(s->found->how), "%s", t.how);
	return true;
}

static int may_read(const struct search *s, struct sp_err *err)
{
	struct sp_pymem_process *p = s->mem.ctx;
	uint64_t word;
	struct sp_pyspan span = {s->images[0].base, &word, 8};
	int r = s->mem.read(p, &span, 1);

	if (r < 0 && r != -ESRCH && !p->has_file && sp_pymem_open(p) == 0)
		r = s->mem.read(p, &span, 1);
	if (r == -ESRCH)
		return sp_err_set(err, r, "it has ended");
	if (r < 0)
		return sp_err_set(err, -EPERM,
			"the kernel does not let this user read its memory: run as root, in a pod "
			"with the capability SYS_PTRACE, or set kernel.yama.ptrace_scope to 0");
	return 0;
}

int sp_pyruntime_find(
	struct sp_pymem_process *process, struct sp_pyruntime *ret, struct sp_err *err)
{
	struct search s = {.pid = process->pid, .mem = {sp_pymem_process, process}, .found = ret};
	int r;

	memset(ret, 0, sizeof(*ret));
	r = read_maps(&s, err);
	if (r < 0)
		return r;
	if (!s.count || (!s.minor && !strstr(s.images[0].path, "python")))
		return sp_err_set(err, -ENOEXEC, "is not a Python process");
	r = may_read(&s, err);
	for (int memory = 0; memory < 2 && r == 0; memory++)
		for (size_t i = s.count; i-- > 0;) /* a library comes behind the program */
			if (take_image(&s, &s.images[i], memory))
				return 0;
	return r < 0 ? r
		     : sp_err_set(err, -ENOENT,
			       "looks like Python, but its interpreter state was not found");
}
