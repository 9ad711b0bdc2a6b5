/* The native code map: which module covers an address, its unwind table, build id and dynamic
 * symbols. Made from the text of /proc/self/maps and from what is mapped (program headers, dynamic
 * table), never from files; the vdso is a module like the others.
 * Context: the collector only. */
#ifndef SP_UNWIND_MODULES_H
#define SP_UNWIND_MODULES_H

#include "unwind/mem.h"

#define SP_BUILD_ID_MAX 32
#define SP_NO_MODULE	0xffffffffu

struct sp_module {
	uint64_t start, end; /* first to last mapped byte of this image */
	uint64_t exec_start, exec_end;
	uint64_t base; /* load bias: address in the file's program headers + base = memory */
	uint64_t eh_frame_hdr; /* address of PT_GNU_EH_FRAME, 0: none */
	uint64_t eh_frame_hdr_len;
	uint64_t dynsym, dynstr, dynsym_count, dynstr_len; /* addresses; 0: none */
	uint64_t gnu_hash;
	uint64_t eh_frame, fde_table, fde_count; /* filled in at the first lookup */
	uint8_t fde_state;			 /* 0 not looked yet, 1 usable, 2 none */
	uint8_t build_id[SP_BUILD_ID_MAX];
	uint8_t build_id_len;
	const char *path; /* "/usr/lib/…/libjvm.so", "[vdso]"; borrowed until the next refresh */
	const char *name; /* its last part */
	uint32_t id;	  /* stable while the image stays mapped; never reused */
};

struct sp_modules;

/* @mem is borrowed for the life of the map. Returns 0 or -errno. */
__attribute__((warn_unused_result)) int sp_modules_new(
	struct sp_modules **ret, const struct sp_mem *mem);
void sp_modules_free(struct sp_modules *m);

/* Reads /proc/self/maps again if dlopen or dlclose happened since the last call (dl_iterate_phdr's
 * counters), or if @force. Ids of images that stayed are kept. Returns 1 if it changed, 0 or
 * -errno.
 */
int sp_modules_refresh(struct sp_modules *m, bool force);

/* The same for modules that were read from /proc before; others (replay) stay as they are. */
int sp_modules_look_again(struct sp_modules *m);

/* The same from given text (replay). */
int sp_modules_parse(struct sp_modules *m, const char *maps, size_t len);

/* The module with an executable range that covers @pc, or NULL. Borrowed until the next refresh. */
const struct sp_module *sp_modules_find(const struct sp_modules *m, uint64_t pc);
/* By id (a frame's @module); NULL when it is gone. */
const struct sp_module *sp_modules_get(const struct sp_modules *m, uint32_t id);
/* The @at-th of them, or NULL behind the last one. */
const struct sp_module *sp_modules_at(const struct sp_modules *m, uint32_t at);
const struct sp_module *sp_modules_by_name(const struct sp_modules *m, const char *prefix);

/* Address of an exported symbol, 0 if not there. */
uint64_t sp_modules_symbol(
	const struct sp_modules *m, const struct sp_module *mod, const char *name);

/* The exported function that covers @pc, for a frame of a module without other symbols. Writes its
 * name to @buf. Returns 0 or -ENOENT. */
int sp_modules_name(const struct sp_modules *m, uint64_t pc, char *buf, size_t size);

/* A number that changes with every change of the map: what was cached before is void. */
uint32_t sp_modules_epoch(const struct sp_modules *m);
size_t sp_modules_bytes(const struct sp_modules *m);

#endif
