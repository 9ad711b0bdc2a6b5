/* Progress of reading: see read_progress.h. */
#include "read_progress.h"

#include "base/clock.h"
#include "base/units.h"

#include <stdio.h>
#include <unistd.h>

static const uint64_t patience_ns = 500000000, redraw_ns = 100000000;

void sp_read_progress_start(struct sp_read_progress *r, uint64_t total_bytes, bool quiet)
{
	*r = (struct sp_read_progress){.on = !quiet && isatty(STDERR_FILENO),
		.total = total_bytes,
		.start_ns = sp_clock_mono_ns(),
		.lock = PTHREAD_MUTEX_INITIALIZER};
}

void sp_read_progress_add(void *reading, uint64_t bytes)
{
	struct sp_read_progress *r = reading;
	uint64_t now = sp_clock_mono_ns();
	char done[32], total[32];

	if (!r->on)
		return;
	pthread_mutex_lock(&r->lock);
	r->done += bytes;
	r->done = r->done < r->total ? r->done : r->total; /* some are read twice */
	if (now - r->start_ns > patience_ns && now - r->drawn_ns > redraw_ns) {
		r->drawn_ns = now;
		fprintf(stderr, "\rreading %s of %s\033[K",
			sp_size_format(r->done, done, sizeof(done)),
			sp_size_format(r->total, total, sizeof(total)));
		fflush(stderr);
	}
	pthread_mutex_unlock(&r->lock);
}

void sp_read_progress_end(struct sp_read_progress *r)
{
	if (r->on && r->drawn_ns)
		fputs("\r\033[K", stderr);
}
