/* The agent library that the launcher carries. */
#ifndef SP_LAUNCHER_AGENT_IMAGE_H
#define SP_LAUNCHER_AGENT_IMAGE_H

#include <stddef.h>

extern const char sp_agent_blob[], sp_agent_blob_end[];

#define SP_BUILD_ID_SHORT 12

/* The first SP_BUILD_ID_SHORT hex digits of its build id. Never fails: the linker always writes
 * one, and a test says so; "000000000000" otherwise. */
void sp_agent_image_id(char ret[SP_BUILD_ID_SHORT + 1]);

static inline size_t sp_agent_image_size(void)
{
	return (size_t)(sp_agent_blob_end - sp_agent_blob);
}

#endif
