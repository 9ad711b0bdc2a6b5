/* Processes that cannot all be had on one machine, as trees of /proc. */
#include "failing_realloc.h"
#include "tree.h"

#include "discover/jvm.h"
#include "base/cleanup.h"
#include "discover/jvm_internal.h"

#include <elf.h>
#include <errno.h>

static struct tree t;

#define LIBJVM "/jdk/lib/server/libjvm.so"
#define GLIBC  "7f10-7f20 r-xp 00000000 fe:02 12 /lib/x86_64-linux-gnu/libc.so.6\n"
#define MAPS   "7f00-7f10 r-xp 00000000 fe:02 11 " LIBJVM "\n" GLIBC

static void put_status(char state, uid_t uid, gid_t gid, const char *sigcgt)
{
	tree_put(&t, "7/status",
		"Name:\tjava\nState:\t%c (x)\nPPid:\t1\nTracerPid:\t9\nUid:\t0\t%u\t0\t0\n"
		"Gid:\t0\t%u\t0\t0\nNSpid:\t7\nSigCgt:\t%s\n",
		state, (unsigned)uid, (unsigned)gid, sigcgt);
}

/* A HotSpot 17 of ours, ready to be attached to. */
static void make(void)
{
	t = tree_new();
	put_status('S', geteuid(), getegid(), "0000000181005ccf");
	tree_put(&t, "7/stat", "7 (java) S 1 7 7 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 100 1 2\n");
	tree_put(&t, "7/maps", MAPS);
	tree_put(&t, "7/cgroup", "0::/yarn/c1\n");
	tree_put(&t, "7/root/jdk/release", "IMPLEMENTOR=\"X\"\nJAVA_VERSION=\"17.0.15\"\n");
	tree_put(&t, "7/root/tmp/x", "x");
	tree_link(&t, "7/exe", "/jdk/bin/java");
	tree_put_words(&t, "7/environ", "A=b");
	tree_put_words(&t, "7/cmdline", "/jdk/bin/java|Main");
	mkdirat(t.fd, "7/fd", 0755);
	mkdirat(t.fd, "7/task", 0755);
}

static void drop(void)
{
	tree_done(&t);
}

TestSuite(jvm, .init = make, .fini = drop);

static struct sp_jvm inspect(void)
{
	struct sp_jvm j;

	cr_assert_eq(sp_jvm_inspect(t.fd, 7, &j), 0);
	return j;
}

static void expect_no(enum sp_jvm_block block, const char *words)
{
	struct sp_jvm j = inspect();

	cr_expect_eq(j.attach, SP_ATTACH_NO, "%s", j.reason);
	cr_expect_eq(j.block, block, "%d: %s", j.block, j.reason);
	cr_expect(strstr(j.reason, words), "'%s' is not in '%s'", words, j.reason);
}

Test(jvm, hotspot_of_our_own_can_be_attached)
{
	struct sp_jvm j = inspect();

	cr_expect_eq(j.kind, SP_JVM_HOTSPOT);
	cr_expect_eq(j.libc, SP_LIBC_GLIBC);
	cr_expect_eq(j.jdk, 17);
	cr_expect_str_eq(j.jdk_version, "17.0.15");
	cr_expect_str_eq(j.main_class, "Main");
	cr_expect_str_eq(j.cgroup, "/yarn/c1");
	cr_expect_eq(j.attach, SP_ATTACH_YES, "%s", j.reason);
	cr_expect_str_eq(j.reason, "");
	cr_expect_eq(sp_jvm_inspect(t.fd, 8, &j), -ESRCH);
}

Test(jvm, what_is_no_hotspot_is_named)
{
	tree_put(&t, "7/maps", GLIBC);
	expect_no(SP_BLOCK_NOT_JVM, "is not a JVM; it executes /jdk/bin/java");
	/* OpenJ9 has a libjvm.so as well */
	tree_put(&t, "7/maps",
		MAPS "7f30-7f40 r-xp 00000000 fe:02 13 /jdk/lib/default/libj9vm29.so\n");
	expect_no(SP_BLOCK_NOT_JVM, "OpenJ9");
}

Test(jvm, native_image_is_known_by_its_heap_section)
{
	static const char names[] = "\0.svm_heap\0.shstrtab";
	struct {
		Elf64_Ehdr eh;
		Elf64_Shdr sh[3];
		char names[sizeof(names)];
	} f = {0};

	memcpy(f.eh.e_ident, ELFMAG, SELFMAG);
	f.eh.e_ident[EI_CLASS] = ELFCLASS64;
	f.eh.e_ident[EI_DATA] = ELFDATA2LSB;
	f.eh.e_machine = EM_X86_64;
	f.eh.e_shoff = sizeof(f.eh);
	f.eh.e_shentsize = sizeof(f.sh[0]);
	f.eh.e_shnum = 3;
	f.eh.e_shstrndx = 2;
	f.sh[1].sh_name = 1;
	f.sh[2].sh_name = 11;
	f.sh[2].sh_offset = offsetof(__typeof__(f), names);
	f.sh[2].sh_size = sizeof(names);
	memcpy(f.names, names, sizeof(names));
	unlinkat(t.fd, "7/exe", 0);
	tree_put_bytes(&t, "7/exe", &f, sizeof(f));
	tree_put(&t, "7/maps", GLIBC);
	expect_no(SP_BLOCK_NOT_JVM, "native image");
	for (size_t n = 0; n < sizeof(f); n++) {
		struct sp_jvm j;
		tree_put_bytes(&t, "7/exe", &f, n);
		sp_jvm_inspect(t.fd, 7, &j);
	}
}

Test(jvm, musl_is_what_is_mapped_not_what_lies_about)
{
	tree_put(&t, "7/root/lib/ld-musl-x86_64.so.1", "x");
	cr_expect_eq(inspect().attach, SP_ATTACH_YES);
	tree_put(&t, "7/maps", MAPS "7f30-7f40 r-xp 00000000 fe:02 13 /lib/ld-musl-x86_64.so.1\n");
	expect_no(SP_BLOCK_LIBC, "musl");
}

Test(jvm, versions_outside_11_to_25)
{
	struct sp_jvm j;

	tree_put(&t, "7/root/jdk/release", "JAVA_VERSION=\"1.8.0_402\"\n");
	expect_no(SP_BLOCK_VERSION, "runs JDK 8; sparkprof needs JDK 11 to 25");
	tree_put(&t, "7/root/jdk/release", "JAVA_VERSION=\"27-ea\"\n");
	j = inspect();
	cr_expect_eq(j.attach, SP_ATTACH_UNKNOWN);
	cr_expect_eq(j.jdk, 27);
	tree_put(&t, "7/root/jdk/release", "JAVA_VERSION=\"\"\n");
	j = inspect();
	cr_expect_eq(j.attach, SP_ATTACH_UNKNOWN, "%s", j.reason);
	cr_expect_eq(sp_jvm_major("17"), 17);
	cr_expect_eq(sp_jvm_major("x"), 0);
	cr_expect_eq(sp_jvm_major("1.8"), 8);
	cr_expect_eq(sp_jvm_major("99999999999"), 0);
}

/* A libjvm.so of the mapped inode: machine, and version where neither hsperfdata nor release is. */
static void put_libjvm(int machine)
{
	char file[4096] = {0};
	Elf64_Ehdr eh = {.e_machine = (Elf64_Half)machine};
	struct stat st;

	memcpy(eh.e_ident, ELFMAG, SELFMAG);
	eh.e_ident[EI_CLASS] = ELFCLASS64;
	eh.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(file, &eh, sizeof(eh));
	strcpy(file + 2000,
		"OpenJDK 64-Bit Server VM (21.0.8+9) for linux-amd64 JRE (21.0.8+9-LTS), built on");
	tree_put_bytes(&t, "7/root" LIBJVM, file, sizeof(file));
	cr_assert_eq(fstatat(t.fd, "7/root" LIBJVM, &st, 0), 0);
	tree_put(&t, "7/maps", "7f00-7f10 r-xp 00000000 fe:02 %lu " LIBJVM "\n" GLIBC,
		(unsigned long)st.st_ino);
}

Test(jvm, version_and_machine_from_the_mapped_library)
{
	struct sp_jvm j;

	unlinkat(t.fd, "7/root/jdk/release", 0);
	put_libjvm(EM_X86_64);
	j = inspect();
	cr_expect_str_eq(j.jdk_version, "21.0.8");
	cr_expect_eq(j.jdk, 21);
	put_libjvm(EM_AARCH64);
	expect_no(SP_BLOCK_MACHINE, "aarch64");
}

/* Becomes a plain user, or root again. */
static void become(uid_t id)
{
	cr_assert_eq(seteuid(0), 0);
	cr_assert_eq(setegid(id), 0);
	cr_assert_eq(seteuid(id), 0);
}

Test(jvm, other_users_are_named_with_the_remedy)
{
	if (geteuid() != 0)
		cr_skip("only root can become others");
	cr_assert_eq(chmod(t.path, 0755), 0);
	put_status('S', 12345, 0, "4");
	cr_expect_eq(inspect().attach, SP_ATTACH_YES, "root may");
	become(54321);
	expect_no(SP_BLOCK_USER, "runs as 12345: use sudo");
	become(0);
	put_status('S', 54321, 7, "4");
	become(54321);
	expect_no(SP_BLOCK_USER, "runs with group 7, you have 54321");
	become(0);
	put_status('S', 54321, 54321, "4");
	cr_assert_eq(fchmodat(t.fd, "7/maps", 0, 0), 0);
	become(54321);
	cr_expect_eq(inspect().attach, SP_ATTACH_UNKNOWN, "its own user may not look into it");
	become(0);
}

Test(jvm, flags_that_forbid_it)
{
	static const struct {
		const char *cmdline, *env;
		enum sp_jvm_block block;
		const char *words;
	} cases[] = {
		{"java|-XX:+DisableAttachMechanism|Main", "A=b", SP_BLOCK_ATTACH_OFF,
			"-XX:+DisableAttachMechanism"},
		{"java|Main", "JDK_JAVA_OPTIONS=-XX:+DisableAttachMechanism", SP_BLOCK_ATTACH_OFF,
			"attach is"},
		{"java|Main", "JAVA_TOOL_OPTIONS=-Xmx1g -XX:+DisableAttachMechanism",
			SP_BLOCK_ATTACH_OFF, "attach is"},
		{"java|-XX:-EnableDynamicAgentLoading|Main", "A=b", SP_BLOCK_AGENTS_OFF,
			"agent loading is disabled there: -XX:-EnableDynamicAgentLoading"},
		{"java|-XX:+EnableDynamicAgentLoading|Main",
			"_JAVA_OPTIONS=-XX:-EnableDynamicAgentLoading", SP_BLOCK_AGENTS_OFF,
			"agent loading"},
		{"java|-XX:-EnableDynamicAgentLoading|-XX:+EnableDynamicAgentLoading|Main", "A=b",
			SP_BLOCK_NONE, ""},
		{"java|-XX:+EnableDynamicAgentLoading|Main",
			"JAVA_TOOL_OPTIONS=-XX:-EnableDynamicAgentLoading", SP_BLOCK_NONE, ""},
		{"java|Main|-XX:+DisableAttachMechanism", "A=b", SP_BLOCK_NONE, ""},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_jvm j;

		tree_put_words(&t, "7/cmdline", cases[i].cmdline);
		tree_put_words(&t, "7/environ", cases[i].env);
		j = inspect();
		cr_expect_eq(j.block, cases[i].block, "%s: %s", cases[i].cmdline, j.reason);
		cr_expect(strstr(j.reason, cases[i].words), "%s: %s", cases[i].cmdline, j.reason);
	}
}

Test(jvm, states_in_which_it_must_wait)
{
	put_status('T', geteuid(), getegid(), "4");
	expect_no(SP_BLOCK_STOPPED, "kill -CONT 7");
	put_status('t', geteuid(), getegid(), "4");
	expect_no(SP_BLOCK_STOPPED, "debugger (pid 9)");
	put_status('S', geteuid(), getegid(), "0");
	expect_no(SP_BLOCK_STARTING, "still starting");
	tree_put_words(&t, "7/cmdline", "java|-Xrs|Main");
	expect_no(SP_BLOCK_ATTACH_OFF, "-Xrs");
	put_status('Z', geteuid(), getegid(), "4");
	expect_no(SP_BLOCK_ENDED, "has ended");
}

#define FLAGS                                                                    \
	"|--driver-url|spark://"                                                 \
	"CoarseGrainedScheduler@h:1|--executor-id|12|--hostname|node7|--cores|4" \
	"|--app-id|application_1700000000000_0042"

Test(jvm, executors_of_every_kind)
{
	static const char *const mains[] = {
		"org.apache.spark.executor.YarnCoarseGrainedExecutorBackend",
		"org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
		"org.apache.spark.executor.CoarseGrainedExecutorBackend",
	};

	for (size_t i = 0; i < SP_COUNT(mains); i++) {
		char words[512];
		struct sp_jvm j;

		snprintf(words, sizeof(words),
			"java|-cp|/s/spark-core_2.12-3.5.1.jar|%s" FLAGS "|--podName|p-exec-1",
			mains[i]);
		tree_put_words(&t, "7/cmdline", words);
		j = inspect();
		cr_expect_eq(j.role, SP_ROLE_EXECUTOR, "%s", mains[i]);
		cr_expect_str_eq(j.executor_id, "12");
		cr_expect_str_eq(j.app_id, "application_1700000000000_0042");
		cr_expect_str_eq(j.hostname, "node7");
		cr_expect_str_eq(j.pod, "p-exec-1");
		cr_expect_str_eq(j.spark_version, "3.5.1");
		cr_expect_str_eq(j.scala_version, "2.12");
	}
}

Test(jvm, yarn_identity_from_environment_and_configuration)
{
	struct sp_jvm j;

	tree_put_words(
		&t, "7/cmdline", "java|org.apache.spark.deploy.yarn.ApplicationMaster|--class|a.B");
	tree_put_words(&t, "7/environ",
		"CONTAINER_ID=container_e17_1700000000000_0042_01_000001|NM_HOST=node7|CLASSPATH=/"
		"x/*");
	tree_link(&t, "7/cwd", "/data/appcache/application_1700000000000_0042/c1");
	/* as YARN has it: a link into the cache of localised files */
	tree_link(&t, "7/root/data/appcache/application_1700000000000_0042/c1/__spark_conf__",
		"/data/filecache/7");
	tree_put(&t, "7/root/data/filecache/7/__spark_conf__.properties",
		"#x\nspark.app.name.x=no\nspark.app.name=nightly\\: etl\nspark.x=y\n");
	tree_link(&t, "7/fd/33", "/data/filecache/8/spark-core_2.13-4.0.0-amzn-1.jar");
	j = inspect();
	cr_expect_eq(j.role, SP_ROLE_DRIVER);
	cr_expect_str_eq(j.executor_id, "driver");
	cr_expect_str_eq(j.container_id, "container_e17_1700000000000_0042_01_000001");
	cr_expect_str_eq(j.app_id, "application_1700000000000_0042");
	cr_expect_str_eq(j.app_name, "nightly: etl");
	cr_expect_str_eq(j.hostname, "node7");
	cr_expect_str_eq(j.spark_version, "4.0.0-amzn-1");
}

Test(jvm, kubernetes_driver_from_its_properties_file)
{
	struct sp_jvm j;

	tree_put_words(&t, "7/cmdline",
		"java|org.apache.spark.deploy.SparkSubmit|--deploy-mode|client|--properties-file|"
		"/opt/spark/conf/spark.properties|--class|a.B|local:///x.jar");
	tree_put_words(&t, "7/environ",
		"SPARK_APPLICATION_ID=spark-77|KUBERNETES_SERVICE_HOST=1|HOSTNAME=b-driver");
	/* a ConfigMap is mounted with links */
	tree_link(&t, "7/root/opt/spark/conf/spark.properties", "..data/spark.properties");
	tree_put(&t, "7/root/opt/spark/conf/..data/spark.properties", "spark.app.name=etl\n");
	j = inspect();
	cr_expect_eq(j.role, SP_ROLE_DRIVER);
	cr_expect_str_eq(j.app_id, "spark-77");
	cr_expect_str_eq(j.app_name, "etl");
	cr_expect_str_eq(j.pod, "b-driver");
}

Test(jvm, container_of_a_runtime_from_its_cgroup)
{
	static const char *const groups[] = {
		"0::/system.slice/docker-%s.scope\n",
		"0::/libpod_parent/libpod-%s/container\n",
		"3:memory:/kubepods/burstable/pod0c1b2a3d-1111-2222-3333-444455556666/%s\n",
	};

	for (size_t i = 0; i < SP_COUNT(groups); i++) {
		char text[512];

		snprintf(text, sizeof(text), groups[i],
			"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
		tree_put(&t, "7/cgroup", "%s", text);
		cr_expect_str_eq(inspect().container_id, "0123456789ab", "%s", text);
		cr_expect_str_eq(inspect().app_id, "");
	}
	tree_put_words(&t, "7/environ", "CONTAINER_ID=container_1700000000000_0042_01_000001");
	cr_expect_str_eq(inspect().container_id, "container_1700000000000_0042_01_000001");
}

Test(jvm, which_submit_is_a_driver)
{
	static const struct {
		const char *words;
		enum sp_jvm_role role;
		const char *name;
	} cases[] = {
		{"--master|yarn|--name|a b|x.py|--deploy-mode|cluster", SP_ROLE_DRIVER, "a b"},
		{"--master|yarn|--deploy-mode|cluster|--name|x|x.py", SP_ROLE_OTHER, ""},
		{"--deploy-mode=cluster|x.py", SP_ROLE_OTHER, ""},
		{"--conf|spark.submit.deployMode=cluster|x.py", SP_ROLE_OTHER, ""},
		{"--kill|driver-1|--master|spark://h:1", SP_ROLE_OTHER, ""},
		{"--verbose|--conf|spark.app.name=q|/a/x.py", SP_ROLE_DRIVER, "q"},
		{"--supervise|/a/x.py|--name|no", SP_ROLE_DRIVER, "x.py"},
		{"--class|a.B|/a/x.jar", SP_ROLE_DRIVER, "a.B"},
		{"", SP_ROLE_DRIVER, ""},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		char words[512];
		struct sp_jvm j;

		snprintf(words, sizeof(words), "java|org.apache.spark.deploy.SparkSubmit|%s",
			cases[i].words);
		tree_put_words(&t, "7/cmdline", words);
		j = inspect();
		cr_expect_eq(j.role, cases[i].role, "%s", cases[i].words);
		cr_expect_str_eq(j.app_name, cases[i].name, "%s: %s", cases[i].words, j.app_name);
		cr_expect_eq(j.started_from,
			cases[i].name[0] && (strchr(cases[i].name, '.') != NULL), "%s",
			cases[i].words);
	}
}

Test(jvm, other_parts_of_spark_are_no_drivers)
{
	tree_put_words(&t, "7/environ", "CONTAINER_ID=container_1700000000000_0042_01_000001");
	tree_put_words(
		&t, "7/cmdline", "java|org.apache.spark.deploy.yarn.ExecutorLauncher|--arg|x");
	cr_expect_eq(inspect().role, SP_ROLE_OTHER);
	cr_expect_str_eq(inspect().app_id, "application_1700000000000_0042");
	tree_put_words(
		&t, "7/cmdline", "java|org.apache.spark.deploy.worker.Worker|spark://h:7077");
	cr_expect_eq(inspect().role, SP_ROLE_OTHER);
	tree_put_words(&t, "7/cmdline",
		"java|-Dspark.app.name=n|org.apache.spark.deploy.worker.DriverWrapper|a|b|c");
	cr_expect_eq(inspect().role, SP_ROLE_DRIVER);
	cr_expect_str_eq(inspect().app_name, "n");
}

Test(jvm, local_mode_driver_by_its_scheduler_thread)
{
	tree_put_words(&t, "7/cmdline", "java|-cp|a.jar:/s/spark-core_2.13-4.3.0.jar|my.Job");
	tree_put(&t, "7/task/8/comm", "main\n");
	cr_expect_eq(inspect().role, SP_ROLE_OTHER);
	tree_put(&t, "7/task/9/comm", "dag-scheduler-e\n");
	cr_expect_eq(inspect().role, SP_ROLE_DRIVER);
}

Test(jvm, a_shell_with_the_words_of_an_executor_is_no_jvm)
{
	struct sp_jvm *list = NULL;
	size_t n = 99;

	unlinkat(t.fd, "7/exe", 0);
	tree_link(&t, "7/exe", "/usr/bin/bash");
	tree_put(&t, "7/maps", GLIBC);
	tree_put_words(&t, "7/cmdline",
		"bash|-c|java org.apache.spark.executor.YarnCoarseGrainedExecutorBackend");
	cr_assert_eq(sp_jvm_list(t.fd, &list, &n), 0);
	cr_expect_eq(n, 0);
	free(list);
}

Test(jvm, a_child_that_a_jvm_has_forked_is_not_a_jvm)
{
	tree_put(&t, "7/status",
		"Name:\tjava\nState:\tS\nPPid:\t3\nUid:\t0\t%u\t0\t0\nGid:\t0\t%u\t0\t0\nThreads:"
		"\t1\n"
		"SigCgt:\t4\n",
		(unsigned)geteuid(), (unsigned)getegid());
	cr_expect_eq(inspect().kind, SP_JVM_HOTSPOT);
	tree_put_words(&t, "3/cmdline", "/jdk/bin/java|Main");
	cr_expect_eq(inspect().kind, SP_JVM_NONE);
}

Test(jvm, survives_every_allocation_that_fails)
{
	tree_put_words(&t, "7/cmdline",
		"java|org.apache.spark.executor.CoarseGrainedExecutorBackend" FLAGS);
	for (unsigned nth = 1; nth < 100; nth++) {
		struct sp_jvm *list = NULL;
		size_t n = 0;

		realloc_fails_at = nth;
		if (sp_jvm_list(t.fd, &list, &n) == 0)
			free(list);
		if (realloc_fails_at)
			break; /* there were not that many */
		cr_assert_lt(nth, 99);
	}
	realloc_fails_at = 0;
}

Test(jvm, spark_jar_names)
{
	static const struct {
		const char *text, *version;
	} cases[] = {
		{"/a/spark-core_2.13-4.3.0.jar", "4.3.0"},
		{"x.jar:/a/spark-core_2.11-2.4.8.jar:y", "2.4.8"},
		{"/a/spark-core_2.12-3.3.0.3.3.7190.0-91.jar", "3.3.0.3.3.7190.0-91"},
		{"/a/spark-core_2.12-:/b/spark-core_2.12-3.1.3.jar", "3.1.3"},
		{"/a/spark-core_:/b.jar", ""},
		{"spark-core_2.12", ""},
		{"spark-core_2.12-", ""},
		{"spark-core_2.12-3", ""},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_jvm j = {0};

		cr_expect_eq(sp_jvm_look_spark_jar(cases[i].text, &j), *cases[i].version != '\0');
		cr_expect_str_eq(j.spark_version, cases[i].version, "%s: %s", cases[i].text,
			j.spark_version);
	}
}
