/* The segments of a recording that are still on this host, for a dump: see segments.h. */
#include "segments_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* The segment in hand may have become a complete one meanwhile. */
static bool is_same(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static int open_segment(const struct sp_segments *p, size_t i, int in_hand)
{
	char path[SP_SEGMENTS_PATH];
	int fd = -1;

	if (p->done[i].complete && sp_segments_name(p, &p->id, &p->done[i], path, NULL) == 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && is_same(fd, in_hand)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

size_t sp_segments_here(
	struct sp_segments *p, int in_hand, int *ret_fds, size_t max, char *ret_gone, size_t size)
{
	uint64_t segments, samples;
	size_t n = 0, first;

	ret_gone[0] = 0;
	pthread_mutex_lock(&p->lock);
	segments = p->sent;
	samples = p->sent_samples;
	first = p->n_done > max ? p->n_done - max : 0; /* the newest where they are too many */
	for (size_t i = 0; i < first; i++) {
		segments++;
		samples += p->done[i].samples;
	}
	for (size_t i = first; i < p->n_done && p->remote[0]; i++) {
		int fd = open_segment(p, i, in_hand);

		if (fd >= 0)
			ret_fds[n++] = fd;
	}
	pthread_mutex_unlock(&p->lock);
	if (segments && p->remote[0])
		snprintf(ret_gone, size,
			"%llu earlier segment%s of the recording (%llu samples) %s not here any "
			"more: sent to %.400s",
			(unsigned long long)segments, segments == 1 ? "" : "s",
			(unsigned long long)samples, segments == 1 ? "is" : "are", p->remote);
	return n;
}
