/* The list of JVMs as `sparkprof ps` shows it. Pure functions over what jvm.h found. */
#ifndef SP_LAUNCHER_DISCOVER_PS_H
#define SP_LAUNCHER_DISCOVER_PS_H

#include "base/buf.h"
#include "jvm.h"

/* Appends a table for people, at most @width columns where the words allow it: one line for each
 * JVM, and a line below it for container, pod, Python workers and the reason why an attach would
 * fail. Of JVMs of other hosts the first column is the host. */
void sp_ps_table(const struct sp_jvm *list, size_t n, size_t width, struct sp_buf *ret);

/* How wide a table on standard output may be. */
size_t sp_ps_width(void);

/* Appends an array of objects for scripts. Keys are stable; a value that is not known is null. */
void sp_ps_json(const struct sp_jvm *list, size_t n, struct sp_buf *ret);

/* "2d 3h", "4h 05m", "12m", "40s": short, for a column. Returns @buf. */
const char *sp_ps_uptime(uint64_t ns, char buf[16]);

#endif
