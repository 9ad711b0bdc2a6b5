/* sparkprof version */
#include "command.h"

#include <stdio.h>

int sp_cmd_version(const struct sp_call *call)
{
	return puts("sparkprof " SP_VERSION) < 0 || fflush(stdout) ? SP_EXIT_FAILED : SP_EXIT_DONE;
}
