/* Who runs this launcher, in words, for the second one that finds the first in its way. No NSS. */
#ifndef SP_LAUNCHER_PROC_WHOAMI_H
#define SP_LAUNCHER_PROC_WHOAMI_H

#define SP_WHO_LEN 232

/* "pid 12, user root, host node7". */
void sp_whoami(char ret[SP_WHO_LEN]);

#endif
