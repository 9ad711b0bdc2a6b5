/* Which thread of a JVM speaks with which Python worker: by the socket between them, TCP or Unix,
 * as /proc and the kernel's list of sockets show it. A thread is seen while it waits for the
 * socket, or writes to it. Used by the sampler's thread alone. */
#ifndef SP_PYSAMPLE_PY_SOCKETS_H
#define SP_PYSAMPLE_PY_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SP_PYSOCKETS_MAX = 1024, SP_PYSOCKETS_KNOWN = 128 };

struct sp_pysocket_pair {
	uint64_t own, peer; /* inodes; peer 0: there is none on this host */
	unsigned looks;	    /* with none */
};

struct sp_pysockets {
	bool no_call; /* as of struct sp_pymem_process */
	/* Who knows the JVM's threads that run tasks (its own pid namespace is ours): fills @ret
	 * with at most @cap of their ids, returns how many. NULL: found by their names. */
	size_t (*tasks)(void *ctx, uint32_t *ret, size_t cap);
	void *ctx;
	size_t count;
	struct {
		uint32_t tid;  /* of the JVM's thread, in its own pid namespace */
		uint64_t peer; /* inode of the socket's other end */
		bool known;
	} ends[SP_PYSOCKETS_MAX];
	struct sp_pysocket_pair known[SP_PYSOCKETS_KNOWN];
	size_t next_known;
	unsigned tables; /* how often the kernel's lists were read */
};

/* Looks at the threads of @jvm that run Spark's tasks. What cannot be read is as if it were not
 * there. */
void sp_pysockets_look(struct sp_pysockets *s, pid_t jvm);

/* The thread at the other end of a socket of @pid, as of the last look; 0: none was seen. */
uint32_t sp_pysockets_find(const struct sp_pysockets *s, pid_t pid);

#endif
