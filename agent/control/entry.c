/* The agent's front door: what HotSpot calls when the library is loaded. It runs on the JVM's
 * attach listener thread and does as little as can be: no JVMTI, no class is looked at. */
#include "control.h"
#include "recording_claim.h"

#include <dlfcn.h>
#include <errno.h>
#include <jni.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* HotSpot's own table of its fields, exported for debuggers (vmStructs.hpp, stable since JDK 6). */
struct vm_struct {
	const char *type, *field, *type_string;
	int32_t is_static;
	uint64_t offset;
	void *address;
};

/* "17.0.19+10": from Abstract_VM_Version::_s_vm_release; "" where it cannot be had. */
static void read_jdk(char *ret, size_t len)
{
	const struct vm_struct *const *table = dlsym(RTLD_DEFAULT, "gHotSpotVMStructs");

	*ret = '\0';
	for (const struct vm_struct *e = table ? *table : NULL; e && e->type; e++) {
		if (strcmp(e->type, "Abstract_VM_Version") != 0 || !e->field ||
			strcmp(e->field, "_s_vm_release") != 0 || !e->address)
			continue;
		if (*(const char *const *)e->address)
			snprintf(ret, len, "%s", *(const char *const *)e->address);
		return;
	}
}

/* What another copy of this build calls: see sp_recording_claim_first_copy. */
JNIEXPORT jint JNICALL sparkprof_attach(JavaVM *vm, char *options);
JNIEXPORT jint JNICALL sparkprof_attach(JavaVM *vm, char *options)
{
	struct sp_control_call call = {.vm = vm};

	/* The launcher learns the reason by the JVM's "return code: -11". */
	if (!options || sp_control_parse(options, &call) < 0)
		return -EINVAL;
	read_jdk(call.jdk, sizeof(call.jdk));
	return sp_control_start(&call);
}

/* A JVM that was started with -agentpath has this build mapped from another file already, and that
 * copy holds the recording: it answers. */
JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *options, void *reserved);
JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *options, void *reserved)
{
	jint(JNICALL * first)(JavaVM * vm, char *options) = (jint(JNICALL *)(
		JavaVM *, char *))sp_recording_claim_first_copy("sparkprof_attach");

	return (first ? first : sparkprof_attach)(vm, options);
}
