/* Makes the metadata event: a table of strings, then a tree of elements that refer to it (see
 * types.c for what they say). Called once per recording, by the writer. */
#include "jfr/meta.h"

#include "base/cleanup.h"
#include "jfr/encode.h"
#include "jfr/types.h"

#include <stdio.h>

/* Elements and strings are collected side by side; a string's index is its first place. */
struct meta {
	struct sp_buf words; /* one after the other, each with its zero */
	struct sp_buf tree;
	uint32_t count;
};

static void put_int(struct sp_buf *b, uint32_t v)
{
	uint8_t *p = sp_buf_reserve(b, SP_JFR_MAX_INT);

	if (p)
		b->len += (size_t)(sp_jfr_put_long(p, v) - p);
}

static void put_word(struct meta *m, const char *word)
{
	const char *p = m->words.data;
	uint32_t i = 0;

	for (; i < m->count && !m->words.failed && strcmp(p, word) != 0; i++)
		p += strlen(p) + 1;
	if (i == m->count) {
		sp_buf_add(&m->words, word, strlen(word) + 1);
		m->count++;
	}
	put_int(&m->tree, i);
}

static void put_pair(struct meta *m, const char *key, const char *value)
{
	put_word(m, key);
	put_word(m, value);
}

static void put_number(struct meta *m, const char *key, unsigned value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	put_pair(m, key, text);
}

static void put_element(struct meta *m, const char *name, uint32_t attributes)
{
	put_word(m, name);
	put_int(&m->tree, attributes);
}

/* An annotation with one value, or none where @value is NULL. */
static void put_annotation(struct meta *m, unsigned type, const char *key, const char *value)
{
	put_element(m, "annotation", value ? 2 : 1);
	put_number(m, "class", type);
	if (value)
		put_pair(m, key, value);
	put_int(&m->tree, 0);
}

static const struct {
	uint8_t type;
	const char *value;
} unit_annotation[] = {
	[SP_JFR_TICKS] = {SP_JFR_TIMESTAMP, "TICKS"},
	[SP_JFR_TICKS_SPAN] = {SP_JFR_TIMESPAN, "TICKS"},
	[SP_JFR_EPOCH_MS] = {SP_JFR_TIMESTAMP, "MILLISECONDS_SINCE_EPOCH"},
	[SP_JFR_MS_SPAN] = {SP_JFR_TIMESPAN, "MILLISECONDS"},
	[SP_JFR_BYTES] = {SP_JFR_DATA_AMOUNT, "BYTES"},
	[SP_JFR_ADDRESS] = {SP_JFR_MEMORY_ADDRESS, NULL},
	[SP_JFR_PERCENT] = {SP_JFR_PERCENTAGE, NULL},
	[SP_JFR_COUNT] = {SP_JFR_UNSIGNED, NULL},
};

static void put_field(struct meta *m, const struct sp_jfr_field *f)
{
	put_element(m, "field", 2 + !!(f->flags & SP_JFR_POOL) + !!(f->flags & SP_JFR_ARRAY));
	put_pair(m, "name", f->name);
	put_number(m, "class", f->type);
	if (f->flags & SP_JFR_POOL)
		put_pair(m, "constantPool", "true");
	if (f->flags & SP_JFR_ARRAY)
		put_pair(m, "dimension", "1");
	put_int(&m->tree, (f->label != NULL) + (f->unit != SP_JFR_PLAIN));
	if (f->label)
		put_annotation(m, SP_JFR_LABEL, "value", f->label);
	if (f->unit != SP_JFR_PLAIN)
		put_annotation(
			m, unit_annotation[f->unit].type, "value", unit_annotation[f->unit].value);
}

static void put_category(struct meta *m, const char *const category[3])
{
	char key[24];
	uint32_t n = 0;

	while (n < 3 && category[n])
		n++;
	put_element(m, "annotation", 1 + n);
	put_number(m, "class", SP_JFR_CATEGORY);
	for (uint32_t i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "value-%u", i);
		put_pair(m, key, category[i]);
	}
	put_int(&m->tree, 0);
}

static void put_class(struct meta *m, unsigned id, const struct sp_jfr_type *t)
{
	static const char *const super[] = {
		[SP_JFR_KIND_ANNOTATION] = "java.lang.annotation.Annotation",
		[SP_JFR_KIND_EVENT] = "jdk.jfr.Event",
	};
	const struct sp_jfr_field *f;
	int content = id >= SP_JFR_TIMESTAMP && id <= SP_JFR_PERCENTAGE;
	uint32_t children = (t->label != NULL) + (t->category[0] != NULL) + (uint32_t)content;

	put_element(m, "class", t->kind == SP_JFR_KIND_PLAIN ? 2 : 3);
	put_pair(m, "name", t->name);
	put_number(m, "id", id);
	if (t->kind == SP_JFR_KIND_SIMPLE)
		put_pair(m, "simpleType", "true");
	else if (t->kind != SP_JFR_KIND_PLAIN)
		put_pair(m, "superType", super[t->kind]);
	for (f = t->fields; f && f->name; f++)
		children++;
	put_int(&m->tree, children);
	for (f = t->fields; f && f->name; f++)
		put_field(m, f);
	if (content)
		put_annotation(m, SP_JFR_CONTENT_TYPE, NULL, NULL);
	if (t->label)
		put_annotation(m, SP_JFR_LABEL, "value", t->label);
	if (t->category[0])
		put_category(m, t->category);
}

static void put_tree(struct meta *m)
{
	uint32_t classes = 0;

	for (unsigned id = 0; id < SP_JFR_TYPE_IDS; id++)
		classes += sp_jfr_type(id) != NULL;
	put_element(m, "root", 0);
	put_int(&m->tree, 2);
	put_element(m, "metadata", 0);
	put_int(&m->tree, classes);
	for (unsigned id = 0; id < SP_JFR_TYPE_IDS; id++) {
		if (sp_jfr_type(id))
			put_class(m, id, sp_jfr_type(id));
	}
	put_element(m, "region", 2);
	put_pair(m, "locale", "en_US");
	put_pair(m, "gmtOffset", "0");
	put_int(&m->tree, 0);
}

/* Readers keep what they know of the types from one chunk to the next while this id stays the same,
 * also across files that were joined: it has to follow from the contents. */
static uint32_t id_of(const struct meta *m)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < m->tree.len; i++)
		h = (h ^ (uint8_t)m->tree.data[i]) * 16777619u;
	return h >> 1;
}

void sp_jfr_meta_build(struct sp_buf *b)
{
	SP_AUTO_BUF struct sp_buf words, tree;
	struct meta m = {.count = 0};
	size_t start = b->len;
	const char *word;

	sp_buf_init(&m.words);
	sp_buf_init(&m.tree);
	put_tree(&m);
	words = m.words;
	tree = m.tree;
	sp_buf_add(b, "\0\0\0\0\0\0\0", 7); /* size, to come; type, start and duration: 0 */
	put_int(b, tree.failed || words.failed ? 0 : id_of(&m));
	put_int(b, m.count);
	word = words.data;
	for (uint32_t i = 0; i < m.count && !words.failed; i++, word += strlen(word) + 1) {
		sp_buf_addc(b, SP_JFR_STR_UTF8);
		put_int(b, (uint32_t)strlen(word));
		sp_buf_adds(b, word);
	}
	if (!tree.failed)
		sp_buf_add(b, tree.data, tree.len);
	b->failed |= words.failed || tree.failed;
	if (!b->failed)
		sp_jfr_put_fixed((uint8_t *)b->data + start, (uint32_t)(b->len - start));
}
