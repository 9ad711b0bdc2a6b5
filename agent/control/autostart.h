/* Recording from the JVM's command line (-agentpath:…/libsparkprof.so=start,event=cpu,file=x.jfr).
 * There is no launcher: the file is opened here, and wrong options are one line on stderr. */
#ifndef SP_AGENT_CONTROL_AUTOSTART_H
#define SP_AGENT_CONTROL_AUTOSTART_H

#include <jni.h>

#include "base/err.h"

#include <stdbool.h>

/* The same by a command of the program (api_command.h). Returns 0 or -errno with a sentence.
 * Context: a thread of the agent. */
int sp_autostart_begin(JavaVM *vm, const char *words, struct sp_err *err);

/* file:/x and file:///x are /x. Returns whether @file was one; -EINVAL: of another host. */
int sp_autostart_drop_scheme(char *file, struct sp_err *err);

/* Does the last that was begun go to the cluster, in segments? */
bool sp_autostart_is_remote(void);

/* A file without a name, of the directories that the options name or everybody has; the caller's;
 * -1: none. */
int sp_autostart_unnamed_fd(void);

/* The last recording, where it was begun without file= and no other since: a descriptor of it, the
 * caller's; -1: there is none. forget: it is nobody's any more. */
int sp_autostart_kept_fd(void);
void sp_autostart_forget(void);

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved);

#endif
