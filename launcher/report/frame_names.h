/* Names that go into a recording while the target is there: functions of modules and of the kernel,
 * readable (demangled) as reports show them. */
#ifndef SP_LAUNCHER_REPORT_FRAME_NAMES_H
#define SP_LAUNCHER_REPORT_FRAME_NAMES_H

#include "base/buf.h"
#include "elf/symbols.h"

struct sp_frame_names {
	struct sp_symbols *symbols; /* borrowed; NULL: only names that are there become readable */
	struct sp_buf readable;	    /* of the last answer */
};

/* An sp_jfr_name_fn (jfr/rewrite.h); @ctx is a struct sp_frame_names. */
const char *sp_frame_names_find(
	void *ctx, const char *module, uint64_t offset, const char *build_id, const char *has);

#endif
