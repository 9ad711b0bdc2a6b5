/* Replacing module + address by a function's name: see resolve.h. The dictionary never changes an
 * entry, so a resolved method is a new one, and so is every stack that holds it. */
#include "prof/resolve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* "()L<hex>;" holds the build id (dict.h). */
static void build_id_of(const char *sig, char *buf, size_t size)
{
	size_t n = strncmp(sig, "()L", 3) == 0 ? strspn(sig + 3, "0123456789abcdef") : 0;

	snprintf(buf, size, "%.*s", (int)n, n ? sig + 3 : "");
}

/* Interns the method @id under its name. Returns the new id, @id where there is no name, or 0 when
 * out of memory. */
static uint32_t resolve_method(struct sp_profile *p, uint32_t id, sp_resolve_fn *find, void *ctx)
{
	struct sp_method m = *sp_dict_get_method(p->dict, id);
	const char *name = sp_dict_get_string(p->dict, m.name_id, NULL), *found;
	char build_id[160], *end;
	uint64_t addr;

	/* the name tells: a module without build id leaves nothing in the signature */
	if (!m.native || strncmp(name, "0x", 2) != 0)
		return id;
	addr = strtoull(name, &end, 16);
	build_id_of(sp_dict_get_string(p->dict, m.sig_id, NULL), build_id, sizeof(build_id));
	if (*end || find(ctx, sp_dict_get_string(p->dict, m.class_id, NULL), build_id, addr,
			    &found) < 0)
		return id;
	m.name_id = sp_dict_string(p->dict, found, strlen(found));
	m.sig_id = 0;
	m.unresolved = 0;
	return m.name_id ? sp_dict_method(p->dict, &m) : 0;
}

/* Interns the stack @id with its methods replaced. Returns as resolve_method. */
static uint32_t resolve_stack(struct sp_profile *p, uint32_t id, const uint32_t *methods,
	size_t count, struct sp_frame_ref *frames)
{
	const struct sp_stack *st = sp_dict_get_stack(p->dict, id);
	bool changed = false;

	if (!st)
		return id;
	for (uint32_t i = 0; i < st->count; i++) {
		frames[i] = st->frames[i];
		if (frames[i].method < count && methods[frames[i].method] != frames[i].method) {
			frames[i].method = methods[frames[i].method];
			changed = true;
		}
	}
	return changed ? sp_dict_stack(p->dict, frames, st->count, st->truncated) : id;
}

int sp_profile_resolve(struct sp_profile *p, sp_resolve_fn *find, void *ctx)
{
	size_t count = (size_t)sp_dict_methods(p->dict) + 1;
	size_t stack_count = (size_t)sp_dict_stacks(p->dict) + 1;
	SP_AUTO_FREE uint32_t *methods = calloc(count, sizeof(*methods));
	SP_AUTO_FREE uint32_t *stacks = calloc(stack_count, sizeof(*stacks));
	SP_AUTO_FREE struct sp_frame_ref *frames = calloc(SP_DICT_MAX_FRAMES, sizeof(*frames));
	int named = 0;

	if (!methods || !stacks || !frames)
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++) {
		methods[i] = resolve_method(p, i, find, ctx);
		if (methods[i] == 0)
			return -ENOMEM;
		named += methods[i] != i;
	}
	if (named == 0)
		return 0;
	/* only those of the rows: others may share the dictionary */
	for (size_t i = 0; i < p->row_count; i++)
		stacks[p->rows[i].stack] = p->rows[i].stack;
	for (uint32_t i = 1; i < stack_count; i++) {
		if (!stacks[i])
			continue;
		stacks[i] = resolve_stack(p, i, methods, count, frames);
		if (stacks[i] == 0)
			return -ENOMEM;
	}
	sp_profile_replace_stacks(p, stacks, stack_count);
	return named;
}
