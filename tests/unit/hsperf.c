#include "tree.h"

#include "proc/hsperf.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/perfdata.h"

#include <errno.h>

static void put32(char *p, uint32_t v)
{
	memcpy(p, &v, 4);
}

static void add_entry(struct sp_buf *b, const char *name, char type, const char *value)
{
	uint32_t n = (uint32_t)strlen(value) + 1, name_len = (uint32_t)strlen(name) + 1;
	uint32_t data = (20 + name_len + 7) & ~7u, len = (data + n + 7) & ~7u;
	char *e = sp_buf_reserve(b, len);

	memset(e, 0, len);
	put32(e, len);
	put32(e + 4, 20);
	put32(e + 8, n);
	e[12] = type;
	put32(e + 16, data);
	memcpy(e + 20, name, name_len);
	memcpy(e + data, value, n);
	b->len += len;
	put32(b->data + 8, (uint32_t)b->len);
	b->data[28]++;
}

/* A file as HotSpot writes it, with what it writes most. */
static void make(struct sp_buf *b)
{
	static const char head[32] = {'\xca', '\xfe', '\xc0', '\xc0', 1, 2, 0, 1, [24] = 32};

	sp_buf_init(b);
	sp_buf_add(b, head, sizeof(head));
	add_entry(b, "sun.rt.jvmCapabilities", 'B', "1100000000000000");
	add_entry(b, "java.threads.live", 'J', "1234567");
	add_entry(b, "java.property.java.version", 'B', "17.0.15");
	add_entry(b, "java.rt.vmArgs", 'B', "-Xmx512m -XX:-EnableDynamicAgentLoading");
	add_entry(b, "sun.rt.javaCommand", 'B', "a.Main --x y");
}

Test(hsperf, strings_are_found_by_name)
{
	SP_AUTO_BUF struct sp_buf b;
	struct sp_hsperf h;

	make(&b);
	cr_assert_eq(sp_hsperf_parse(b.data, b.len, &h), 0);
	cr_expect_str_eq(h.java_version, "17.0.15");
	cr_expect_str_eq(h.command, "a.Main --x y");
	cr_expect_str_eq(h.vm_args, "-Xmx512m -XX:-EnableDynamicAgentLoading");
	cr_expect_eq(h.capabilities[0], '1');
	cr_expect_str_eq(h.class_path, "");
}

struct longs {
	unsigned n;
	uint64_t value;
};

static void count_long(void *ctx, const struct sp_perfdata_entry *e)
{
	struct longs *to = ctx;

	if (e->type != 'J' || e->elements)
		return;
	to->n++;
	memcpy(&to->value, e->data, sizeof(to->value));
	cr_expect_str_eq(e->name, "sun.os.hrt.frequency");
}

/* What the agent reads in the JVM's memory; a scalar that is cut is none. */
Test(hsperf, longs_are_found_whole_or_not_at_all)
{
	for (uint32_t cut = 0; cut < 2; cut++) {
		SP_AUTO_BUF struct sp_buf b;
		struct longs found = {0};
		size_t at;

		make(&b);
		at = b.len;
		add_entry(&b, "sun.os.hrt.frequency", 'J', "1234567");
		put32(b.data + at + 8, 0);
		put32(b.data + at + 16, 48 + 4 * cut);
		cr_expect_eq(sp_perfdata_each(b.data, b.len, count_long, &found), 0);
		cr_expect_eq(found.n, 1 - cut);
		cr_expect(cut || memcmp(&found.value, "1234567", 8) == 0);
	}
}

Test(hsperf, unfinished_and_foreign_files_are_refused)
{
	SP_AUTO_BUF struct sp_buf b;
	struct sp_hsperf h;

	make(&b);
	b.data[7] = 0;
	cr_expect_eq(sp_hsperf_parse(b.data, b.len, &h), -EAGAIN);
	b.data[7] = 1;
	b.data[5] = 3;
	cr_expect_eq(sp_hsperf_parse(b.data, b.len, &h), -EINVAL);
	b.data[5] = 2;
	b.data[4] = 0;
	cr_expect_eq(sp_hsperf_parse(b.data, b.len, &h), -EINVAL);
	cr_expect_eq(sp_hsperf_parse("#!/bin/sh\n", 10, &h), -EINVAL);
}

Test(hsperf, survives_truncation_at_every_byte)
{
	SP_AUTO_BUF struct sp_buf b;
	struct sp_hsperf h;

	make(&b);
	for (size_t n = 0; n < b.len; n++) {
		SP_AUTO_FREE char *exact = malloc(n ? n : 1); /* ASan sees a read behind it */

		memcpy(exact, b.data, n);
		cr_expect_eq(sp_hsperf_parse(exact, n, &h), -EINVAL, "%zu bytes", n);
	}
}

Test(hsperf, survives_damage)
{
	SP_AUTO_BUF struct sp_buf b;
	SP_AUTO_FREE char *copy = NULL;
	struct sp_hsperf h;
	uint32_t seed = 1;

	make(&b);
	copy = malloc(b.len);
	for (int round = 0; round < 50000; round++) {
		memcpy(copy, b.data, b.len);
		for (int i = 0; i < 3; i++) {
			seed = seed * 1664525 + 1013904223;
			copy[4 + (seed >> 8) % (b.len - 4)] = (char)(seed >> 24);
		}
		if (sp_hsperf_parse(copy, b.len, &h) == 0)
			cr_expect_lt(strlen(h.command), sizeof(h.command));
	}
}

Test(hsperf, only_a_file_of_the_targets_user_is_read)
{
	struct tree t = tree_new();
	SP_AUTO_BUF struct sp_buf b;
	SP_AUTO_PROC struct sp_proc p = {.dir = -1};
	struct sp_hsperf h;

	make(&b);
	tree_put_bytes(&t, "7/root/tmp/hsperfdata_spark/12", b.data, b.len);
	tree_link(&t, "7/root/tmp/hsperfdata_spark/13", "/etc/passwd");
	cr_assert_eq(sp_proc_open(t.fd, 7, &p), 0);
	cr_expect_eq(sp_hsperf_read(&p, 12, geteuid(), "spark", &h), 0);
	cr_expect_eq(sp_hsperf_read(&p, 12, geteuid(), "185", &h), 0, "by looking at other names");
	cr_expect_eq(sp_hsperf_read(&p, 12, geteuid(), "../tmp", &h), 0);
	cr_expect_eq(sp_hsperf_read(&p, 12, geteuid() + 1, "spark", &h), -ENOENT);
	cr_expect_eq(sp_hsperf_read(&p, 13, geteuid(), "spark", &h), -ENOENT);
	tree_done(&t);
}
