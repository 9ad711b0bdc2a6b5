/* What was never freed: see leaks.h. */
#include "prof/load/leaks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jfr/reader.h"

#define DICT_CAP (64u << 20)

enum { MALLOC = 1, FREE };

static int want(void *ctx, const char *type)
{
	return strcmp(type, "profiler.Malloc") == 0 ? MALLOC
	       : strcmp(type, "profiler.Free") == 0 ? FREE
						    : 0;
}

static const char *const *fields(void *ctx, int wanted)
{
	static const char *const picked[] = {"address", NULL};

	return picked;
}

static uint32_t *place(const struct sp_leaks *l, uint64_t address)
{
	size_t i = (address * 0x9e3779b97f4a7c15ull) >> 20;

	for (;; i++) {
		uint32_t *at = &l->index[i & (l->index_size - 1)];

		if (!*at || l->list[*at - 1].address == address)
			return at;
	}
}

static int grow(struct sp_leaks *l)
{
	size_t cap = l->cap ? l->cap * 2 : 1024;
	struct sp_leak *list = reallocarray(l->list, cap, sizeof(*list));
	uint32_t *index;

	if (!list)
		return -ENOMEM;
	l->list = list;
	l->cap = cap;
	index = calloc(cap * 2, sizeof(*index));
	if (!index)
		return -ENOMEM;
	free(l->index);
	l->index = index;
	l->index_size = cap * 2;
	for (size_t i = 0; i < l->count; i++)
		*place(l, l->list[i].address) = (uint32_t)i + 1;
	return 0;
}

static int add(void *ctx, const struct sp_jfr_event *e)
{
	struct sp_leaks *l = ctx;
	uint64_t address = e->picked[0];
	uint32_t *at;

	if (!address) /* one that was not followed */
		return 0;
	if (l->count == l->cap && grow(l) < 0)
		return -ENOMEM;
	at = place(l, address);
	/* An address that comes again was freed, even where no event says so. A free may be written
	 * behind the next allocation there: that one it does not mean. */
	if (*at && e->start_ns >= l->list[*at - 1].time_ns)
		l->list[*at - 1].freed = true;
	if (e->wanted == MALLOC) {
		l->list[l->count++] = (struct sp_leak){address, e->start_ns, false};
		*at = (uint32_t)l->count;
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct sp_leak *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

int sp_leaks_read(struct sp_leaks *l, int fd)
{
	struct sp_jfr_visitor v = {.ctx = l, .want = want, .fields = fields, .event = add};
	struct sp_dict *dict;
	size_t kept = 0;
	int r = sp_dict_new(&dict, DICT_CAP);

	if (r < 0)
		return r;
	r = sp_jfr_read(fd, dict, &v, NULL, NULL);
	sp_dict_free(dict);
	if (r == -ENOMEM)
		return r;
	for (size_t i = 0; i < l->count; i++)
		if (!l->list[i].freed)
			l->list[kept++] = l->list[i];
	l->count = kept;
	if (kept)
		qsort(l->list, kept, sizeof(*l->list), by_time);
	return 0;
}

void sp_leaks_done(struct sp_leaks *l)
{
	free(l->list);
	free(l->index);
	memset(l, 0, sizeof(*l));
}

bool sp_leaks_has(const struct sp_leaks *l, uint64_t time_ns, uint64_t address)
{
	struct sp_leak key = {address, time_ns, false};

	return l->count && bsearch(&key, l->list, l->count, sizeof(key), by_time);
}
