/* Takes what looks secret out of events: see redact_jfr.h. Called by the rewriter for each event of
 * a few types; every field that is no text is copied byte by byte. */
#include "jfr/redact_jfr.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/redact.h"
#include "jfr/encode.h"
#include "jfr/string_decode.h"
#include "jfr/types.h"

static const char *const types[] = {"jdk.JVMInformation", "jdk.InitialSystemProperty",
	"jdk.InitialEnvironmentVariable", "jdk.SystemProcess", "jdk.ProcessStart",
	"jdk.InitialSecurityProperty", "jdk.StringFlag", "jdk.StringFlagChanged"};

bool sp_jfr_redact_wants(const struct sp_jfr_schema *s, uint64_t type)
{
	int at = sp_jfr_schema_find(s, type);

	for (size_t i = 0; at >= 0 && i < SP_COUNT(types); i++)
		if (strcmp(s->types[at].name, types[i]) == 0)
			return true;
	return false;
}

static void add_long(struct sp_buf *b, uint64_t v)
{
	uint8_t *p = sp_buf_reserve(b, SP_JFR_MAX_LONG);

	if (p)
		b->len += (size_t)(sp_jfr_put_long(p, v) - p);
}

/* What the field before said is the name of this one's value. */
struct pair {
	struct sp_buf key;
	bool given;
};

static void add_text(
	struct sp_buf *b, const char *name, const char *text, size_t len, struct pair *p)
{
	SP_AUTO_BUF struct sp_buf safe = {0};

	if (p->given && strcmp(name, "value") == 0)
		sp_redact_property(sp_buf_str(&p->key), p->key.len, text, len, &safe);
	else
		sp_redact_line(text, len, &safe);
	if (safe.failed)
		b->failed = true;
	sp_buf_addc(b, SP_JFR_STR_UTF8);
	add_long(b, safe.len);
	sp_buf_add(b, safe.data, safe.len);
	if (strcmp(name, "key") == 0 || strcmp(name, "name") == 0) {
		sp_buf_clear(&p->key);
		sp_buf_add(&p->key, text, len);
		p->given = true;
	}
}

static void add_member(const struct sp_jfr_schema *s, const struct sp_jfr_member *m,
	struct sp_jfr_cursor *c, struct sp_buf *b, struct pair *p)
{
	const uint8_t *start = c->p;
	bool text =
		!m->pool && !m->array && m->type >= 0 && s->types[m->type].prim == SP_JFR_P_STRING;
	struct sp_jfr_cursor at = *c;
	struct sp_jfr_text t;

	sp_jfr_schema_skip_member(s, c, m);
	if (c->bad)
		return;
	t = text ? sp_jfr_get_text(&at) : (struct sp_jfr_text){0};
	if (t.encoding >= SP_JFR_STR_UTF8 && !t.raw) {
		SP_AUTO_BUF struct sp_buf plain = {0};
		size_t len = 0;
		const char *utf8 = sp_jfr_string_utf8(&plain, &t, &len);

		if (utf8)
			add_text(b, m->name, utf8, len, p);
		b->failed |= !utf8;
	} else {
		sp_buf_add(b, start, (size_t)(c->p - start));
	}
}

int sp_jfr_redact_event(
	const struct sp_jfr_schema *s, struct sp_jfr_cursor c, uint64_t type, struct sp_buf *out)
{
	const struct sp_jfr_decl *t = &s->types[sp_jfr_schema_find(s, type)];
	SP_AUTO_BUF struct sp_buf body = {0};
	struct pair pair = {.given = false};
	uint8_t size[4];

	add_long(&body, type);
	for (uint32_t i = t->first; i < t->first + t->count && !c.bad; i++)
		add_member(s, &s->members[i], &c, &body, &pair);
	sp_buf_done(&pair.key);
	if (body.failed)
		return -ENOMEM;
	if (c.bad || (body.len + 4) >> 28)
		return -EBADMSG;
	sp_jfr_put_fixed(size, (uint32_t)(4 + body.len));
	sp_buf_add(out, size, sizeof(size));
	sp_buf_add(out, body.data, body.len);
	return 0;
}
