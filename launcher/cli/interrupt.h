/* Ctrl-C and its like. The first SIGINT, SIGTERM or SIGHUP asks for an early end: blocking calls
 * return EINTR and what was recorded is written. The second leaves at once; the agent sees the
 * connection close and cleans up by itself. SIGPIPE is ignored: a closed pipe is an error of write.
 */
#ifndef SP_LAUNCHER_CLI_INTERRUPT_H
#define SP_LAUNCHER_CLI_INTERRUPT_H

#include <stdbool.h>

void sp_interrupt_install(void);
bool sp_interrupted(void);

#endif
