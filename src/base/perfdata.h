/* HotSpot's performance data as jvmstat reads it: a head of 32 bytes, then entries (perfMemory.hpp,
 * perfData.hpp). The launcher reads the file in /tmp/hsperfdata_USER, the agent the JVM's memory.
 * Context: any thread; allocates nothing; trusts no byte. */
#ifndef SP_BASE_PERFDATA_H
#define SP_BASE_PERFDATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_PERFDATA_HEAD 32

struct sp_perfdata_entry {
	const char *name;  /* terminated */
	char type;	   /* of Java's descriptors: 'J' a long, 'B' bytes */
	uint32_t elements; /* of a vector; 0: a scalar */
	const void *data;  /* within the bytes: all elements, or 8 bytes of a scalar long */
};

/* Bytes in use as the head says; 0 where there is no head of a known form. */
__attribute__((nonnull, warn_unused_result)) size_t sp_perfdata_used(const void *head);

/* Whether the JVM says that it has filled it. */
__attribute__((nonnull, warn_unused_result)) bool sp_perfdata_is_ready(const void *head);

/* Calls @fn for each long and each vector of bytes among @len bytes.
 * Returns 0, or -EINVAL where they are no performance data or end early. */
__attribute__((nonnull(1, 3))) int sp_perfdata_each(const void *bytes, size_t len,
	void (*fn)(void *ctx, const struct sp_perfdata_entry *e), void *ctx);

#endif
