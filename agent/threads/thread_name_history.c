/* See thread_name_history.h. Entries are numbered from 1 on; an entry's place is its number modulo
 * the size, and it is gone once its place has a higher one. */
#include "thread_name_history.h"

#include "host/page_alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct entry {
	uint64_t number, before, until_ns;
};

struct sp_thread_name_history {
	size_t count, size;
	uint64_t last;
	struct entry *entries;
	char *names;
};

int sp_thread_name_history_new(struct sp_thread_name_history **ret, size_t names, size_t size)
{
	struct sp_thread_name_history *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->count = names;
	l->size = size;
	l->entries = sp_page_alloc_map(names * sizeof(*l->entries));
	l->names = sp_page_alloc_map(names * size);
	if (!l->entries || !l->names) {
		sp_thread_name_history_free(l);
		return -ENOMEM;
	}
	*ret = l;
	return 0;
}

void sp_thread_name_history_free(struct sp_thread_name_history *l)
{
	if (!l)
		return;
	sp_page_alloc_unmap(l->entries, l->count * sizeof(*l->entries));
	sp_page_alloc_unmap(l->names, l->count * l->size);
	free(l);
}

uint64_t sp_thread_name_history_put(
	struct sp_thread_name_history *l, const char *name, uint64_t until_ns, uint64_t before)
{
	size_t place = ++l->last & (l->count - 1);

	l->entries[place] = (struct entry){l->last, before, until_ns};
	snprintf(l->names + place * l->size, l->size, "%s", name);
	return l->last;
}

const char *sp_thread_name_history_at(
	const struct sp_thread_name_history *l, uint64_t latest, uint64_t time_ns)
{
	const char *name = NULL;

	for (uint64_t n = latest; n;) {
		size_t place = n & (l->count - 1);
		const struct entry *e = &l->entries[place];

		if (e->number != n || time_ns >= e->until_ns)
			break;
		name = l->names + place * l->size;
		n = e->before;
	}
	return name;
}
