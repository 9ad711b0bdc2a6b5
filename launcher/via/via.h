/* --via: the same call on other hosts or in pods. The user's own ssh or kubectl takes this program
 * to each of them, it runs there, and what it records comes back as it grows; the outputs are
 * written here, one for all. */
#ifndef SP_LAUNCHER_VIA_VIA_H
#define SP_LAUNCHER_VIA_VIA_H

#include "cli/options.h"

/* Carries out @call where --via is not local. Returns an exit code. */
int sp_via_call(const struct sp_call *call);

#endif
