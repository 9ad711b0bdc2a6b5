/* Reading Python objects out of another process: strings, numbers, dictionaries, attributes. What
 * is there may change or be freed while it is looked at: everything is bounded and checked, and a
 * wrong answer is possible only where the memory holds what looks like a right one. */
#ifndef SP_PY_OBJECT_H
#define SP_PY_OBJECT_H

#include "base/buf.h"
#include "py/cpython_layout.h"

struct sp_pyheap {
	struct sp_pymem mem;
	struct sp_pylayout layout;
	uint64_t code_type; /* address of the type "code"; 0: not seen yet */
	uint64_t str_type;  /* of "str" */
};

/* Characters of a string that are kept. */
#define SP_PY_TEXT_MAX 1024

/* Appends the str object at @addr as UTF-8; control characters become '?'. Returns 0, or -EBADMSG
 * where there is no string. */
int sp_pystr(struct sp_pyheap *h, uint64_t addr, struct sp_buf *ret);

/* Whether the object at @addr (first bytes: @head) is of the type called @name; *known
 * remembers its address. */
bool sp_pytype_is(struct sp_pyheap *h, const uint8_t *head, const char *name, uint64_t *known);

/* The int at @addr, if it fits. Returns 0 or -EBADMSG. */
int sp_pyint(struct sp_pyheap *h, uint64_t addr, int64_t *ret);

/* Where the dictionary at @dict keeps its value for the string @key: *ret_slot is the address of
 * the pointer, *ret_keys of the table it is in (while dict.ma_keys is the same, the slot is).
 * Returns 0; -ENOENT; -EBADMSG. */
int sp_pydict_slot(struct sp_pyheap *h, uint64_t dict, const char *key, uint64_t *ret_slot,
	uint64_t *ret_keys);

/* The values of these attributes of the plain instance at @object (borrowed addresses; 0 where it
 * has none). Returns 0 or -EBADMSG. */
int sp_pyattributes(
	struct sp_pyheap *h, uint64_t object, const char *const *names, size_t n, uint64_t *ret);

#endif
