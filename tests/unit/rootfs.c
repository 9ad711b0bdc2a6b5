/* Files below another process's root: see base/rootfs.h. Random trees and paths, by openat2 and by
 * the walk without it: same answers, and never anything outside, also while directories move. */
#include "base/cleanup.h"
#include "base/rootfs.h"
#include "tree.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>

enum { NAMES = 12, PLACES = 24, PATHS = 4000, RACES = 3000 };

static struct tree t;
static int root;
static uint64_t seed;

static uint64_t rnd(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % below;
}

/* root/ is what the target sees; outside/secret must never be reached. */
static void setup(void)
{
	t = tree_new();
	tree_put(&t, "outside/secret", "ours");
	tree_put(&t, "root/etc/passwd", "theirs");
	root = openat(t.fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(root, 0);
}

static void teardown(void)
{
	close(root);
	tree_done(&t);
}

TestSuite(rootfs, .init = setup, .fini = teardown);

/* A path of names that are in the tree, and of all that is odd in a path. */
static void make_path(char *to, size_t size)
{
	static const char *const odd[] = {"..", ".", "", "../..", "none", "outside/secret", "proc",
		"self", "etc/passwd", "../../../../../../outside/secret"};
	size_t n = 0;

	for (uint64_t left = rnd(7) + 1; left && n + 64 < size; left--) {
		n += (size_t)snprintf(to + n, size - n, "%s", n || rnd(2) ? "/" : "");
		if (rnd(3))
			n += (size_t)snprintf(to + n, size - n, "n%d", (int)rnd(NAMES));
		else
			n += (size_t)snprintf(to + n, size - n, "%s", odd[rnd(SP_COUNT(odd))]);
	}
	if (rnd(8) == 0)
		snprintf(to + n, size - n, "/");
}

/* One more name in a directory: a directory, a file, a FIFO or a link to anywhere. */
static void add(int dir, const char *name)
{
	char target[512];

	switch (rnd(5)) {
	case 0:
		mkdirat(dir, name, 0755);
		break;
	case 1:
		mknodat(dir, name, S_IFREG | 0644, 0);
		break;
	case 2:
		mkfifoat(dir, name, 0644);
		break;
	default:
		make_path(target, sizeof(target));
		symlinkat(rnd(16) ? target : t.path, dir, name);
	}
}

/* More of them at random places, never through a link. */
static void grow(void)
{
	for (int i = 0; i < PLACES; i++) {
		SP_AUTO_CLOSE int dir = fcntl(root, F_DUPFD_CLOEXEC, 0);
		char name[16];

		for (uint64_t deep = rnd(3); deep; deep--) {
			int next;

			snprintf(name, sizeof(name), "n%d", (int)rnd(NAMES));
			next = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (next < 0)
				break;
			close(dir);
			dir = next;
		}
		snprintf(name, sizeof(name), "n%d", (int)rnd(NAMES));
		add(dir, name);
	}
}

static void expect_inside(int fd, const char *path)
{
	struct stat st, secret;

	cr_assert_eq(fstat(fd, &st), 0);
	cr_assert_eq(fstatat(t.fd, "outside/secret", &secret, 0), 0);
	cr_assert(st.st_ino != secret.st_ino, "%s leads outside", path);
}

static void compare(const char *path)
{
	SP_AUTO_CLOSE int a = sp_rootfs_open_path(root, path);
	SP_AUTO_CLOSE int b = sp_rootfs_walk(root, path);
	struct stat x, y;

	if (a < 0 || b < 0) {
		cr_assert_eq(a, b, "%s: %d by openat2, %d by the walk", path, a, b);
		return;
	}
	cr_assert(fstat(a, &x) == 0 && fstat(b, &y) == 0);
	cr_assert(x.st_ino == y.st_ino && x.st_dev == y.st_dev, "%s: two places", path);
	expect_inside(a, path);
	expect_inside(b, path);
}

Test(rootfs, the_walk_answers_as_openat2_in_random_trees)
{
	for (int i = 1; i <= PATHS; i++) {
		char path[512];

		seed = 0x9e3779b97f4a7c15u * (uint64_t)i;
		if (i % 200 == 1)
			grow();
		make_path(path, sizeof(path));
		compare(path);
	}
}

/* Links of /proc that need no path would lead out of the root: refused by both. */
Test(rootfs, links_of_proc_without_a_path_are_refused)
{
	static const struct {
		const char *path;
		bool refused;
	} cases[] = {
		{"/proc/self/exe", true},
		{"/proc/self/root/etc", true},
		{"/proc/self/fd/1", true},
		{"/proc/self/ns/net", true},
		{"/proc/self/status", false},
		{"/proc/mounts", false},
		{"/proc/self/../version", false},
	};
	SP_AUTO_CLOSE int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_CLOSE int a = sp_rootfs_open_path(top, cases[i].path);
		SP_AUTO_CLOSE int b = sp_rootfs_walk(top, cases[i].path);

		cr_expect(cases[i].refused ? a == -ELOOP : a >= 0, "%s: %d", cases[i].path, a);
		cr_expect(cases[i].refused ? b == -ELOOP : b >= 0, "%s: %d", cases[i].path, b);
	}
}

static atomic_bool over;

/* What a hostile target does meanwhile: directories become links out, and move. */
static void *swap(void *arg)
{
	while (!atomic_load(&over)) {
		syscall(SYS_renameat2, t.fd, "root/a/b", t.fd, "root/out", RENAME_EXCHANGE);
		syscall(SYS_renameat2, t.fd, "root/a/b", t.fd, "root/c", RENAME_EXCHANGE);
	}
	return NULL;
}

Test(rootfs, nothing_outside_is_reached_while_directories_become_links)
{
	static const char *const paths[] = {"/a/b/secret", "/a/b/../../secret",
		"a/b/../../../secret", "/c/../outside/secret", "/out/secret",
		"/a/b/d/../../../../outside/secret"};
	pthread_t thread;

	tree_put(&t, "root/a/b/d/secret", "theirs");
	tree_put(&t, "root/c/d/secret", "theirs");
	tree_link(&t, "root/out", "../../../outside");
	cr_assert_eq(pthread_create(&thread, NULL, swap, NULL), 0);
	for (int i = 0; i < RACES; i++) {
		const char *path = paths[(size_t)i % SP_COUNT(paths)];
		SP_AUTO_CLOSE int a = sp_rootfs_open_path(root, path);
		SP_AUTO_CLOSE int b = sp_rootfs_walk(root, path);

		if (a >= 0)
			expect_inside(a, path);
		if (b >= 0)
			expect_inside(b, path);
	}
	atomic_store(&over, true);
	pthread_join(thread, NULL);
}

Test(rootfs, only_what_is_asked_for_is_opened)
{
	uid_t me = geteuid();

	tree_put(&t, "root/file", "x");
	tree_put(&t, "root/secret", "x");
	cr_assert_eq(fchmodat(t.fd, "root/secret", 0640, 0), 0);
	tree_put(&t, "root/twice", "x");
	cr_assert_eq(linkat(t.fd, "root/twice", t.fd, "root/again", 0), 0);
	tree_link(&t, "root/link", "file");
	cr_assert_eq(mkfifoat(t.fd, "root/fifo", 0644), 0);
	cr_expect_eq(sp_rootfs_open_regular(root, "/fifo", NULL), -EINVAL);
	cr_expect_eq(sp_rootfs_open_regular(root, "/etc", NULL), -EINVAL);
	cr_expect_eq(sp_rootfs_open_of(root, "/file", me + 1, false), -EPERM);
	cr_expect_eq(sp_rootfs_open_of(root, "/secret", me + 1, true), -EPERM);
	cr_expect_eq(sp_rootfs_open_of(root, "/fifo", me, true), -EINVAL);
	cr_expect_eq(sp_rootfs_open_dir(root, "/file"), -ENOTDIR);
	cr_expect_eq(sp_rootfs_open_own(root, "link", me, S_IFREG, O_RDONLY), -EPERM);
	cr_expect_eq(sp_rootfs_open_own(root, "twice", me, S_IFREG, O_RDONLY), -EPERM);
	cr_expect_eq(sp_rootfs_open_own(root, "fifo", me, S_IFREG, O_RDONLY), -EPERM);
	cr_expect_eq(sp_rootfs_open_own(root, "file", me + 1, S_IFREG, O_RDONLY), -EPERM);
	cr_expect_eq(sp_rootfs_open_own(root, "none", me, S_IFREG, O_RDONLY), -ENOENT);
	SP_AUTO_CLOSE int own = sp_rootfs_open_own(root, "file", me, S_IFREG, O_RDONLY);
	SP_AUTO_CLOSE int public = sp_rootfs_open_of(root, "/link", me + 1, true);
	cr_expect(own >= 0 && public >= 0);
}
