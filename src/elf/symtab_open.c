/* From a mapping to its names: opens the module inside of the target's root, checks that it is the
 * mapped file, and looks for symbols in the places where distributions put them. */
#include "elf/symtab.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/rootfs.h"
#include "elf/symtab_read.h"
#include "elf/symtab_table.h"

#define AUTO_ELF __attribute__((cleanup(sp_elf_done)))

/* Most bytes of a debug file that a CRC is computed over: it has no build id then. */
#define CRC_MAX (512u << 20)

static void note_origin(struct sp_symtab *t, const char *what)
{
	if (t->origin.len)
		sp_buf_adds(&t->origin, " and ");
	sp_buf_adds(&t->origin, what);
}

static int file_crc(int fd, uint32_t *ret)
{
	SP_AUTO_FREE unsigned char *buf = malloc(1 << 18);
	uLong crc = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t n;

	if (!buf)
		return -ENOMEM;
	while ((n = pread(fd, buf, 1 << 18, at)) > 0 && at < CRC_MAX) {
		crc = crc32(crc, buf, (uInt)n);
		at += n;
	}
	if (n != 0)
		return n < 0 ? -errno : -EFBIG;
	*ret = (uint32_t)crc;
	return 0;
}

/* Reads one candidate for the debug file: it must carry the module's build id or, where one of them
 * has none, the CRC of the debug link. Returns 0 once symbols were added. */
static int try_debug_file(
	struct sp_symtab *t, int root_fd, const char *path, const struct sp_debuglink *link)
{
	SP_AUTO_CLOSE int fd = sp_rootfs_open_regular(root_fd, path, NULL);
	AUTO_ELF struct sp_elf im = {0};
	char id[2 * SP_ELF_BUILD_ID_MAX + 1];
	uint32_t crc = 0;
	int r;

	if (fd < 0)
		return fd;
	r = sp_elf_init_fd(&im, fd, NULL);
	if (r < 0)
		return r;
	sp_elf_build_id(&im, id);
	if (t->build_id[0] && id[0]) {
		if (strcmp(t->build_id, id) != 0)
			return -ESTALE;
	} else if (!link || file_crc(fd, &crc) < 0 || crc != link->crc) {
		return -ESTALE;
	}
	r = sp_elf_symbols(&im, false, t, NULL);
	if (r == 0)
		note_origin(t, path);
	return r;
}

static int try_build_id(struct sp_symtab *t, int root_fd)
{
	char path[4 * SP_ELF_BUILD_ID_MAX];

	if (strlen(t->build_id) < 4)
		return -ENOENT;
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", t->build_id,
		t->build_id + 2);
	return try_debug_file(t, root_fd, path, NULL);
}

static int try_debuglink(
	struct sp_symtab *t, int root_fd, const char *module, const struct sp_debuglink *link)
{
	static const char *const forms[] = {"%.*s/%s", "%.*s/.debug/%s", "/usr/lib/debug%.*s/%s"};
	const char *slash = strrchr(module, '/');
	int dir = slash ? (int)(slash - module) : 0;
	char path[8192];

	for (size_t i = 0; i < SP_COUNT(forms); i++) {
		int n = snprintf(path, sizeof(path), forms[i], dir, module, link->name);

		/* a link to oneself would be read twice */
		if (n < 0 || (size_t)n >= sizeof(path) || strcmp(path, module) == 0)
			continue;
		if (try_debug_file(t, root_fd, path, link) == 0)
			return 0;
	}
	return -ENOENT;
}

static int try_debugdata(struct sp_symtab *t, struct sp_elf *im, struct sp_err *err)
{
	SP_AUTO_BUF struct sp_buf buf;
	AUTO_ELF struct sp_elf inner = {0};
	int r;

	sp_buf_init(&buf);
	r = sp_elf_debugdata(im, &buf, err);
	if (r == 0)
		r = sp_elf_init_memory(&inner, buf.data, buf.len, err);
	if (r == 0)
		r = sp_elf_symbols(&inner, false, t, err);
	if (r == 0)
		note_origin(t, ".gnu_debugdata");
	sp_elf_done(&inner); /* before the buffer that it reads */
	inner.elf = NULL;
	return r;
}

/* Fills @t from the module and whatever belongs to it; @src is NULL for an image in memory. */
static int collect(struct sp_symtab *t, struct sp_elf *im, const struct sp_symtab_source *src,
	struct sp_err *err)
{
	struct sp_debuglink link;
	struct sp_err detail = {""};
	int r = sp_elf_symbols(im, false, t, &detail);

	sp_elf_segments(im, t);
	if (r == 0) {
		note_origin(t, ".symtab");
		return 0;
	}
	if (sp_elf_symbols(im, true, t, NULL) == 0)
		note_origin(t, ".dynsym");
	if (src) {
		if (try_build_id(t, src->root_fd) == 0 ||
			(src->host_fd >= 0 && try_build_id(t, src->host_fd) == 0))
			return 0;
		if (sp_elf_debuglink(im, &link) == 0 &&
			try_debuglink(t, src->root_fd, src->path, &link) == 0)
			return 0;
	}
	if (try_debugdata(t, im, &detail) == -ENOMEM)
		t->failed = true;
	if (t->count > 0 || t->failed || r == -ENOENT)
		return 0;
	return sp_err_set(err, r, "%s", detail.text);
}

static int build(struct sp_elf *im, const struct sp_symtab_source *src, struct sp_symtab **ret,
	struct sp_err *err)
{
	struct sp_symtab *t;
	int r = sp_symtab_new(&t);

	if (r < 0)
		return sp_err_set(err, r, "not enough memory for the symbols");
	sp_elf_build_id(im, t->build_id);
	r = collect(t, im, src, err);
	if (r == 0 && sp_symtab_finish(t) < 0)
		r = sp_err_set(err, -ENOMEM, "not enough memory for the symbols");
	if (r < 0) {
		sp_symtab_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

/* These show another device number in stat than in maps; inode numbers agree. */
static bool device_differs(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
	       (fs.f_type == OVERLAYFS_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC);
}

/* Is the opened file the one that was mapped? */
static int check_identity(struct sp_elf *im, int fd, const struct sp_symtab_source *src,
	const struct stat *st, struct sp_err *err)
{
	char id[2 * SP_ELF_BUILD_ID_MAX + 1];
	bool recorded = src->build_id && src->build_id[0];
	bool same_file = (src->dev == 0 && src->ino == 0) ||
			 (src->ino == st->st_ino && (src->dev == st->st_dev || device_differs(fd)));

	if (recorded) {
		sp_elf_build_id(im, id);
		if (strcmp(id, src->build_id) != 0)
			return sp_err_set(err, -ESTALE,
				"another file by now (build id %s, recorded %s)",
				id[0] ? id : "none", src->build_id);
		return 0;
	}
	if (!same_file)
		return sp_err_set(err, -ESTALE, "not the file that was mapped: it was replaced");
	return 0;
}

int sp_symtab_open(const struct sp_symtab_source *src, struct sp_symtab **ret, struct sp_err *err)
{
	struct stat st;
	SP_AUTO_CLOSE int fd = sp_rootfs_open_regular(src->root_fd, src->path, &st);
	AUTO_ELF struct sp_elf im = {0};
	int r;

	if (fd < 0)
		return sp_err_set(err, fd, "%s: %s", src->path,
			fd == -EINVAL ? "not a regular file" : strerror(-fd));
	r = sp_elf_init_fd(&im, fd, err);
	if (r == 0)
		r = check_identity(&im, fd, src, &st, err);
	if (r == 0)
		r = build(&im, src, ret, err);
	return r < 0 ? sp_err_prefix(err, r, "%s", src->path) : 0;
}

int sp_symtab_open_image(const void *image, size_t len, struct sp_symtab **ret, struct sp_err *err)
{
	SP_AUTO_FREE void *copy = malloc(len ? len : 1); /* libelf wants it writable */
	struct sp_elf im = {0};
	int r;

	if (!copy)
		return sp_err_set(err, -ENOMEM, "not enough memory for the image");
	memcpy(copy, image, len);
	r = sp_elf_init_memory(&im, copy, len, err);
	if (r == 0)
		r = build(&im, NULL, ret, err);
	sp_elf_done(&im);
	return r;
}
