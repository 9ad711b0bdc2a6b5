/* What the JVM itself reports of a virtual thread (JDK 21 and later): its name and its frames, of
 * which most may lie in the heap, where the unwinder does not read. Context: the virtual thread
 * itself, in native code. */
#ifndef SP_AGENT_VM_VTHREAD_FRAMES_H
#define SP_AGENT_VM_VTHREAD_FRAMES_H

#include "sig/hook_capture.h"

#include <jvmti.h>

#define SP_VIRTUAL_FRAMES 256 /* older ones are cut */

struct sp_vthread_frames {
	struct sp_hook_capture_virtual about; /* points into the rest */
	jmethodID caller;		      /* who called the innermost frame, NULL: nobody */
	char *name;			      /* the JVM's */
	struct sp_given_frame frames[SP_VIRTUAL_FRAMES];
};

/* Its class, a local reference; NULL before JDK 21, and where methods are not what we know. */
jclass sp_vthread_frames_class(JNIEnv *env);

/* Asks for @self, the calling thread (number @id), without its @skip innermost frames.
 * sp_vthread_frames_done() in every case. Returns 0, or -ENOTSUP. */
int sp_vthread_frames_ask(jvmtiEnv *ti, JNIEnv *env, jthread self, uint64_t id, jint skip,
	struct sp_vthread_frames *ret);
void sp_vthread_frames_done(jvmtiEnv *ti, struct sp_vthread_frames *v);

#endif
