#include "tree.h"

#include "proc/proc.h"
#include "base/cleanup.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

static struct tree t;
static struct sp_proc p;

static void make(void)
{
	t = tree_new();
	tree_put(&t, "7/status",
		"Name:\ta) b\nState:\tT (stopped)\nTgid:\t7\nPPid:\t3\nTracerPid:\t0\n"
		"Uid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nNSpid:\t7\t70\t1\nSigCgt:"
		"\t0000000000000004\n");
	tree_put(&t, "7/stat",
		"7 (a) R 1 2) S 3 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2\n");
	tree_put(&t, "7/root/etc/passwd",
		"root:x:0:0::/:/bin/sh\n\nbad\nhdfs:x:1001:100::/:\nspark:x:185:0:x\n");
	cr_assert_eq(sp_proc_open(t.fd, 7, &p), 0);
}

static void drop(void)
{
	sp_proc_done(&p);
	tree_done(&t);
}

TestSuite(proc, .init = make, .fini = drop);

Test(proc, status_gives_effective_ids_and_the_innermost_pid)
{
	struct sp_proc_status st;

	cr_assert_eq(sp_proc_read_status(&p, &st), 0);
	cr_expect_eq(st.state, 'T');
	cr_expect_eq(st.tgid, 7);
	cr_expect_eq(st.ppid, 3);
	cr_expect_eq(st.uid, 2);
	cr_expect_eq(st.gid, 6);
	cr_expect_eq(st.nspid, 1);
	cr_expect_eq(st.ns_depth, 3);
	cr_expect_eq(st.sigcgt, 1ull << (SIGQUIT - 1));
	cr_expect_str_eq(st.name, "a) b");
}

Test(proc, status_without_nspid_is_of_an_old_kernel)
{
	struct sp_proc_status st;

	tree_put(&t, "7/status", "Name:\tx\nState:\tS\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n");
	cr_assert_eq(sp_proc_read_status(&p, &st), 0);
	cr_expect_eq(st.nspid, 7);
	tree_put(&t, "7/status", "nothing of the kind");
	cr_expect_eq(sp_proc_read_status(&p, &st), -EINVAL);
}

Test(proc, status_survives_truncation_at_every_byte)
{
	SP_AUTO_BUF struct sp_buf b = {0};
	struct sp_proc_status st;

	cr_assert_eq(sp_proc_read(&p, "status", 4096, &b), 0);
	for (size_t n = 0; n <= b.len; n++) {
		tree_put_bytes(&t, "7/status", b.data, n);
		sp_proc_read_status(&p, &st);
	}
}

Test(proc, start_time_behind_a_name_with_parentheses)
{
	uint64_t ticks = 0;

	cr_assert_eq(sp_proc_read_start(&p, &ticks), 0);
	cr_expect_eq(ticks, 987654);
	tree_put(&t, "7/stat", "7 (x) S 1");
	cr_expect_eq(sp_proc_read_start(&p, &ticks), -EINVAL);
}

Test(proc, strings_end_where_the_file_ends)
{
	SP_AUTO_BUF struct sp_buf b = {0};
	const char *s;

	sp_buf_add(&b, "A=1\0\0BB=2\0B=3\0cut", 17);
	s = sp_proc_next_string(&b, NULL);
	cr_expect_str_eq(s, "A=1");
	s = sp_proc_next_string(&b, s);
	cr_expect_str_eq(s, "");
	cr_expect_str_eq(sp_proc_env(&b, "B"), "3");
	cr_expect_null(sp_proc_env(&b, "cut"));
}

Test(proc, maps_lines)
{
	char file[] = "7f00-7f10 r-xp 00001000 fe:02 4711                       /opt/a b/libjvm.so "
		      "(deleted)";
	char anon[] = "7f00-7f10 rw-p 00000000 00:00 0 ";
	char bad[] = "7f00-zz";
	struct sp_proc_map m;

	cr_assert_eq(sp_proc_parse_map(file, &m), 0);
	cr_expect_eq(m.start, 0x7f00);
	cr_expect_eq(m.end, 0x7f10);
	cr_expect_eq(m.offset, 0x1000);
	cr_expect_eq(m.inode, 4711);
	cr_expect_str_eq(m.path, "/opt/a b/libjvm.so (deleted)");
	cr_assert_eq(sp_proc_parse_map(anon, &m), 0);
	cr_expect_str_eq(m.path, "");
	cr_expect_eq(sp_proc_parse_map(bad, &m), -EINVAL);
}

Test(proc, users_come_from_the_text_of_passwd)
{
	SP_AUTO_CLOSE int fd = openat(t.fd, "7/root/etc/passwd", O_RDONLY | O_CLOEXEC);
	char name[64];

	cr_expect_eq(sp_proc_user_name(fd, 1001, name, sizeof(name)), 0);
	cr_expect_str_eq(name, "hdfs");
	lseek(fd, 0, SEEK_SET);
	cr_expect_eq(sp_proc_user_name(fd, 185, name, sizeof(name)), 0);
	cr_expect_str_eq(name, "spark");
	lseek(fd, 0, SEEK_SET);
	cr_expect_eq(sp_proc_user_name(fd, 42, name, sizeof(name)), -ENOENT);
	cr_expect_str_eq(name, "42");
}

/* Text of a target's file, or what the opening answered. */
static int open_in(const char *path, uid_t owner, char text[32])
{
	SP_AUTO_CLOSE int fd = sp_proc_open_file(&p, path, owner);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = read(fd, text, 31);
	text[n > 0 ? n : 0] = '\0';
	return 0;
}

Test(proc, links_stay_inside_the_targets_root)
{
	char text[32] = "";
	char deep[4500] = "/";

	tree_put(&t, "secret", "ours");
	tree_put(&t, "7/root/data/file", "theirs");
	tree_link(&t, "7/root/abs", "/data/file");
	tree_link(&t, "7/root/data/rel", "file");
	tree_link(&t, "7/root/dir", "data");
	tree_link(&t, "7/root/out", "../../secret");
	tree_link(&t, "7/root/host", t.path);
	tree_link(&t, "7/root/loop", "loop");
	cr_expect_eq(open_in("/abs", geteuid(), text), 0);
	cr_expect_str_eq(text, "theirs");
	cr_expect_eq(open_in("dir/./rel", geteuid(), text), 0);
	cr_expect_eq(open_in("/out", geteuid(), text), -ENOENT);
	cr_expect_eq(open_in("/data/../../../secret", geteuid(), text), -ENOENT);
	cr_expect_eq(open_in("/host/secret", geteuid(), text), -ENOENT);
	cr_expect_eq(open_in("/loop", geteuid(), text), -ELOOP);
	cr_expect_eq(open_in("/nothing", geteuid(), text), -ENOENT);
	memset(deep + 1, 'a', sizeof(deep) - 2);
	cr_expect_eq(open_in(deep, geteuid(), text), -ENAMETOOLONG);
	deep[400] = '\0';
	cr_expect_eq(open_in(deep, geteuid(), text), -ENAMETOOLONG);
}

Test(proc, only_regular_files_of_the_right_owner_are_opened)
{
	char text[32] = "";

	tree_put(&t, "7/root/mine", "x");
	cr_assert_eq(mkfifoat(t.fd, "7/root/fifo", 0644), 0);
	cr_expect_eq(open_in("/mine", geteuid(), text), 0);
	cr_expect_eq(open_in("/mine", geteuid() + 1, text), -EPERM);
	cr_expect_eq(open_in("/fifo", geteuid(), text), -EINVAL);
	cr_expect_eq(open_in("/etc", geteuid(), text), -EINVAL);
	cr_expect_eq(sp_proc_open_dir(&p, "/mine"), -ENOTDIR);
	SP_AUTO_CLOSE int fd = sp_proc_open_readable(&p, "/mine", geteuid() + 1);
	cr_expect_geq(fd, 0);
	cr_assert_eq(fchmodat(t.fd, "7/root/mine", 0640, 0), 0);
	cr_expect_eq(sp_proc_open_readable(&p, "/mine", geteuid() + 1), -EPERM);
}

Test(proc, a_real_process_is_not_mistaken_after_its_end)
{
	SP_AUTO_CLOSE int procfd = sp_proc_root();
	SP_AUTO_PROC struct sp_proc child = {.dir = -1};
	struct sp_proc_status st;
	uint64_t ticks;
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	cr_assert_eq(sp_proc_open(procfd, pid, &child), 0);
	cr_expect_eq(sp_proc_read_status(&child, &st), 0);
	cr_expect_eq(st.ppid, getpid());
	cr_expect_eq(sp_proc_read_start(&child, &ticks), 0);
	cr_expect_lt(sp_proc_age_ns(ticks), 3600ull * 1000000000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cr_expect_eq(sp_proc_read_status(&child, &st), -ESRCH);
	cr_expect_eq(sp_proc_read_start(&child, &ticks), -ESRCH);
}
