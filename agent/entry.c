/* The agent's front door: what HotSpot calls when the library is loaded. */
#include <stddef.h>

int Agent_OnAttach(void *vm, char *options, void *reserved);
int Agent_OnAttach(void *vm, char *options, void *reserved)
{
	return 0;
}
