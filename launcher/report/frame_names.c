/* See frame_names.h. */
#include "frame_names.h"

#include "elf/demangle.h"

const char *sp_frame_names_find(
	void *ctx, const char *module, uint64_t offset, const char *build_id, const char *has)
{
	struct sp_frame_names *n = ctx;
	const char *name = has;

	if (!has &&
		(!n->symbols || sp_symbols_find(n->symbols, module, build_id, offset, &name) < 0))
		return NULL;
	sp_buf_clear(&n->readable);
	if (sp_demangle(name, false, &n->readable) < 0)
		return has ? NULL : name;
	return sp_buf_str(&n->readable);
}
