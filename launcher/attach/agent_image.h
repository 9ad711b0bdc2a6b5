/* The agent library that the launcher carries. */
#ifndef SP_LAUNCHER_ATTACH_AGENT_IMAGE_H
#define SP_LAUNCHER_ATTACH_AGENT_IMAGE_H

#include "base/build_id.h"

extern const char sp_agent_blob[], sp_agent_blob_end[];

/* As many digits of its build id as file names carry. */
#define SP_BUILD_ID_SHORT 12

static inline void sp_agent_image_id(char ret[SP_BUILD_ID_HEX + 1])
{
	sp_build_id(sp_agent_blob, ret);
}

static inline void sp_agent_image_short_id(char ret[SP_BUILD_ID_HEX + 1])
{
	sp_agent_image_id(ret);
	ret[SP_BUILD_ID_SHORT] = '\0';
}

#endif
