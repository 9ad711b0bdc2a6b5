/* Files that become shorter while they are mapped. Reading beyond their end raises SIGBUS; from
 * sp_shrunk_mind() on such a page reads as zeroes instead, which readers take for damage. */
#ifndef SP_LAUNCHER_SHRUNK_H
#define SP_LAUNCHER_SHRUNK_H

#include <stdbool.h>

void sp_shrunk_mind(void);

/* Whether it has happened. */
bool sp_shrunk(void);

#endif
