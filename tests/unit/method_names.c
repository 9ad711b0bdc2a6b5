/* Names of Java methods, out of recorded memory of JVMs. */
#include "corpus.h"
#include "unwind/method_names.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 2048

/* Memory of which zeroes are kept until they are forgotten: from before its class was loaded. */
struct kept {
	const struct sp_mem *mem;
	bool old;
};

static int kept_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct kept *k = ctx;

	if (!k->old)
		return sp_mem_read(k->mem, addr, buf, len);
	memset(buf, 0, len);
	return 0;
}

static void kept_forget(void *ctx)
{
	((struct kept *)ctx)->old = false;
}

static struct corpus *open_corpus(const char *name)
{
	const char *data = getenv("SP_DATA");
	char path[4096];
	struct corpus *c;

	snprintf(path, sizeof(path), "%s/unwind/%s.corpus", data ? data : "tests/data", name);
	c = corpus_load(path);
	cr_assert(c, "%s cannot be read", path);
	return c;
}

/* The name of @f, where zeroes are kept; by names that have it, and by others. */
static void check(
	struct kept *k, struct sp_mem *mem, struct sp_hotspot *h, const struct sp_frame *f)
{
	struct sp_method_names *names;
	struct sp_name *n;

	for (int known = 0; known < 2; known++) {
		cr_assert_eq(sp_method_names_new(&names, mem, h, 0), 0);
		k->old = false;
		cr_assert(!known || sp_method_names_get(names, f, &n) == 0);
		sp_method_names_batch(names, true);
		k->old = true;
		cr_assert_eq(sp_method_names_get(names, f, &n), 0);
		sp_method_names_free(names);
	}
	k->old = false;
}

static void came_meanwhile(const char *name)
{
	static struct sp_frame frames[DEPTH];
	struct corpus *c = open_corpus(name);
	struct kept k = {.mem = &c->mem};
	struct sp_mem mem = {.read = kept_read, .ctx = &k, .forget = kept_forget};
	struct sp_modules *modules;
	struct sp_unwinder *u;
	struct sp_hotspot *h;
	struct sp_unwind_result r;
	unsigned java = 0;

	cr_assert_eq(sp_modules_new(&modules, &mem), 0);
	cr_assert(sp_modules_parse(modules, c->maps, c->maps_len) >= 0);
	cr_assert_eq(sp_hotspot_new(&h, &mem, modules, NULL), 0);
	cr_assert_eq(sp_unwinder_new(&u, &mem, modules, h, 0), 0);
	for (uint32_t i = 0; i < c->case_count && java < 100; i++) {
		sp_unwind(u, &c->cases[i].snap, frames, DEPTH, &r);
		for (uint32_t n = 0; n < r.count && n < 8; n++)
			if (frames[n].kind == SP_FRAME_KIND_JAVA &&
				c->cases[i].frames[n]->name_len) {
				check(&k, &mem, h, &frames[n]);
				java++;
			}
	}
	cr_assert_geq(java, 50);
	sp_unwinder_free(u);
	sp_hotspot_free(h);
	sp_modules_free(modules);
	corpus_free(c);
}

Test(method_names, classes_that_came_while_memory_was_kept_have_names)
{
	came_meanwhile("jdk17");
	came_meanwhile("jdk25");
}
