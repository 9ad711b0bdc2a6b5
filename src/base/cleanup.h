/* Cleanup attributes: a resource is released where its variable leaves scope, so that functions
 * return early and need no goto ladders. */
#ifndef SP_BASE_CLEANUP_H
#define SP_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void sp_cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void sp_cleanup_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void sp_cleanup_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define SP_AUTO_FREE   __attribute__((cleanup(sp_cleanup_free)))
#define SP_AUTO_CLOSE  __attribute__((cleanup(sp_cleanup_close)))
#define SP_AUTO_FCLOSE __attribute__((cleanup(sp_cleanup_fclose)))

/* Takes a descriptor out of an SP_AUTO_CLOSE variable: ownership passes to the caller. */
static inline int sp_steal_fd(int *fd)
{
	int r = *fd;
	*fd = -1;
	return r;
}

/* The same for an SP_AUTO_FREE pointer. */
#define sp_steal_ptr(p)                      \
	({                                   \
		__typeof__(p) stolen_ = (p); \
		(p) = NULL;                  \
		stolen_;                     \
	})

#define SP_COUNT(a) (sizeof(a) / sizeof((a)[0]))

#endif
