/* Processes that this JVM started, such as PySpark's daemon and its workers: the kernel lets it
 * read them where it lets nobody else of its user (kernel.yama.ptrace_scope 1 allows ancestors). */
#ifndef SP_AGENT_BELOW_H
#define SP_AGENT_BELOW_H

#include <sys/types.h>

/* Opens the memory of @pid for reading. Returns a descriptor (owned by the caller); -EPERM where it
 * is no descendant of this process, or the kernel refuses; -ESRCH. Context: the control thread. */
int sp_below_memory(pid_t pid);

#endif
