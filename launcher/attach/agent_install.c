/* Library and socket in the target's file system: see agent_install.h. */
#include "agent_install.h"
#include "agent_image.h"
#include "agent_memory.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "wire/token_proof.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { RANDOM_HEX = 16 };

static int random_hex(char ret[RANDOM_HEX + 1])
{
	uint64_t v;
	int r = sp_random(&v, sizeof(v));

	snprintf(ret, RANDOM_HEX + 1, "%016llx", (unsigned long long)v);
	return r;
}

static void set_path(struct sp_agent_install_file *f, const struct sp_target_fs_place *p)
{
	f->dir = p->fd;
	snprintf(f->path, sizeof(f->path), "%s/%s", p->path, f->name);
}

void sp_agent_install_remove(struct sp_agent_install_file *f)
{
	if (f->dir >= 0)
		unlinkat(f->dir, f->name, 0);
	f->dir = -1;
	if (f->memory >= 0)
		close(f->memory);
	f->memory = -1;
}

/* ".sparkprof-<id>-<letter><16 hex>.so", in a directory or in memory: our file name with @id in a
 * line of maps, or NULL. */
static const char *name_in_line(const char *line, size_t len, const char *id)
{
	char want[32];
	const char *p, *tail;
	size_t n = (size_t)snprintf(want, sizeof(want), ".sparkprof-%s-", id);

	p = memmem(line, len, want, n);
	if (!p || p == line || !strchr("/:", p[-1]) ||
		(size_t)(line + len - p) < n + 1 + RANDOM_HEX + 3)
		return NULL;
	tail = p + n + 1;
	for (int i = 0; i < RANDOM_HEX; i++)
		if (!isxdigit((unsigned char)tail[i]))
			return NULL;
	return memcmp(tail + RANDOM_HEX, ".so", 3) == 0 ? p : NULL;
}

/* Where the name's letter says it was loaded from. If there is a file now that is not the
 * target's own, the path is not used: should the loader not know it after all, it would open it. */
static bool use_loaded(const struct sp_target_fs *fs, const char *name, const char *id,
	struct sp_agent_install_file *ret)
{
	size_t len = strlen(".sparkprof-") + strlen(id) + 1;
	struct stat st;

	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(len + 1 + RANDOM_HEX + 3), name);
	if (sp_agent_memory_path(ret->name, ret))
		return true;
	for (int i = 0; i < SP_DOOR_PLACES; i++) {
		const struct sp_target_fs_place *p = &fs->places[i];

		if (p->letter != name[len])
			continue;
		set_path(ret, p);
		ret->dir = -1;
		return p->fd < 0 || fstatat(p->fd, ret->name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		       (S_ISREG(st.st_mode) && st.st_uid == fs->uid);
	}
	return false;
}

bool sp_agent_install_loaded(const struct sp_target_fs *fs, struct sp_agent_install_file *ret)
{
	SP_AUTO_BUF struct sp_buf maps;
	char id[SP_BUILD_ID_HEX + 1];
	const char *line;

	sp_buf_init(&maps);
	sp_agent_image_short_id(id);
	if (fs->maps < 0 || lseek(fs->maps, 0, SEEK_SET) < 0 ||
		sp_buf_read_fd(&maps, fs->maps, 64 << 20) < 0)
		return false;
	line = sp_buf_str(&maps);
	while (*line) {
		size_t len = strcspn(line, "\n");
		const char *name = name_in_line(line, len, id);

		if (name && use_loaded(fs, name, id, ret))
			return true;
		line += len + (line[len] == '\n');
	}
	return false;
}

static int put_library(const struct sp_target_fs_place *p, struct sp_agent_install_file *ret)
{
	char id[SP_BUILD_ID_HEX + 1], rnd[RANDOM_HEX + 1];
	SP_AUTO_CLOSE int fd = -1;
	int r = random_hex(rnd);

	if (r < 0)
		return r;
	sp_agent_image_short_id(id);
	snprintf(ret->name, sizeof(ret->name), ".sparkprof-%.12s-%c%.16s.so", id, p->letter, rnd);
	fd = openat(p->fd, ret->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
	if (fd < 0)
		return -errno;
	set_path(ret, p);
	r = sp_io_write_all(fd, sp_agent_blob, (size_t)(sp_agent_blob_end - sp_agent_blob));
	if (r < 0)
		sp_agent_install_remove(ret);
	return r;
}

/* "/tmp: mounted noexec; its working directory: Permission denied; …" */
static int nowhere(const struct sp_target_fs *fs, const char *what, const char *memory, int r,
	struct sp_err *err)
{
	char all[600] = "";
	size_t n = 0;

	for (int i = 0; i < SP_DOOR_PLACES; i++) {
		const struct sp_target_fs_place *p = &fs->places[i];

		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s: %.100s", i ? "; " : "",
			strcmp(p->path, ".") == 0 ? "its working directory" : p->path,
			p->why[0] ? p->why : strerror(-r));
		if (n >= sizeof(all))
			break;
	}
	return sp_err_set(err, r, "%s cannot be copied into the target's file system (%s)%s%s",
		what, all, memory ? ", nor be loaded from memory: " : "", memory ? memory : "");
}

int sp_agent_install_library(
	const struct sp_target_fs *fs, struct sp_agent_install_file *ret, struct sp_err *err)
{
	int r = -EACCES;
	char why[100];

	for (int i = 0; i < SP_DOOR_PLACES; i++) {
		if (!fs->places[i].writable || fs->places[i].noexec)
			continue;
		r = put_library(&fs->places[i], ret);
		if (r == 0)
			return 0;
	}
	if (sp_agent_memory_put(fs, ret, why, sizeof(why)) == 0)
		return 0;
	return nowhere(fs, "the agent library", why, r, err);
}

static int bind_socket(
	const struct sp_target_fs_place *p, pid_t nspid, struct sp_agent_install_file *ret)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	SP_AUTO_CLOSE int fd = -1;
	char rnd[RANDOM_HEX + 1];
	mode_t mask;
	int r = random_hex(rnd);

	if (r < 0)
		return r;
	snprintf(ret->name, sizeof(ret->name), ".sparkprof-%d-%.16s.sock", (int)nspid, rnd);
	snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/%s", p->fd, ret->name);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	mask = umask(0177);
	r = bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ? -errno : 0;
	umask(mask);
	if (r < 0)
		return r;
	set_path(ret, p);
	if (listen(fd, 4) < 0) {
		r = -errno;
		sp_agent_install_remove(ret);
		return r;
	}
	return sp_steal_fd(&fd);
}

int sp_agent_install_socket(const struct sp_target_fs *fs, pid_t nspid,
	struct sp_agent_install_file *ret, struct sp_err *err)
{
	int r = -EACCES;

	for (int i = 0; i < SP_DOOR_PLACES; i++) {
		if (!fs->places[i].writable)
			continue;
		r = bind_socket(&fs->places[i], nspid, ret);
		if (r >= 0)
			return r;
	}
	return nowhere(fs, "the control socket", NULL, r, err);
}
