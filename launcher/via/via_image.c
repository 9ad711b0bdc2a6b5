/* Programs that are sent: see via_image.h. */
#include "via_image.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "proc/elf_header.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static const struct {
	const char *machine, *file;
	int elf;
} machines[SP_VIA_MACHINES] = {
	{"Linux x86_64", "sparkprof-x86_64", EM_X86_64},
	{"Linux aarch64", "sparkprof-aarch64", EM_AARCH64},
};

/* What a launcher of this version has in it: both ends speak the same packets. */
static const char mark[] __attribute__((used)) = "sparkprof-launcher-version " SP_VERSION "\n";

int sp_via_image_machine(char *ret, size_t size)
{
	struct utsname us;

	if (uname(&us) < 0)
		return -errno;
	snprintf(ret, size, "%.30s %.40s", us.sysname, us.machine);
	return 0;
}

static int read_image(int fd, const char *machine, struct sp_via_image *ret)
{
	struct sp_buf all;
	int r;

	sp_buf_init(&all);
	r = sp_buf_read_fd(&all, fd, 1u << 30);
	if (r < 0) {
		sp_buf_done(&all);
		return r;
	}
	*ret = (struct sp_via_image){
		machine, (uint8_t *)all.data, all.len, sp_hash_bytes(all.data, all.len)};
	return 0;
}

int sp_via_images_read(struct sp_via_images *ret, struct sp_err *err)
{
	SP_AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : sp_via_image_machine(ret->machine, sizeof(ret->machine));

	if (r == 0)
		r = read_image(fd, ret->machine, &ret->ours);
	if (r < 0)
		sp_err_set(err, r, "cannot read this program to send it: %s", strerror(-r));
	return r;
}

void sp_via_images_done(struct sp_via_images *images)
{
	free(images->ours.data);
	for (size_t i = 0; i < SP_VIA_MACHINES; i++)
		free(images->others[i].data);
	*images = (struct sp_via_images){0};
}

/* Opens the file of that name beside this program. */
static int open_beside(const char *file)
{
	char path[PATH_MAX + 40];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash;

	if (n < 0)
		return -errno;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return -ENOENT;
	snprintf(slash + 1, 40, "%s", file);
	n = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return n < 0 ? -errno : (int)n;
}

/* It would run as the user there, or as root: nobody else may have put it here. */
static bool is_trusted(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
	       (st.st_uid == 0 || st.st_uid == geteuid());
}

static bool has_mark(const struct sp_via_image *image)
{
	return memmem(image->data, image->len, mark, sizeof(mark) - 1) != NULL;
}

/* Returns NULL, or why not. */
static const char *read_other(size_t i, struct sp_via_image *ret)
{
	SP_AUTO_CLOSE int fd = open_beside(machines[i].file);
	struct sp_elf_header head;
	struct sp_via_image image;

	if (fd < 0)
		return fd == -ENOENT  ? "is not there"
		       : fd == -ELOOP ? "is a link: name the file itself so"
				      : "cannot be read";
	if (!is_trusted(fd))
		return "is of another user, or others may write it";
	if (sp_elf_header_read(fd, &head) < 0 || head.bits != 64 || head.machine != machines[i].elf)
		return "is no program for that machine";
	if (lseek(fd, 0, SEEK_SET) < 0 || read_image(fd, machines[i].machine, &image) < 0)
		return "cannot be read";
	if (!has_mark(&image)) {
		free(image.data);
		return "is of another version";
	}
	*ret = image;
	return NULL;
}

const struct sp_via_image *sp_via_images_find(
	struct sp_via_images *images, const char *machine, struct sp_err *err)
{
	const char *why;

	for (size_t i = 0; i < SP_VIA_MACHINES; i++) {
		if (strcmp(machines[i].machine, machine) != 0)
			continue;
		why = images->others[i].data ? NULL : read_other(i, &images->others[i]);
		if (!why)
			return &images->others[i];
		sp_err_set(err, -ENOTSUP, "this sparkprof cannot run there, and %s beside it %s",
			machines[i].file, why);
		return NULL;
	}
	sp_err_set(err, -ENOTSUP, "this sparkprof cannot run there");
	return NULL;
}
