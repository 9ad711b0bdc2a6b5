/* Names for (module, build id, address): a cache of opened modules in front of sp_symtab. One per
 * target; the launcher uses it when it puts names into a recording. Launcher side, one thread. */
#ifndef SP_ELF_SYMBOLS_H
#define SP_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sp_symbols;

/* @root_fd: root directory of the target (/proc/PID/root), borrowed until sp_symbols_free. For a
 *           target that is gone: the launcher's own root, and modules are then believed by build id
 *           only.
 * Returns:  0 or -errno; *ret belongs to the caller. */
__attribute__((warn_unused_result)) int sp_symbols_new(
	struct sp_symbols **ret, int root_fd, struct sp_err *err);
void sp_symbols_free(struct sp_symbols *s);

/* The target is gone, or was on another machine: modules are believed by build id only, and no
 * longer because they are the file of a device and inode number. */
void sp_symbols_elsewhere(struct sp_symbols *s);

/* Learns the target's modules from the text of its /proc/PID/maps: path, device, inode. Executable
 * mappings of files count. May be called again; what is known stays.
 * Returns: 0 or -ENOMEM. */
int sp_symbols_add_maps(struct sp_symbols *s, const char *maps, size_t len);

/* The same for one module, as a recording names it. A path that is not absolute is ignored. */
int sp_symbols_add_module(struct sp_symbols *s, const char *path, uint64_t dev, uint64_t ino);

/* The image of the target's [vdso], read from its memory; copied. Without it the launcher's own is
 * taken: the kernel gives all processes of one class the same.
 * Returns: 0 or as sp_symtab_open_image. */
int sp_symbols_set_vdso(struct sp_symbols *s, const void *image, size_t len, struct sp_err *err);

/* Finds the function at @addr, an address as the module's ELF file has it (pc - load bias).
 * @module:   path, or its last part where maps were given; "[vdso]"; "[kernel]" (@addr absolute).
 * @build_id: hex as recorded, NULL or "": unknown. It separates two modules of one name. Of
 *            the kernel its boot id, without which there are no names: see base/boot_id.h.
 * Owner:     *ret_name is borrowed until sp_symbols_free; it is as the file has it (mangled).
 * Returns:   0; -ENOENT: no name there, or the module could not be read (sp_symbols_problem). */
__attribute__((warn_unused_result)) int sp_symbols_find(struct sp_symbols *s, const char *module,
	const char *build_id, uint64_t addr, const char **ret_name);

/* The same from an offset in the file (pc - mapping start + mapping offset). */
int sp_symbols_find_offset(struct sp_symbols *s, const char *module, const char *build_id,
	uint64_t file_offset, const char **ret_name);

/* Whether that module was refused because it is not the recorded one: *ret_why, borrowed, says it
 * in a sentence. */
bool sp_symbols_refused(
	struct sp_symbols *s, const char *module, const char *build_id, const char **ret_why);

/* What went wrong with the nth module that was asked for and could not be read, in a sentence with
 * the path; NULL beyond the last. Borrowed. To be said once, at the end. */
const char *sp_symbols_problem(const struct sp_symbols *s, size_t n);

#endif
