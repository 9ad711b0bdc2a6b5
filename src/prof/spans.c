/* Tasks by thread and time: see spans.h. */
#include "prof/spans.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "jfr/reader.h"

#define DICT_CAP (64u << 20)

static int want_span(void *ctx, const char *type)
{
	return strcmp(type, "profiler.Span") == 0;
}

struct reading {
	struct sp_spans *s;
	struct sp_dict *dict;
};

static int add_span(void *ctx, const struct sp_jfr_event *e)
{
	struct reading *r = ctx;
	struct sp_spans *s = r->s;
	const struct sp_thread *t = sp_dict_get_thread(r->dict, e->thread);
	SP_AUTO_BUF struct sp_buf label = {0};
	const struct sp_jfr_value *tag = NULL;
	struct sp_span *x;

	for (uint32_t i = 0; i < e->count; i++)
		if (strcmp(e->values[i].name, "tag") == 0 && e->values[i].kind == SP_JFR_V_TEXT)
			tag = &e->values[i];
	if (!t || !tag)
		return 0;
	if (s->count == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 256;

		x = reallocarray(s->list, cap, sizeof(*x));
		if (!x)
			return -ENOMEM;
		s->list = x;
		s->cap = cap;
	}
	x = &s->list[s->count];
	*x = (struct sp_span){
		t->tid, e->start_ns, e->start_ns + e->duration_ns, strndup(tag->s, tag->len)};
	if (!x->tag)
		return -ENOMEM;
	s->count++;
	s->stages += sp_spans_label(SP_BY_TASK, x->tag, &label);
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct sp_span *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

int sp_spans_read(struct sp_spans *s, int fd)
{
	struct reading r = {.s = s};
	struct sp_jfr_visitor v = {.ctx = &r, .want = want_span, .event = add_span};
	int n = sp_dict_new(&r.dict, DICT_CAP);

	if (n < 0)
		return n;
	n = sp_jfr_read(fd, r.dict, &v, NULL, NULL);
	sp_dict_free(r.dict);
	if (n == -ENOMEM)
		return n;
	if (s->count)
		qsort(s->list, s->count, sizeof(*s->list), by_start);
	return 0;
}

void sp_spans_done(struct sp_spans *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->list[i].tag);
	free(s->list);
	memset(s, 0, sizeof(*s));
}

const struct sp_span *sp_spans_find(const struct sp_spans *s, uint32_t tid, uint64_t time_ns)
{
	size_t low = 0, high = s->count;

	while (low < high) { /* the first one behind the place */
		size_t mid = (low + high) / 2;
		const struct sp_span *x = &s->list[mid];

		if (x->tid < tid || (x->tid == tid && x->start_ns <= time_ns))
			low = mid + 1;
		else
			high = mid;
	}
	/* spans of one thread nest: a few steps back is where the innermost open one is */
	for (size_t i = low, left = 64; i-- > 0 && left-- > 0;) {
		if (s->list[i].tid != tid)
			return NULL;
		if (s->list[i].end_ns >= time_ns)
			return &s->list[i];
	}
	return NULL;
}

/* The number ("7" or "7.0") behind @word, blanks, '=', ':' or '-' between them. NULL: none. */
static const char *number_after(const char *text, const char *word, size_t *ret_len)
{
	size_t n = strlen(word);

	for (const char *p = strcasestr(text, word); p; p = strcasestr(p + 1, word)) {
		const char *from = p + n + strspn(p + n, " =:-#");
		size_t len = strspn(from, "0123456789.");

		while (len && from[len - 1] == '.')
			len--;
		if (len && isdigit((unsigned char)*from)) {
			*ret_len = len;
			return from;
		}
	}
	return NULL;
}

bool sp_spans_label(enum sp_by by, const char *text, struct sp_buf *out)
{
	size_t stage_len = 0, task_len = 0, tid_len = 0;
	const char *stage = number_after(text, "stage", &stage_len);
	const char *tid = number_after(text, "TID", &tid_len);
	const char *task = number_after(text, "task", &task_len);

	if (by == SP_BY_STAGE) {
		if (stage)
			sp_buf_addf(out, "stage %.*s", (int)stage_len, stage);
		return stage != NULL;
	}
	if (!task && !tid)
		return false;
	if (!stage && !tid && strstr(text, "for task ")) /* Spark up to 3.0 has the TID alone */
		sp_buf_addf(out, "TID %.*s", (int)task_len, task);
	else if (task)
		sp_buf_addf(out, "task %.*s", (int)task_len, task);
	if (stage)
		sp_buf_addf(out, "%sin stage %.*s", task ? " " : "", (int)stage_len, stage);
	if (tid)
		sp_buf_addf(out, "%s(TID %.*s)", task || stage ? " " : "", (int)tid_len, tid);
	return true;
}
