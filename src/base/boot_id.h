/* Which run of which kernel this is. Addresses of kernel functions mean something in one boot only:
 * a recording carries its boot id beside them, as it carries the build ids of modules. */
#ifndef SP_BASE_BOOT_ID_H
#define SP_BASE_BOOT_ID_H

#define SP_BOOT_ID 33 /* 32 hex digits and a NUL */

/* Reads it, lower-case hex without dashes. Returns 0, or -errno with @ret empty. */
int sp_boot_id(char ret[static SP_BOOT_ID]);

#endif
