/* Recording from the JVM's command line (-agentpath:…/libsparkprof.so=start,event=cpu,file=x.jfr).
 * There is no launcher: the file is opened here, and wrong options are one line on stderr. */
#ifndef SP_AGENT_CONTROL_AUTOSTART_H
#define SP_AGENT_CONTROL_AUTOSTART_H

#include <jni.h>

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved);

#endif
