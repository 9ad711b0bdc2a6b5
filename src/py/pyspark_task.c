/* See pyspark_task.h. */
#include "py/pyspark_task.h"

#include <errno.h>
#include <string.h>

enum { MODULE_DICT = 16 }; /* PyModuleObject.md_dict: behind the object's head */

static uint64_t dict_value(struct sp_pyheap *h, uint64_t dict, const char *key)
{
	uint64_t slot, keys;

	if (!dict || sp_pydict_slot(h, dict, key, &slot, &keys) < 0)
		return 0;
	return sp_pymem_word(&h->mem, slot);
}

int sp_pytask_find(struct sp_pyreader *r, struct sp_pytask_place *ret)
{
	struct sp_pyheap *h = &r->heap;
	uint64_t modules, module;

	if (!r->interp_count)
		return -ENOENT;
	/* the oldest interpreter is the main one */
	modules = sp_pymem_word(&h->mem, r->interps[r->interp_count - 1] + h->layout.in_modules);
	module = dict_value(h, modules, "pyspark.taskcontext");
	if (!module)
		return -ENOENT;
	ret->type = dict_value(h, sp_pymem_word(&h->mem, module + MODULE_DICT), "TaskContext");
	if (!ret->type)
		return -ENOENT;
	ret->dict = sp_pymem_word(&h->mem, ret->type + h->layout.tp_dict);
	return sp_pydict_slot(h, ret->dict, "_taskContext", &ret->slot, &ret->keys) < 0 ? -ENOENT
											: 0;
}

/* Reads on behalf of @from and keeps what was read. What the keys of a table are called is left
 * out: these reads are of many at a time, and a table that has the same keys has the same names. */
struct noting {
	struct sp_pymem from;
	struct sp_pytask_known *known;
};

/* What is read twice must be the same twice. */
static bool is_noted(struct sp_pytask_known *k, const struct sp_pyspan *span)
{
	for (size_t i = 0; i < k->count; i++) {
		if (k->reads[i].addr != span->addr || k->reads[i].len != span->len)
			continue;
		k->partly |= memcmp(k->text + k->reads[i].at, span->to, span->len) != 0;
		return true;
	}
	return false;
}

/* Neighbours stand side by side: a place costs more than its bytes (read_ahead.h). */
static void insert(struct sp_pytask_known *k, const struct sp_pyspan *span)
{
	size_t i = k->count++;

	for (; i && k->reads[i - 1].addr > span->addr; i--)
		k->reads[i] = k->reads[i - 1];
	k->reads[i].addr = span->addr;
	k->reads[i].len = span->len;
	k->reads[i].at = k->bytes;
	memcpy(k->text + k->bytes, span->to, span->len);
	k->bytes += span->len;
}

static int read_and_note(void *ctx, const struct sp_pyspan *spans, size_t n)
{
	struct noting *to = ctx;
	struct sp_pytask_known *k = to->known;
	int got = to->from.read(to->from.ctx, spans, n);

	if (n > 1)
		return got;
	k->partly |= got != 1;
	if (k->partly || is_noted(k, spans))
		return got;
	k->partly = k->count == SP_PYTASK_READS || spans->len > SP_PYTASK_BYTES - k->bytes;
	if (!k->partly)
		insert(k, spans);
	return got;
}

/* Whether all is still as it was when the answer was read. */
static bool is_known(const struct sp_pymem *mem, const struct sp_pytask_known *k)
{
	struct sp_pyspan spans[SP_PYTASK_READS];
	uint8_t text[SP_PYTASK_BYTES];

	for (size_t i = 0; i < k->count; i++)
		spans[i] = (struct sp_pyspan){
			k->reads[i].addr, text + k->reads[i].at, k->reads[i].len};
	return k->count && sp_pymem_all(mem, spans, k->count) &&
	       memcmp(text, k->text, k->bytes) == 0;
}

static int read_task(struct sp_pyheap *h, const struct sp_pytask_place *p, struct sp_pytask *ret)
{
	static const char *const names[] = {
		"_stageId", "_partitionId", "_attemptNumber", "_taskAttemptId"};
	uint64_t object, values[4] = {0}, after;
	int64_t numbers[4] = {-1, -1, -1, -1};
	int e;

	if (sp_pymem_word(&h->mem, p->type + h->layout.tp_dict) != p->dict ||
		sp_pymem_word(&h->mem, p->dict + h->layout.md_keys) != p->keys)
		return -ESTALE;
	object = sp_pymem_word(&h->mem, p->slot);
	e = object ? sp_pyattributes(h, object, names, 4, values) : -ESTALE;
	if (e == -EBADMSG)
		return -ENOENT; /* None has no attributes */
	if (e < 0)
		return e;
	for (int i = 0; i < 4; i++)
		if (values[i] && sp_pyint(h, values[i], &numbers[i]) < 0)
			return -EAGAIN;
	after = sp_pymem_word(&h->mem, p->slot);
	if (after != object || numbers[3] < 0)
		return -EAGAIN;
	*ret = (struct sp_pytask){numbers[0], numbers[1], numbers[2], numbers[3]};
	return 0;
}

int sp_pytask_read(struct sp_pyreader *r, struct sp_pytask_place *p, struct sp_pytask *ret)
{
	struct sp_pytask_known *k = &p->known;
	struct sp_pymem mem = r->heap.mem;
	struct noting noting = {mem, k};

	if (is_known(&mem, k)) {
		if (k->result == 0)
			*ret = k->task;
		return k->result;
	}
	*k = (struct sp_pytask_known){.task = {-1, -1, -1, -1}};
	r->heap.mem = (struct sp_pymem){read_and_note, &noting};
	k->result = read_task(&r->heap, p, &k->task);
	r->heap.mem = mem;
	/* Else it is about to change; or reads that failed cannot be compared. */
	if (k->partly || (k->result < 0 && k->result != -ENOENT))
		k->count = 0;
	if (k->result == 0)
		*ret = k->task;
	return k->result;
}
