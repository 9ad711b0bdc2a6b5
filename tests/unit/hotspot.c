/* The JVM's description of itself: what is missing is named. */
#include "corpus.h"
#include "unwind/layout.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct corpus *open_17(void)
{
	const char *data = getenv("SP_DATA");
	char path[4096];
	struct corpus *c;

	snprintf(path, sizeof(path), "%s/unwind/jdk17.corpus", data ? data : "tests/data");
	c = corpus_load(path);
	cr_assert(c);
	return c;
}

/* Changes every occurrence of @from in the recorded memory, as another JVM would have it. */
static int rename_all(struct corpus *c, const char *from, const char *to)
{
	size_t len = strlen(from);
	uint8_t *all = (uint8_t *)c->blocks;
	int count = 0;

	for (uint32_t i = 0; i + 1 < c->block_count; i++) {
		uint8_t two[2 * CORPUS_BLOCK];

		if (c->blocks[i].index + 1 != c->blocks[i + 1].index)
			continue;
		memcpy(two, c->blocks[i].bytes, CORPUS_BLOCK);
		memcpy(two + CORPUS_BLOCK, c->blocks[i + 1].bytes, CORPUS_BLOCK);
		for (unsigned k = 0; k < CORPUS_BLOCK; k++)
			if (!memcmp(two + k, from, len + 1)) {
				memcpy(two + k, to, len);
				count++;
			}
		memcpy(c->blocks[i].bytes, two, CORPUS_BLOCK);
		memcpy(c->blocks[i + 1].bytes, two + CORPUS_BLOCK, CORPUS_BLOCK);
	}
	(void)all;
	return count;
}

Test(hotspot, layout_is_read_from_the_tables)
{
	struct corpus *c = open_17();
	struct sp_modules *m;
	struct sp_hotspot *h;
	struct sp_anchor_layout a;

	cr_assert_eq(sp_modules_new(&m, &c->mem), 0);
	cr_assert(sp_modules_parse(m, c->maps, c->maps_len) > 0);
	cr_assert_eq(sp_hotspot_new(&h, &c->mem, m, NULL), 0);
	cr_assert_eq(sp_hotspot_version(h), 17);
	cr_assert(h->heap_count >= 1 && h->codelet_count > 100);
	cr_assert_eq(h->f.sizeof_heap_block, 16);
	sp_hotspot_anchor(h, &a);
	cr_assert(a.anchor > 0 && a.sp != a.pc && a.pc != a.fp);
	sp_hotspot_free(h);
	sp_modules_free(m);
	corpus_free(c);
}

Test(hotspot, missing_field_is_named)
{
	struct corpus *c = open_17();
	struct sp_err err = {""};
	struct sp_modules *m;
	struct sp_hotspot *h;

	cr_assert(rename_all(c, "_frame_complete_offset", "_frame_c0mplete_offset") > 0);
	cr_assert_eq(sp_modules_new(&m, &c->mem), 0);
	cr_assert(sp_modules_parse(m, c->maps, c->maps_len) > 0);
	cr_assert_eq(sp_hotspot_new(&h, &c->mem, m, &err), -ENOTSUP);
	cr_assert(strstr(err.text, "CodeBlob::_frame_complete_offset"), "%s", err.text);
	sp_modules_free(m);
	corpus_free(c);
}

Test(hotspot, process_without_a_jvm_is_said)
{
	struct corpus *c = open_17();
	struct sp_err err = {""};
	struct sp_modules *m;
	struct sp_hotspot *h;

	cr_assert_eq(sp_modules_new(&m, &c->mem), 0);
	cr_assert_eq(sp_hotspot_new(&h, &c->mem, m, &err), -ENOENT);
	cr_assert(strstr(err.text, "libjvm"));
	sp_modules_free(m);
	corpus_free(c);
}
