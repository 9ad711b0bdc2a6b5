/* What a recording says of the machine and the JVM it was made in: processor, libraries, collector,
 * system properties. The pages of JDK Mission Control show it. Environment variables are not
 * recorded. Context: the collector. */
#ifndef SP_AGENT_COLLECT_ENVIRONMENT_H
#define SP_AGENT_COLLECT_ENVIRONMENT_H

#include "base/buf.h"
#include "jfr/writer.h"

/* Writes all of it, as each chunk has it. @properties: see sp_jvmti_properties; NULL: none. */
void sp_environment_write(struct sp_jfrw *w, const struct sp_buf *properties);

/* The libraries that are loaded now. */
void sp_environment_libraries(struct sp_jfrw *w);

#endif
