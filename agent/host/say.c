/* See say.h. */
#include "say.h"

#include <stdio.h>
#include <unistd.h>

void sp_say_stderr(const char *sentence)
{
	char line[1024];
	int n = snprintf(line, sizeof(line), "sparkprof: %s\n", sentence);

	if (n > 0 && write(STDERR_FILENO, line, (size_t)n < sizeof(line) ? (size_t)n : 0) < 0)
		return; /* nobody listens: nothing to be done */
}
