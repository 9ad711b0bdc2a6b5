/* Names of Java methods by address, read from HotSpot's metadata a few milliseconds after the
 * sample; and line numbers from a bytecode index. A method is identified by Method*, ConstMethod*
 * and constant pool, and checked against the symbols' hashes at every use: memory that was unloaded
 * or reused gives -ESTALE ("unknown"), never another method's name.
 * Context: the collector only. */
#ifndef SP_UNWIND_METHOD_NAMES_H
#define SP_UNWIND_METHOD_NAMES_H

#include "unwind/hotspot.h"
#include "unwind/unwind.h"

struct sp_method_names;

struct sp_name {
	const char *class_name; /* "java/lang/String"; hidden classes as HotSpot writes them */
	const char *name, *sig; /* "hashCode", "()I"; all terminated */
	uint16_t class_len, name_len, sig_len;
	uint16_t modifiers;
	uint32_t user_id, user_epoch; /* the caller's own: 0 at first, e.g. a dictionary id */
};

/* @cap: bytes for cached names (0: 1 MB). When full it starts over (counted). */
__attribute__((warn_unused_result)) int sp_method_names_new(struct sp_method_names **ret,
	const struct sp_mem *mem, const struct sp_hotspot *h, size_t cap);
void sp_method_names_free(struct sp_method_names *n);
size_t sp_method_names_bytes(const struct sp_method_names *n);
uint64_t sp_method_names_resets(const struct sp_method_names *n);

/* @unloaded: where the JVM counts classes that it has unloaded; borrowed for life. */
void sp_method_names_watch(struct sp_method_names *n, const volatile uint64_t *unloaded);

/* Starts a batch, where sp_mem_live_refresh() is called. @changed: classes may have been unloaded
 * since the last call, so each method is checked again before it is used. One that is found
 * replaced then is stale for this batch, where samples may be of either: unless no class has been
 * unloaded since the last batch began. */
void sp_method_names_batch(struct sp_method_names *n, bool changed);

/* The name of a Java frame. *ret is borrowed until the next sp_method_names_get() call (which may
 * start the cache over). Returns 0, or -ESTALE where the method is no longer what it was. */
int sp_method_names_get(struct sp_method_names *n, const struct sp_frame *f, struct sp_name **ret);

/* The name of the same frame is what it was as long as this is. */
uint64_t sp_method_names_change(const struct sp_method_names *n);

/* Source line of a Java frame, or -1 where unknown (no table, native, stale). */
int32_t sp_method_names_line(struct sp_method_names *n, const struct sp_frame *f);

#endif
