#include "tree.h"

#include "base/cgroup.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define MB (1024ull * 1024)

static struct tree t;

static void make(void)
{
	t = tree_new();
}

static void drop(void)
{
	tree_done(&t);
}

TestSuite(cgroup, .init = make, .fini = drop);

static int left(uint64_t *ret)
{
	return sp_cgroup_memory_left_at(t.fd, t.fd, 7, ret);
}

static void mount_v2(const char *root)
{
	tree_put(&t, "self/mountinfo",
		"20 1 0:1 / /proc rw - proc proc rw\n"
		"36 35 0:30 %s /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
		root);
}

static void mount_v1(const char *root)
{
	tree_put(&t, "self/mountinfo",
		"36 35 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
		"37 35 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
		"38 35 0:32 %s /sys/fs/cgroup/mem\\040ory rw - cgroup cgroup rw,memory\n",
		root);
}

static void group_v2(
	const char *dir, const char *max, const char *high, uint64_t used, uint64_t file)
{
	char name[256];

	snprintf(name, sizeof(name), "sys/fs/cgroup%s/memory.max", dir);
	tree_put(&t, name, "%s\n", max);
	snprintf(name, sizeof(name), "sys/fs/cgroup%s/memory.high", dir);
	tree_put(&t, name, "%s\n", high);
	snprintf(name, sizeof(name), "sys/fs/cgroup%s/memory.current", dir);
	tree_put(&t, name, "%llu\n", (unsigned long long)used);
	snprintf(name, sizeof(name), "sys/fs/cgroup%s/memory.stat", dir);
	tree_put(&t, name, "anon 1\nactive_file %llu\ninactive_file %llu\n",
		(unsigned long long)file / 4, (unsigned long long)(file - file / 4));
	snprintf(name, sizeof(name), "sys/fs/cgroup%s/cgroup.events", dir);
	tree_put(&t, name, "populated 1\n");
}

Test(cgroup, v2_takes_the_tightest_of_group_and_parents)
{
	uint64_t v = 0;

	mount_v2("/");
	tree_put(&t, "7/cgroup", "0::/pods/pod1/c1\n");
	group_v2("/pods/pod1/c1", "1073741824", "max", 100 * MB, 0);
	group_v2("/pods/pod1", "524288000", "max", 480 * MB, 10 * MB);
	group_v2("/pods", "max", "max", 900 * MB, 0);
	cr_assert_eq(left(&v), 0);
	cr_expect_eq(v, 30 * MB);
}

Test(cgroup, v2_counts_high_as_a_limit_and_full_as_nothing)
{
	uint64_t v = 1;

	mount_v2("/");
	tree_put(&t, "7/cgroup", "0::/c\n");
	group_v2("/c", "1073741824", "104857600", 90 * MB, 0);
	cr_assert_eq(left(&v), 0);
	cr_expect_eq(v, 10 * MB);
	group_v2("/c", "1048576", "max", 90 * MB, 0);
	cr_assert_eq(left(&v), 0);
	cr_expect_eq(v, 0);
}

Test(cgroup, v2_in_a_container_that_sees_its_own_subtree)
{
	uint64_t v = 0;

	/* no cgroup namespace: the host's path, the container's mount */
	mount_v2("/docker/abc");
	tree_put(&t, "7/cgroup", "0::/docker/abc\n");
	group_v2("", "104857600", "max", 60 * MB, 0);
	cr_assert_eq(left(&v), 0);
	cr_expect_eq(v, 40 * MB);
	/* a process outside of our cgroup namespace */
	mount_v2("/");
	tree_put(&t, "7/cgroup", "0::/../other\n");
	cr_assert_eq(left(&v), 0);
	cr_expect_eq(v, 40 * MB);
}

Test(cgroup, no_limit_is_no_data)
{
	uint64_t v = 5, used = 0, limit = 0;

	mount_v2("/");
	tree_put(&t, "7/cgroup", "0::/c\n");
	cr_expect_eq(left(&v), -ENODATA, "the controller is not enabled");
	group_v2("/c", "200000000", "max", 90 * MB, 10 * MB);
	cr_expect_eq(sp_cgroup_memory_at(t.fd, t.fd, 7, &used, &limit), 0);
	cr_expect(used == 80 * MB && limit == 200000000, "%llu of %llu", (unsigned long long)used,
		(unsigned long long)limit);
	group_v2("/c", "max", "max", 90 * MB, 0);
	cr_expect_eq(sp_cgroup_memory_at(t.fd, t.fd, 7, &used, &limit), -ENODATA);
	cr_expect_eq(left(&v), -ENODATA);
	cr_expect_eq(v, 5);
	cr_expect_eq(sp_cgroup_memory_left_at(t.fd, t.fd, 8, &v), -ESRCH);
	tree_put(&t, "7/cgroup", "%s", "");
	cr_expect_eq(left(&v), -ENODATA);
}

static void group_v1(const char *dir, const char *limit, uint64_t used, uint64_t above)
{
	char name[256];

	snprintf(name, sizeof(name), "sys/fs/cgroup/mem ory%s/memory.limit_in_bytes", dir);
	tree_put(&t, name, "%s\n", limit);
	snprintf(name, sizeof(name), "sys/fs/cgroup/mem ory%s/memory.usage_in_bytes", dir);
	tree_put(&t, name, "%llu\n", (unsigned long long)used);
	snprintf(name, sizeof(name), "sys/fs/cgroup/mem ory%s/memory.stat", dir);
	tree_put(&t, name,
		"cache 1\nhierarchical_memory_limit %llu\ntotal_inactive_file %llu\n"
		"total_active_file 0\n",
		(unsigned long long)above, 5 * MB);
}

Test(cgroup, v1_beside_v2_is_the_one_with_memory)
{
	uint64_t v = 0;

	mount_v1("/");
	tree_put(&t, "7/cgroup", "9:name=systemd:/s\n4:cpu,cpuacct:/x\n3:memory:/yarn/c1\n0::/s\n");
	group_v1("/yarn/c1", "104857600", 45 * MB, 9223372036854771712ull);
	group_v1("/yarn", "9223372036854771712", 45 * MB, 9223372036854771712ull);
	cr_assert_eq(left(&v), 0);
	cr_expect_eq(v, 60 * MB);
}

Test(cgroup, v1_limit_of_a_parent_that_is_not_mounted)
{
	uint64_t v = 0;

	mount_v1("/kubepods/pod/c1");
	tree_put(&t, "7/cgroup", "3:memory:/kubepods/pod/c1\n");
	group_v1("", "9223372036854771712", 45 * MB, 50 * MB);
	cr_assert_eq(left(&v), 0);
	cr_expect_eq(v, 10 * MB);
}

Test(cgroup, a_guest_is_in_the_same_group_but_not_in_the_root)
{
	mount_v2("/");
	group_v2("/pod/a", "max", "max", 0, 0);
	group_v2("/pod/b", "max", "max", 0, 0);
	tree_put(&t, "7/cgroup", "0::/pod/a\n");
	tree_put(&t, "self/cgroup", "0::/pod/b\n");
	cr_expect_not(sp_cgroup_is_guest_at(t.fd, t.fd, 7));
	tree_put(&t, "self/cgroup", "0::/pod/a\n");
	cr_expect(sp_cgroup_is_guest_at(t.fd, t.fd, 7));
	tree_put(&t, "self/cgroup", "0::/\n");
	tree_put(&t, "7/cgroup", "0::/\n");
	cr_expect_not(sp_cgroup_is_guest_at(t.fd, t.fd, 7), "the root of the whole machine");
	tree_put(&t, "sys/fs/cgroup/cgroup.events", "populated 1\n");
	cr_expect(sp_cgroup_is_guest_at(t.fd, t.fd, 7), "the root of a cgroup namespace");
}

Test(cgroup, limited_by_memory_by_cpu_or_as_a_container)
{
	mount_v2("/");
	group_v2("/user/session", "max", "max", 0, 0);
	tree_put(&t, "7/cgroup", "0::/user/session\n");
	cr_expect_not(sp_cgroup_is_limited_at(t.fd, t.fd, 7));
	tree_put(&t, "sys/fs/cgroup/user/cpu.max", "max 100000\n");
	cr_expect_not(sp_cgroup_is_limited_at(t.fd, t.fd, 7));
	tree_put(&t, "sys/fs/cgroup/user/cpu.max", "50000 100000\n");
	cr_expect(sp_cgroup_is_limited_at(t.fd, t.fd, 7), "by a parent's share of CPU");
	tree_put(&t, "sys/fs/cgroup/user/cpu.max", "max 100000\n");
	group_v2("/user/session", "1000000", "max", 0, 0);
	cr_expect(sp_cgroup_is_limited_at(t.fd, t.fd, 7), "by memory");
	tree_put(&t, "7/cgroup", "0::/\n");
	cr_expect_not(sp_cgroup_is_limited_at(t.fd, t.fd, 7), "the root of the whole machine");
	tree_put(&t, "sys/fs/cgroup/cgroup.events", "populated 1\n");
	cr_expect(sp_cgroup_is_limited_at(t.fd, t.fd, 7), "a container's");
}

Test(cgroup, survives_truncated_files)
{
	static const char mounts[] =
		"38 35 0:32 /a\\040b /sys/fs/cgroup rw - cgroup cgroup rw,memory\n";
	static const char groups[] = "4:cpu,cpuacct:/x\n3:memory:/a b/c1\n0::/s\n";
	uint64_t v;

	for (size_t n = 0; n < sizeof(mounts); n++) {
		tree_put_bytes(&t, "7/cgroup", groups, sizeof(groups) - 1);
		tree_put_bytes(&t, "self/mountinfo", mounts, n);
		left(&v);
	}
	for (size_t n = 0; n < sizeof(groups); n++) {
		tree_put_bytes(&t, "7/cgroup", groups, n);
		left(&v);
	}
}

/* A real group with a limit of 96 MB, of whichever version this machine has; "" if none may be
 * made. */
static void real_group(char *ret, size_t len)
{
	bool v1 = access("/sys/fs/cgroup/memory/memory.limit_in_bytes", F_OK) == 0;
	char name[512];
	int fd;

	snprintf(
		ret, len, "/sys/fs/cgroup/%ssparkprof-test-%d", v1 ? "memory/" : "", (int)getpid());
	if (mkdir(ret, 0755) < 0) {
		ret[0] = '\0';
		return;
	}
	snprintf(name, sizeof(name), "%s/%s", ret, v1 ? "memory.limit_in_bytes" : "memory.max");
	fd = open(name, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "100663296", 9) != 9) {
		rmdir(ret);
		ret[0] = '\0';
	}
	close(fd);
}

static void enter(const char *group)
{
	char name[512];
	int fd;

	snprintf(name, sizeof(name), "%s/cgroup.procs", group);
	fd = open(name, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		_exit(1);
	close(fd);
}

/* Enters the group, takes @bytes and tells through @ready. */
static pid_t start_member(const char *group, size_t bytes, int ready)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	enter(group);
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(p, 1, bytes);
	if (write(ready, "x", 1) == 1)
		pause();
	_exit(0);
}

Test(real_cgroup, what_a_member_takes_is_missing)
{
	char group[256], x;
	uint64_t v = 0;
	int ready[2], status;
	pid_t member, guest;

	real_group(group, sizeof(group));
	if (!group[0])
		cr_skip("this machine lets no memory cgroup be made");
	cr_assert_eq(pipe2(ready, O_CLOEXEC), 0);
	member = start_member(group, 32 * MB, ready[1]);
	cr_assert_eq(read(ready[0], &x, 1), 1);
	cr_expect_eq(sp_cgroup_memory_left(member, &v), 0);
	cr_expect(v <= 64 * MB && v > 48 * MB, "%lu", (unsigned long)v);
	cr_expect_not(sp_cgroup_is_guest(member));
	guest = fork();
	if (guest == 0) {
		enter(group);
		_exit(sp_cgroup_is_guest(member) ? 42 : 0);
	}
	waitpid(guest, &status, 0);
	cr_expect_eq(WEXITSTATUS(status), 42);
	kill(member, SIGKILL);
	waitpid(member, NULL, 0);
	for (int i = 0; i < 100 && rmdir(group) < 0; i++)
		usleep(10000);
}

Test(cgroup, threads_left_are_the_least_of_all_groups)
{
	uint64_t v;

	mount_v2("/");
	tree_put(&t, "7/cgroup", "0::/a/b\n");
	tree_put(&t, "sys/fs/cgroup/a/pids.max", "30\n");
	tree_put(&t, "sys/fs/cgroup/a/pids.current", "27\n");
	tree_put(&t, "sys/fs/cgroup/a/b/pids.max", "max\n");
	tree_put(&t, "sys/fs/cgroup/a/b/pids.current", "20\n");
	cr_assert_eq(sp_cgroup_threads_left_at(t.fd, t.fd, 7, &v), 0);
	cr_expect_eq(v, 3);
	tree_put(&t, "sys/fs/cgroup/a/pids.max", "max\n");
	cr_expect_eq(sp_cgroup_threads_left_at(t.fd, t.fd, 7, &v), -ENODATA);
}

Test(cgroup, cpu_stat_of_the_nearest_group_with_a_limit)
{
	char path[256];

	mount_v2("/");
	tree_put(&t, "7/cgroup", "0::/pods/one\n");
	tree_put(&t, "sys/fs/cgroup/pods/one/cpu.max", "max 100000\n");
	cr_expect_eq(sp_cgroup_cpu_stat_at(t.fd, t.fd, 7, path, sizeof(path)), -ENODATA);
	tree_put(&t, "sys/fs/cgroup/pods/cpu.max", "50000 100000\n");
	cr_assert_eq(sp_cgroup_cpu_stat_at(t.fd, t.fd, 7, path, sizeof(path)), 0);
	cr_expect_str_eq(path, "/sys/fs/cgroup/pods/cpu.stat");
	cr_expect_eq(sp_cgroup_cpu_stat_at(t.fd, t.fd, 7, path, 10), -ENAMETOOLONG);
	cr_expect_eq(sp_cgroup_cpu_stat_at(t.fd, t.fd, 8, path, sizeof(path)), -ESRCH);
}

Test(cgroup, cpu_stat_of_version_1_by_the_mount_of_its_controller)
{
	char path[256];

	mount_v1("/");
	tree_put(&t, "self/cgroup", "4:cpu,cpuacct:/yarn/c1\n3:memory:/other\n");
	tree_put(&t, "sys/fs/cgroup/cpu/yarn/c1/cpu.cfs_quota_us", "-1\n");
	tree_put(&t, "sys/fs/cgroup/cpu/yarn/cpu.cfs_quota_us", "20000\n");
	cr_assert_eq(sp_cgroup_cpu_stat_at(t.fd, t.fd, 0, path, sizeof(path)), 0);
	cr_expect_str_eq(path, "/sys/fs/cgroup/cpu/yarn/cpu.stat");
}
