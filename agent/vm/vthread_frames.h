/* What the JVM itself tells of a virtual thread (JDK 21 and later): its name and its frames, of
 * which most may lie in the heap, where the unwinder does not read. Context: the virtual thread
 * itself, in native code. */
#ifndef SP_AGENT_VIRTUAL_H
#define SP_AGENT_VIRTUAL_H

#include "sig/here.h"

#include <jvmti.h>

#define SP_VIRTUAL_FRAMES 256 /* older ones are cut */

struct sp_virtual {
	struct sp_here_virtual about; /* points into the rest */
	jmethodID caller;	      /* who called the innermost frame, NULL: nobody */
	char *name;		      /* the JVM's */
	struct sp_given_frame frames[SP_VIRTUAL_FRAMES];
};

/* Its class, a local reference; NULL before JDK 21, and where methods are not what we know. */
jclass sp_virtual_class(JNIEnv *env);

/* Asks for @self, the calling thread, whose number is @id, without its @skip innermost frames.
 * sp_virtual_done() in every case. Returns 0, or -ENOTSUP. */
int sp_virtual_ask(
	jvmtiEnv *ti, JNIEnv *env, jthread self, uint64_t id, jint skip, struct sp_virtual *ret);
void sp_virtual_done(jvmtiEnv *ti, struct sp_virtual *v);

#endif
