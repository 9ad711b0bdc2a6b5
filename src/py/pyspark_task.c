/* See pyspark_task.h. */
#include "py/pyspark_task.h"

#include <errno.h>

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

int sp_pytask_read(struct sp_pyreader *r, const struct sp_pytask_place *p, struct sp_pytask *ret)
{
	static const char *const names[] = {
		"_stageId", "_partitionId", "_attemptNumber", "_taskAttemptId"};
	struct sp_pyheap *h = &r->heap;
	uint64_t dict = 0, keys = 0, object = 0, values[4] = {0}, after;
	int64_t numbers[4] = {-1, -1, -1, -1};
	struct sp_pyspan spans[] = {{p->type + h->layout.tp_dict, &dict, 8},
		{p->dict + h->layout.md_keys, &keys, 8}, {p->slot, &object, 8}};
	int e;

	if (!sp_pymem_all(&h->mem, spans, 3) || dict != p->dict || keys != p->keys)
		return -ESTALE;
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
