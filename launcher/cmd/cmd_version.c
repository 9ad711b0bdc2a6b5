/* sparkprof version */
#include "cli/command.h"
#include "cli/message.h"

#include <stdio.h>

int sp_cmd_version(const struct sp_call *call)
{
	if (puts("sparkprof " SP_VERSION) >= 0 && fflush(stdout) == 0)
		return SP_EXIT_DONE;
	sp_message_error("version: cannot write to stdout");
	return SP_EXIT_FAILED;
}
