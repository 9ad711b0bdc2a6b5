/* What stages are called: see stage_table.h. */
#include "out/stage_table.h"

#include <ctype.h>
#include <string.h>

enum { ID = 36, ID_BEGIN = 8 }; /* letters of an id as Java's UUID writes it */

static const char *text_of(const struct sp_profile *p, uint32_t id)
{
	return sp_dict_get_string(p->dict, id, NULL);
}

/* Spark's frames of Python's calls into the JVM say nothing of who called. */
static bool from_python(const struct sp_profile *p, uint32_t id)
{
	return strstr(text_of(p, id), "NativeMethodAccessorImpl") != NULL;
}

const char *sp_stage_table_name(const struct sp_profile *p, const struct sp_stage_row *r)
{
	const struct sp_stage *a = r->about;
	/* The application's own words, but not those that Spark makes of a stream's ids. */
	bool own = a && a->description && !a->query;
	bool site = a && a->call_site && !from_python(p, a->call_site);
	uint32_t id = !a					       ? 0
		      : own					       ? a->description
		      : a->name && (!from_python(p, a->name) || !site) ? a->name
		      : site					       ? a->call_site
		      : a->description				       ? a->description
		      : a->call_site				       ? a->call_site
								       : a->group;

	return text_of(p, id);
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
	if (name[0] && !strstr(name, "NativeMethodAccessorImpl"))
		sp_buf_addf(out, ": %s", name);
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
	sp_buf_adds(out, name);
}
