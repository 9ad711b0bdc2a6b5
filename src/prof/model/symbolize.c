/* Replacing module + address by a function's name: see symbolize.h. The dictionary never changes an
 * entry, so a resolved method is a new one, and so is every stack that holds it. */
#include "prof/model/symbolize.h"

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
static uint32_t resolve_method(struct sp_profile *p, uint32_t id, sp_symbolize_fn *find, void *ctx)
{
	struct sp_method m = *sp_dict_get_method(p->dict, id);
	const char *name = sp_dict_get_string(p->dict, m.name_id, NULL), *found;
	char build_id[160], *end;
	uint64_t addr;

	/* the name says it: a module without build id leaves nothing in the signature */
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
static uint32_t resolve_stack(
	struct sp_dict *d, uint32_t id, const struct sp_symbolized *r, struct sp_frame_ref *frames)
{
	const struct sp_stack *st = sp_dict_get_stack(d, id);
	bool changed = false;

	if (!st)
		return id;
	for (uint32_t i = 0; i < st->count; i++) {
		uint32_t method = st->frames[i].method;

		frames[i] = st->frames[i];
		if (method < r->method_count && r->methods[method] != method) {
			frames[i].method = r->methods[method];
			changed = true;
		}
	}
	return changed ? sp_dict_stack(d, frames, st->count, st->truncated) : id;
}

/* Lengthens @array to @count entries, new ones zero. */
static int lengthen(uint32_t **array, size_t *cap, size_t count)
{
	size_t to = count + count / 2;
	uint32_t *p;

	if (count <= *cap)
		return 0;
	p = reallocarray(*array, to, sizeof(*p));
	if (!p)
		return -ENOMEM;
	memset(p + *cap, 0, (to - *cap) * sizeof(*p));
	*array = p;
	*cap = to;
	return 0;
}

/* Asks for the methods that nobody has asked for. */
static int resolve_methods(
	struct sp_profile *p, struct sp_symbolized *r, sp_symbolize_fn *find, void *ctx)
{
	size_t count = (size_t)sp_dict_methods(p->dict) + 1;

	if (lengthen(&r->methods, &r->method_cap, count) < 0)
		return -ENOMEM;
	for (uint32_t i = (uint32_t)r->method_count; i < count; i++) {
		r->methods[i] = i ? resolve_method(p, i, find, ctx) : 0;
		if (i && r->methods[i] == 0)
			return -ENOMEM;
		r->named += r->methods[i] != i;
		r->method_count = i + 1ul;
	}
	return 0;
}

int sp_profile_symbolize_more(
	struct sp_profile *p, struct sp_symbolized *r, sp_symbolize_fn *find, void *ctx)
{
	SP_AUTO_FREE struct sp_frame_ref *frames = NULL;
	bool changed = false;

	if (resolve_methods(p, r, find, ctx) < 0)
		return -ENOMEM;
	if (!r->named)
		return 0;
	frames = calloc(SP_DICT_MAX_FRAMES, sizeof(*frames));
	if (!frames || lengthen(&r->stacks, &r->stack_cap, sp_dict_stacks(p->dict) + 1ul) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < p->row_count; i++) {
		uint32_t id = p->rows[i].stack;

		if (id && !r->stacks[id])
			r->stacks[id] = resolve_stack(p->dict, id, r, frames);
		if (id && !r->stacks[id])
			return -ENOMEM;
		changed |= r->stacks[id] != id;
	}
	if (changed)
		sp_profile_replace_stacks(p, r->stacks, r->stack_cap);
	return 0;
}

void sp_symbolized_done(struct sp_symbolized *r)
{
	free(r->methods);
	free(r->stacks);
	*r = (struct sp_symbolized){0};
}

int sp_profile_symbolize(struct sp_profile *p, sp_symbolize_fn *find, void *ctx)
{
	__attribute__((cleanup(sp_symbolized_done))) struct sp_symbolized resolved = {0};
	int r = sp_profile_symbolize_more(p, &resolved, find, ctx);

	return r < 0 ? r : (int)resolved.named;
}
