/* What stages are called: see stage_table.h. */
#include "out/stage_table.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "prof/spark/loose_words.h"

enum { ID = 36, ID_BEGIN = 8 }; /* letters of an id as Java's UUID writes it */

static const char *text_of(const struct sp_profile *p, uint32_t id)
{
	return sp_dict_get_string(p->dict, id, NULL);
}

/* Spark's frames of Python's calls into the JVM say nothing of who called. */
static bool from_python(const struct sp_profile *p, uint32_t id)
{
	return sp_words_from_python(text_of(p, id)) != NULL;
}

const char *sp_stage_table_site(const struct sp_profile *p, const struct sp_stage_row *r)
{
	const struct sp_stage *a = r->about;
	uint32_t ids[] = {a ? a->name : 0, a ? a->call_site : 0, a ? a->sql_text : 0};
	uint32_t python = 0;

	/* the first that says who called; else that Python did */
	for (size_t i = 0; i < SP_COUNT(ids); i++) {
		if (!ids[i] || sp_words_of_pool(text_of(p, ids[i])) ||
			(i == 2 && ids[i] == a->description))
			continue;
		if (!from_python(p, ids[i]))
			return text_of(p, ids[i]);
		python = python ? python : ids[i];
	}
	return text_of(p, python);
}

const char *sp_stage_table_name(const struct sp_profile *p, const struct sp_stage_row *r)
{
	const struct sp_stage *a = r->about;
	const char *site = sp_stage_table_site(p, r);

	/* The application's own words, but not those that Spark makes of a stream's ids. */
	if (!a || (a->description && !a->query))
		return text_of(p, a ? a->description : 0);
	return site[0] ? site : text_of(p, a->description ? a->description : a->group);
}

void sp_stage_table_words(
	const struct sp_profile *p, const struct sp_stage_row *r, struct sp_buf *out)
{
	const char *name = sp_stage_table_name(p, r), *site = sp_stage_table_site(p, r);

	sp_short_words(name, out);
	/* a description may be for many calls, or be the call itself, cut or not */
	if (r->about && r->about->description && !r->about->query && site[0] &&
		!sp_words_from_python(site) && strncmp(name, site, strcspn(name, ":")) != 0) {
		sp_buf_adds(out, ", ");
		sp_short_words(site, out);
	}
}

/* Numbers that programs give, not words of a person. */
static bool is_id(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
		if (!isxdigit((unsigned char)s[i]) && s[i] != '-')
			return false;
	return n == ID;
}

void sp_stage_table_group(
	const struct sp_profile *p, const struct sp_stage_row *r, struct sp_buf *out)
{
	const char *group = r->about ? text_of(p, r->about->group) : "";

	/* the job group of a stream is the id of its run */
	if (group[0] && !r->about->query && !is_id(group) &&
		strcmp(group, sp_stage_table_name(p, r)) != 0)
		sp_buf_addf(out, "%s: ", group);
}

/* Spark describes a batch as "NAME<br/>id = …<br/>runId = …<br/>batch = 3", without a name from its
 * id on. */
static size_t query_name(const char *description)
{
	const char *end = strstr(description, "id = ");
	size_t n = end ? (size_t)(end - description) : 0;

	if (n >= strlen("<br/>") && strncmp(end - strlen("<br/>"), "<br/>", strlen("<br/>")) == 0)
		n -= strlen("<br/>");
	while (n && isspace((unsigned char)description[n - 1]))
		n--;
	return n;
}

void sp_stage_table_query(
	const struct sp_profile *p, const struct sp_stage_row *r, struct sp_buf *out)
{
	const char *description = text_of(p, r->about->description);
	size_t n = query_name(description);

	if (n)
		sp_buf_addf(out, "streaming query \"%.*s\"", (int)n, description);
	else
		sp_buf_addf(out, "streaming query %.*s", ID_BEGIN, text_of(p, r->about->query));
}

static void add_query(const struct sp_profile *p, const struct sp_stage_row *r, struct sp_buf *out)
{
	const char *name = sp_stage_table_name(p, r);

	sp_stage_table_query(p, r, out);
	if (r->about->batch)
		sp_buf_addf(out, ", batch %s", text_of(p, r->about->batch));
	if (name[0] && !sp_words_from_python(name)) {
		sp_buf_adds(out, ": ");
		sp_stage_table_words(p, r, out);
	}
}

void sp_stage_table_title(
	const struct sp_profile *p, const struct sp_stage_row *r, struct sp_buf *out)
{
	const char *name = sp_stage_table_name(p, r);

	if (r->about && r->about->query) {
		add_query(p, r, out);
		return;
	}
	sp_stage_table_group(p, r, out);
	if (r->about && r->about->sql >= 0)
		sp_buf_addf(out, "SQL %lld%s", (long long)r->about->sql, name[0] ? ": " : "");
	sp_stage_table_words(p, r, out);
}
