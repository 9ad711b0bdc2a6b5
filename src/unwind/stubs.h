/* Names of the JVM's generated routines (arraycopy, crypto, CRC, vtable stubs) by address. HotSpot
 * keeps many of them in one blob with one name ("StubRoutines (2)"); JVMTI's DynamicCodeGenerated
 * says where each one begins and ends. Entries are only added: a routine never moves. */
#ifndef SP_UNWIND_STUBS_H
#define SP_UNWIND_STUBS_H

#include <stddef.h>
#include <stdint.h>

#define SP_STUB_NAME 44 /* longer names are cut */

struct sp_stubs;

/* @cap: bytes in all, mapped, touched as used. Returns 0 or -ENOMEM. */
__attribute__((warn_unused_result)) int sp_stubs_new(struct sp_stubs **ret, size_t cap);
void sp_stubs_free(struct sp_stubs *s);

/* Adds [begin, end). Full: counted, not kept. Any thread, never waits. */
void sp_stubs_add(struct sp_stubs *s, const char *name, uint64_t begin, uint64_t end);

/* Name of the routine at @pc that is a part of [low, high), the blob's code; NULL where none is
 * known. @ret_begin: where it begins, or NULL. Borrowed until sp_stubs_free. Context: the collector
 * only. */
const char *sp_stubs_find(
	struct sp_stubs *s, uint64_t pc, uint64_t low, uint64_t high, uint64_t *ret_begin);

/* Routines that found no room. Any thread. */
uint32_t sp_stubs_refused(const struct sp_stubs *s);

#endif
