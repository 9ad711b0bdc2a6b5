/* Frames that no stack has, but that say more of one: the class of the object for which a stub for
 * calls by table was called, and the method that a thread of a compiler compiles. The sample is
 * some milliseconds old: what may have changed since then is left out. Context: the collector only.
 */
#ifndef SP_UNWIND_EXTRA_FRAMES_H
#define SP_UNWIND_EXTRA_FRAMES_H

#include "unwind/hotspot.h"
#include "unwind/unwind.h"

#define SP_CLASS_NAME 512

/* Where a class was found. */
enum sp_receiver {
	SP_RECEIVER_CLASS,  /* in a register: right if no class was unloaded since the sample */
	SP_RECEIVER_OBJECT, /* in the object: right if, besides, no object was moved since then */
};

/* Writes the name of the receiver's class, as HotSpot has it ("java/lang/String"), where @top, the
 * frame on top of @s, is in a stub for calls by table. @objects: they may be looked at. Returns an
 * enum sp_receiver; -ENOENT where it is another frame; -ESTALE where no class is found. */
int sp_extra_receiver(const struct sp_hotspot *h, const struct sp_snapshot *s,
	const struct sp_frame *top, bool objects, char ret[SP_CLASS_NAME]);

/* Where in the stack of a compiler's thread its work is described, now; 0: it has none.
 * @java_thread: its JavaThread. */
uint64_t sp_extra_compiler_env(const struct sp_hotspot *h, uint64_t java_thread);

/* The method that was being compiled at @s, by a description at @env of its stack, as a frame.
 * Returns false where there was none, or where that is not sure. */
bool sp_extra_compiled(const struct sp_hotspot *h, const struct sp_snapshot *s, uint64_t env,
	struct sp_frame *ret);

#endif
