/* What the JVM says about itself, as the JDK's own recordings have it: from the tables that libjvm
 * exports, so that no call enters the JVM. Context: any thread. */
#ifndef SP_AGENT_VM_JVMINFO_H
#define SP_AGENT_VM_JVMINFO_H

#include <stdbool.h>
#include <stdint.h>

struct sp_jvminfo {
	char name[128], version[512];
	char args[8192], flags[2048], command[8192]; /* cut where longer */
	uint64_t start_ms;			     /* since 1970; 0 unknown */
};

/* Texts that this JVM does not have stay empty. @redact: what looks secret in command lines is
 * taken out, see base/redact.h. */
void sp_jvminfo_read(struct sp_jvminfo *ret, bool redact);

#endif
