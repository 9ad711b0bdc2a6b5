/* Classes of ours in the boot loader: defined once, and the same for all builds of the agent, for
 * none can be taken out again. */
#ifndef SP_AGENT_VM_BOOTCLASS_H
#define SP_AGENT_VM_BOOTCLASS_H

#include <jni.h>
#include <stddef.h>
#include <stdint.h>

/* The class @name, of @len @bytes where it is not there yet. A local reference; NULL where the JVM
 * refuses; no exception is left. */
jclass sp_bootclass(JNIEnv *env, const char *name, const uint8_t *bytes, size_t len);

#endif
