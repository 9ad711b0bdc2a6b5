/* What the unwinder knows about the HotSpot in this process: field offsets and addresses from its
 * gHotSpotVM* tables, read once. JDK 11 to 25 on x86-64.
 * Context: the collector only. */
#ifndef SP_UNWIND_HOTSPOT_H
#define SP_UNWIND_HOTSPOT_H

#include "base/err.h"
#include "unwind/mem.h"
#include "unwind/modules.h"

struct sp_hotspot;

/* Finds libjvm among @modules and reads its tables through @mem (both borrowed for life).
 * Returns 0; -ENOENT without libjvm; -ENOTSUP where a field is missing, with a sentence in @err
 * that names it: then unwind with no hotspot, native frames only, and say that sentence once. */
__attribute__((warn_unused_result)) int sp_hotspot_new(struct sp_hotspot **ret,
	const struct sp_mem *mem, const struct sp_modules *modules, struct sp_err *err);
void sp_hotspot_free(struct sp_hotspot *h);

/* 11, 17, 21, 25 …; major version of the running JVM. */
int sp_hotspot_version(const struct sp_hotspot *h);

/* Where the archive of shared classes (CDS) lies: its metadata stays as long as the process, but
 * there may be gaps that are not mapped. False: there is none, or this JVM does not say. */
bool sp_hotspot_archive(const struct sp_hotspot *h, uint64_t *ret_from, uint64_t *ret_to);

/* Where the capture finds a thread's JavaFrameAnchor: JavaThread* + offset is
 * {last_Java_sp, last_Java_pc, …}: read three words with these offsets. */
struct sp_anchor_layout {
	uint32_t anchor;     /* offset of JavaThread::_anchor */
	uint32_t sp, pc, fp; /* offsets within the anchor */
};
void sp_hotspot_anchor(const struct sp_hotspot *h, struct sp_anchor_layout *ret);

/* One Java thread as HotSpot lists it. */
struct sp_java_thread {
	uint64_t thread; /* JavaThread*: what JNIEnv's address leads to */
	uint64_t pthread;
	uint64_t stack_base, stack_size; /* base is the highest address; 0 where unknown */
	uint32_t tid;			 /* of the target's pid namespace */
};

/* Whether the caller knows a JavaThread already. */
typedef bool sp_hotspot_known_fn(void *ctx, uint64_t thread);

/* Lists Java threads from ThreadsSMRSupport, reading only through sp_mem, but for those that
 * @known (may be NULL) knows: nothing of theirs is read. Fills at most @max. Returns the number of
 * threads (may exceed @max), or -errno. */
int sp_hotspot_threads(const struct sp_hotspot *h, sp_hotspot_known_fn *known, void *ctx,
	struct sp_java_thread *ret, uint32_t max);

/* Tells that compiled code at @addr went away (JVMTI CompiledMethodUnload), so that frames of
 * older samples in there become unknown instead of wrong. Any thread. */
void sp_hotspot_code_unloaded(struct sp_hotspot *h, uint64_t addr);

/* Makes room of @cap bytes for names of generated routines. Returns 0 or -ENOMEM. */
int sp_hotspot_keep_stubs(struct sp_hotspot *h, size_t cap);

/* A routine was generated (JVMTI DynamicCodeGenerated): its frames get this name instead of the
 * name of the blob it is in. Any thread, never waits. */
void sp_hotspot_stub_generated(
	struct sp_hotspot *h, const char *name, uint64_t begin, uint64_t end);

#endif
