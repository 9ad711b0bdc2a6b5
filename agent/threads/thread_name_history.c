/* See namelog.h. Entries are numbered from 1 on; an entry's place is its number modulo the size,
 * and it is gone once its place has a higher one. */
#include "namelog.h"

#include "pages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct entry {
	uint64_t number, before, until_ns;
};

struct sp_namelog {
	size_t count, size;
	uint64_t last;
	struct entry *entries;
	char *names;
};

int sp_namelog_new(struct sp_namelog **ret, size_t names, size_t size)
{
	struct sp_namelog *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->count = names;
	l->size = size;
	l->entries = sp_pages_map(names * sizeof(*l->entries));
	l->names = sp_pages_map(names * size);
	if (!l->entries || !l->names) {
		sp_namelog_free(l);
		return -ENOMEM;
	}
	*ret = l;
	return 0;
}

void sp_namelog_free(struct sp_namelog *l)
{
	if (!l)
		return;
	sp_pages_unmap(l->entries, l->count * sizeof(*l->entries));
	sp_pages_unmap(l->names, l->count * l->size);
	free(l);
}

uint64_t sp_namelog_put(struct sp_namelog *l, const char *name, uint64_t until_ns, uint64_t before)
{
	size_t place = ++l->last & (l->count - 1);

	l->entries[place] = (struct entry){l->last, before, until_ns};
	snprintf(l->names + place * l->size, l->size, "%s", name);
	return l->last;
}

const char *sp_namelog_at(const struct sp_namelog *l, uint64_t latest, uint64_t time_ns)
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
