/* The function names of one native module: a sorted table that is filled once and then searched.
 * sp_symtab_open finds the names wherever a distribution puts them: .symtab of the file itself, of
 * a separate debug file (build-id directory or .gnu_debuglink), of mini-debuginfo (.gnu_debugdata),
 * and .dynsym where a stripped file has nothing else. Launcher side: libelf, zlib, liblzma. */
#ifndef SP_ELF_SYMTAB_H
#define SP_ELF_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sp_symtab;

/* Most bytes of one symbol, string or decompressed section that are read: what a damaged or hostile
 * file can make us allocate. libjvm.so needs 6 MB. */
#define SP_ELF_SECTION_MAX (96u << 20)

#define SP_ELF_BUILD_ID_MAX 64

struct sp_symtab_source {
	int root_fd;	      /* root directory of the target: files are opened inside of it */
	const char *path;     /* of the module, as /proc/PID/maps has it */
	uint64_t dev, ino;    /* of the mapping; both 0: not known, not checked */
	const char *build_id; /* lower-case hex as recorded, NULL or "": not known, not checked */
	int host_fd; /* another root to look for debug files in (the launcher's own); -1: none */
};

/* Opens the module of @src and collects its functions.
 * Only a regular file that is the mapped one is read: with the recorded build id or, where none
 * was recorded, of the same device and inode. Overlay file systems and btrfs show another device in
 * stat than in maps: there the inode decides.
 * Owner:   *ret belongs to the caller: sp_symtab_free.
 * Returns: 0, then the table may be empty (sp_symtab_count); -ESTALE if the file is another one by
 *          now; -EINVAL if it is not a regular file; -ENOEXEC if it is not a 64-bit little-endian
 *          ELF file; else -errno. @err then holds a sentence. */
__attribute__((warn_unused_result)) int sp_symtab_open(
	const struct sp_symtab_source *src, struct sp_symtab **ret, struct sp_err *err);

/* The same from an image in memory (the vdso); no debug files. @image is not kept. */
int sp_symtab_open_image(const void *image, size_t len, struct sp_symtab **ret, struct sp_err *err);

/* An empty table to be filled by hand: sp_symtab_add for each symbol, then sp_symtab_finish once.
 */
__attribute__((warn_unused_result)) int sp_symtab_new(struct sp_symtab **ret);
void sp_symtab_free(struct sp_symtab *t);

/* @size 0: up to the next symbol or @limit, whichever comes first (0: no limit).
 * @rank: of symbols at one address the lowest is kept.
 * Returns: 0 or -ENOMEM (also where names would pass 4 GB); sp_symtab_finish then says it again. */
int sp_symtab_add(struct sp_symtab *t, uint64_t addr, uint64_t size, uint64_t limit,
	const char *name, size_t name_len, unsigned rank);
int sp_symtab_finish(struct sp_symtab *t);

/* Finds the function that covers @pc, an address as the ELF file has it.
 * Owner:    *ret_name is borrowed until sp_symtab_free(t).
 * Context:  any thread.
 * Returns:  0, or -ENOENT where no symbol covers @pc; then *ret_name is untouched. */
__attribute__((warn_unused_result)) int sp_symtab_find(
	const struct sp_symtab *t, uint64_t pc, const char **ret_name);

/* Turns an offset in the file (pc - mapping start + mapping offset) into an address as the ELF file
 * has it, by its PT_LOAD segments. Returns 0 or -ENOENT. */
int sp_symtab_address(const struct sp_symtab *t, uint64_t file_offset, uint64_t *ret_addr);

size_t sp_symtab_count(const struct sp_symtab *t);
size_t sp_symtab_bytes(const struct sp_symtab *t); /* memory that the table takes */

/* The nth entry in order of address; false beyond the last. For tests and dumps. */
bool sp_symtab_get(const struct sp_symtab *t, size_t n, uint64_t *ret_addr, const char **ret_name);

/* Where the names came from, in words: ".symtab", ".dynsym and /usr/lib/debug/….debug". Borrowed.
 */
const char *sp_symtab_origin(const struct sp_symtab *t);

/* The module's build id in hex, "" where it has none. Borrowed. */
const char *sp_symtab_build_id(const struct sp_symtab *t);

#endif
