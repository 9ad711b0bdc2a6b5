/* The collector's writing: flushes, when they are due and when somebody wants one, and goes from
 * one file to the next. */
#include "collector_internal.h"

#include "base/clock.h"
#include "hooks/class_sources.h"
#include "output/segments.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

void sp_collector_identify(struct sp_collector *c)
{
	struct sp_spark_identity id;

	if (sp_spark_identity_take(&c->capture->identity, &c->identity_version, &id))
		sp_event_writer_identity(c->record, &id);
	else
		return;
	if (c->capture->pieces)
		sp_segments_identify(c->capture->pieces, &id);
}

void sp_collector_counts(const struct sp_collector *c, struct sp_counts *ret)
{
	*ret = (struct sp_counts){
		.samples = atomic_load(&c->samples),
		.truncated = atomic_load(&c->truncated),
		.too_deep = atomic_load(&c->too_deep),
		.unknown = atomic_load(&c->unknown),
		.bytes = atomic_load(&c->bytes),
	};
	for (int i = 0; i < SP_LOSSES; i++)
		ret->lost += ret->lost_by[i] = atomic_load(&c->lost[i]);
}

/* Since the file in hand began: what lies in several files adds up. */
void sp_collector_piece_counts(struct sp_collector *c, struct sp_counts *ret)
{
	const struct sp_counts *b = &c->before;

	sp_collector_counts(c, &c->told);
	*ret = c->told;
	ret->samples -= b->samples;
	ret->lost -= b->lost;
	ret->truncated -= b->truncated;
	ret->too_deep -= b->too_deep;
	ret->unknown -= b->unknown;
	for (int i = 0; i < SP_LOSSES; i++)
		ret->lost_by[i] -= b->lost_by[i];
}

static void replace_fd(struct sp_collector *c, int fd)
{
	pthread_mutex_lock(&c->lock);
	close(c->out_fd);
	c->out_fd = fd;
	pthread_mutex_unlock(&c->lock);
}

static void say_once(struct sp_collector *c, const struct sp_err *err)
{
	if (!c->said_piece && c->capture->say)
		c->capture->say(c->capture->say_ctx, err->text);
	c->said_piece = true;
}

/* Workers are sampled by a launcher, and nobody knows that one was wanted until they are missed. */
void sp_collector_tell_python(struct sp_collector *c)
{
	if (c->said_python || !c->capture->pieces || !c->capture->say ||
		!sp_intern_python(c->intern))
		return;
	c->said_python = true;
	c->capture->say(c->capture->say_ctx, "Python workers are not in this recording, for only a "
					     "launcher samples them: to have "
					     "them run sparkprof on their host, with the executor "
					     "as target (sparkprof stop first "
					     "ends this recording) or a worker's own pid");
}

/* A file's last events and constants are written when it ends, and are much of it where much is
 * sampled. */
static uint64_t whole_size(int fd, uint64_t before)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (uint64_t)st.st_size > before ? (uint64_t)st.st_size : before;
}

/* Ends the file and begins the next. Samples are taken meanwhile; they wait in their rings. */
static int turn_page(struct sp_collector *c, struct sp_segments *p, struct sp_err *err)
{
	uint64_t bytes = sp_event_writer_bytes(c->record);
	int r, fd = sp_segments_next(p, sp_clock_mono_ns(), err);

	if (fd < 0) {
		say_once(c, err);
		return sp_event_writer_flush(c->record, err);
	}
	r = sp_event_writer_switch(c->record, fd, err);
	bytes = whole_size(c->out_fd, bytes);
	replace_fd(c, fd);
	sp_segments_ended(
		p, bytes, c->told.samples - c->before.samples + c->told.lost - c->before.lost);
	/* What is lost from the last count on belongs to the next file. */
	c->before = c->told;
	c->bytes_before += bytes;
	return r;
}

/* The oldest files go where all of them are too much. */
static void make_room(struct sp_collector *c)
{
	atomic_fetch_add(&c->lost[SP_LOSS_DISK],
		sp_segments_fit(c->capture->pieces, sp_event_writer_bytes(c->record)));
}

void sp_collector_last_room(struct sp_collector *c)
{
	struct sp_err err;

	if (c->capture->pieces && sp_event_writer_flush(c->record, &err) >= 0)
		make_room(c);
}

static int write_out(struct sp_collector *c, struct sp_err *err)
{
	struct sp_segments *p = c->capture->pieces;
	int r;

	if (!p)
		return sp_event_writer_flush(c->record, err);
	r = sp_segments_due(p, sp_clock_mono_ns(), sp_event_writer_bytes(c->record))
		    ? turn_page(c, p, err)
		    : sp_event_writer_flush(c->record, err);
	make_room(c);
	return r;
}

static void write_source(void *ctx, const char *location, const char *classes)
{
	sp_event_writer_source(ctx, location, classes);
}

void sp_collector_sources(struct sp_collector *c)
{
	if (!c->capture->sources)
		return;
	sp_class_sources_want(c->capture->sources, c->dict);
	sp_class_sources_tell(c->capture->sources, write_source, c->record);
}

static int flush(struct sp_collector *c, struct sp_err *err)
{
	struct sp_counts counts;
	struct sp_metrics m;
	int r;

	if (c->wall)
		sp_wall_settle(c->wall, false);
	sp_collector_identify(c);
	sp_collector_tell_python(c);
	if (sp_metrics_before(c->metrics, &m))
		sp_event_writer_throttled(c->record, &m);
	sp_collector_sources(c);
	sp_metrics_read(c->metrics, &m);
	sp_event_writer_metrics(c->record, &m);
	sp_collector_piece_counts(c, &counts);
	sp_event_writer_counts(c->record, &counts);
	r = write_out(c, err);
	if (r > 0)
		sp_intern_reset(c->intern);
	if (r > 0 && c->capture->sources)
		sp_class_sources_reset(c->capture->sources);
	atomic_store(&c->bytes, c->bytes_before + sp_event_writer_bytes(c->record));
	c->next_flush_ns = sp_clock_mono_ns() + c->capture->args->flush_ns;
	return r < 0 ? r : 0;
}

void sp_collector_flush_if_due(struct sp_collector *c)
{
	struct sp_err err = {{0}};
	uint64_t wanted, lost;
	bool dump;
	int r;

	pthread_mutex_lock(&c->lock);
	wanted = c->flush_wanted;
	dump = c->dump_wanted;
	c->dump_wanted = false;
	pthread_mutex_unlock(&c->lock);
	if (wanted == c->flush_done && sp_clock_mono_ns() < c->next_flush_ns &&
		!sp_event_writer_full(c->record))
		return;
	/* No samples of the recording: only the dump shows them. */
	if (dump && c->capture->live)
		sp_hook_events_live(c->capture->live, c->record, c->dict, false, &lost);
	if (dump)
		sp_collector_open_tasks(c);
	r = flush(c, &err);
	pthread_mutex_lock(&c->lock);
	c->flush_done = wanted;
	c->flush_status = r;
	c->flush_err = err;
	pthread_cond_broadcast(&c->done);
	pthread_mutex_unlock(&c->lock);
}

int sp_collector_dup(struct sp_collector *c)
{
	int fd;

	pthread_mutex_lock(&c->lock);
	fd = fcntl(c->out_fd, F_DUPFD_CLOEXEC, 3);
	pthread_mutex_unlock(&c->lock);
	return fd < 0 ? -errno : fd;
}

void sp_collector_close(struct sp_collector *c)
{
	close(c->out_fd);
	c->out_fd = -1;
}
