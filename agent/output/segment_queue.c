/* Segments that wait to be taken to the cluster's files: see segments.h. */
#include "segments_internal.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool sp_segments_remove(struct sp_segments *p, size_t i)
{
	char path[SP_SEGMENTS_PATH];
	bool there = sp_segments_name(p, &p->id, &p->done[i], path, NULL) == 0 && unlink(path) == 0;

	p->done_bytes -= p->done[i].bytes;
	memmove(p->done + i, p->done + i + 1, (--p->n_done - i) * sizeof(*p->done));
	return there;
}

const char *sp_segments_where(struct sp_segments *p, char *buf, size_t size)
{
	const char *slash;

	pthread_mutex_lock(&p->lock);
	slash = strrchr(p->path, '/');
	snprintf(buf, size, "%.*s", slash ? (int)(slash - p->path) : 1, slash ? p->path : ".");
	pthread_mutex_unlock(&p->lock);
	return buf;
}

void sp_segments_hurry(struct sp_segments *p)
{
	atomic_store(&p->hurry, true);
}

size_t sp_segments_wait(struct sp_segments *p, uint64_t timeout_ns)
{
	uint64_t end = sp_clock_mono_ns() + timeout_ns;
	struct timespec at = {(time_t)(end / 1000000000), (long)(end % 1000000000)};
	size_t n;

	pthread_mutex_lock(&p->lock);
	while (!p->woken && !(p->n_done && p->done[0].complete) &&
		pthread_cond_timedwait(&p->came, &p->lock, &at) == 0)
		;
	p->woken = false;
	n = p->n_done;
	pthread_mutex_unlock(&p->lock);
	return n;
}

void sp_segments_wake(struct sp_segments *p)
{
	pthread_mutex_lock(&p->lock);
	p->woken = true;
	pthread_cond_broadcast(&p->came);
	pthread_mutex_unlock(&p->lock);
}

size_t sp_segments_take(struct sp_segments *p, int *ret_fds, size_t max)
{
	char path[SP_SEGMENTS_PATH];
	uint64_t bytes = 0;
	size_t n = 0;

	pthread_mutex_lock(&p->lock);
	while (n < max && n < p->n_done && p->done[n].complete &&
		p->done[n].turn == p->done[0].turn) {
		int fd = -1;

		/* Those that are on their way cannot make room for newer ones. */
		bytes += p->done[n].bytes;
		if (n && bytes > p->maxdisk / 4)
			break;

		if (sp_segments_name(p, &p->id, &p->done[n], path, NULL) == 0)
			fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			ret_fds[n++] = fd;
		else if (n == 0 || errno == ENOENT) /* it was removed */
			sp_segments_remove(p, n);
		else
			break;
	}
	p->taken = n;
	pthread_mutex_unlock(&p->lock);
	return n;
}

bool sp_segments_reports(const struct sp_segments *p)
{
	return p->end[0];
}

bool sp_segments_oldest(struct sp_segments *p, char *ret, size_t size)
{
	char path[SP_SEGMENTS_PATH];
	bool there;

	pthread_mutex_lock(&p->lock);
	there = p->n_done && p->done[0].complete &&
		sp_segments_name(p, &p->id, &p->done[0], path, NULL) == 0 && strlen(path) < size;
	if (there)
		snprintf(ret, size, "%s", path);
	p->taken = there;
	pthread_mutex_unlock(&p->lock);
	return there;
}

void sp_segments_sent(struct sp_segments *p)
{
	pthread_mutex_lock(&p->lock);
	for (; p->taken; p->taken--) {
		p->sent++;
		p->sent_samples += p->done[0].samples;
		sp_segments_remove(p, 0);
	}
	pthread_mutex_unlock(&p->lock);
}

void sp_segments_keep(struct sp_segments *p)
{
	pthread_mutex_lock(&p->lock);
	p->taken = 0;
	pthread_mutex_unlock(&p->lock);
}
