/* Files that become shorter while they are mapped. Reading beyond their end raises SIGBUS; from
 * sp_sigbus_guard_install() on such a page reads as zeroes instead, which readers take for damage.
 */
#ifndef SP_LAUNCHER_REPORT_SIGBUS_GUARD_H
#define SP_LAUNCHER_REPORT_SIGBUS_GUARD_H

#include <stdbool.h>

void sp_sigbus_guard_install(void);

/* Whether it has happened. */
bool sp_sigbus_guard_hit(void);

#endif
