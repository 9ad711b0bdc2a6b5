/* Static fields and flags of the HotSpot we live in, through its exported gHotSpotVM tables. For
 * the few things outside of unwinding: VM flags and performance counters. */
#ifndef SP_AGENT_VM_VM_STATICS_H
#define SP_AGENT_VM_VM_STATICS_H

#include <stdint.h>

/* Address of a static field ("PerfMemory", "_start"), 0 if this JVM does not list it. */
uint64_t sp_vm_statics_static(const char *type, const char *field);

/* Where in a @type its field lies, 0 if this JVM does not list it. */
uint64_t sp_vm_statics_offset(const char *type, const char *field);

/* An exported function of libjvm, NULL if there is none. */
void *sp_vm_statics_symbol(const char *name);

/* Bytes of a type ("Method"), 0 if this JVM does not list it. */
uint64_t sp_vm_statics_size(const char *type);

/* Address of a product or diagnostic flag's value, 0 if there is none of that name. */
uint64_t sp_vm_statics_flag(const char *name);

/* Switches DebugNonSafepoints on, so that code compiled from now on keeps debug information at
 * every instruction. Returns 1 if it was off (put it back with _restore), else 0. */
int sp_vm_statics_debug_on(void);
void sp_vm_statics_debug_restore(int was_off);

#endif
