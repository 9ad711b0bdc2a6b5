/* One mapped ELF image, read from memory: program headers, dynamic table, build id, exported
 * symbols. Called by modules.c only. Every number in there is foreign: checked, bounded, read by
 * sp_mem. */
#ifndef SP_UNWIND_IMAGE_H
#define SP_UNWIND_IMAGE_H

#include "unwind/modules.h"

/* Fills base, eh_frame_hdr, dynamic symbols and build id of @mod. Its start is set.
 * Returns 0, or -ENOEXEC where no ELF image of this machine starts there. */
__attribute__((warn_unused_result)) int sp_image_read(
	const struct sp_mem *mem, struct sp_module *mod);

/* Whether the first segment of the ELF image at @start is executable (as older linkers had it). */
bool sp_image_starts_with_code(const struct sp_mem *mem, uint64_t start);

/* Address of the exported symbol @name, or 0. */
uint64_t sp_image_symbol(const struct sp_mem *mem, const struct sp_module *mod, const char *name);

/* Name of the exported function that covers @pc. Returns 0 or -ENOENT. */
int sp_image_name(
	const struct sp_mem *mem, const struct sp_module *mod, uint64_t pc, char *buf, size_t size);

#endif
