/* Standard input, output and error that the caller has closed. */
#ifndef SP_LAUNCHER_CLI_STD_STREAMS_H
#define SP_LAUNCHER_CLI_STD_STREAMS_H

/* Puts /dev/null in the place of each of the descriptors 0 to 2 that is closed, so that no file
 * gets such a number. What reads from 0 or writes to 1 then fails with EBADF, as it would have;
 * what is written to 2 is gone. Call it before anything is opened. Returns 0, or -errno where there
 * is no /dev/null and a descriptor stays closed. */
int sp_std_streams_fill(void);

#endif
