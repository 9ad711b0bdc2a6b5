/* Who runs this launcher, in words, for the second one that finds the first in its way. No NSS. */
#ifndef SP_LAUNCHER_WHO_H
#define SP_LAUNCHER_WHO_H

#define SP_WHO_LEN 232

/* "pid 12, user root, host node7". */
void sp_who_am_i(char ret[SP_WHO_LEN]);

#endif
