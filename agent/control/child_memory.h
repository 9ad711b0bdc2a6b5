/* Processes that this JVM started, such as PySpark's daemon and its workers: the kernel lets it
 * read them where it lets nobody else of its user (kernel.yama.ptrace_scope 1 allows ancestors). */
#ifndef SP_AGENT_CONTROL_CHILD_MEMORY_H
#define SP_AGENT_CONTROL_CHILD_MEMORY_H

#include <sys/types.h>

/* Opens the memory of @pid for reading. Returns a descriptor (owned by the caller); -EPERM where it
 * is no descendant of this process, or the kernel refuses; -ESRCH. Context: the control thread. */
int sp_child_memory(pid_t pid);

#endif
