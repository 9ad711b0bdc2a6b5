/* The collector's writing: flushes, when they are due and when they are requested, and goes from
 * one file to the next. */
#include "collector_internal.h"

#include "base/clock.h"
#include "hooks/class_sources.h"
#include "jfr/event_fields.h"
#include "output/segments.h"
#include "spark/task_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

	sp_collector_counts(c, &c->recorded);
	*ret = c->recorded;
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
	if (!c->said_piece)
		c->capture->say(c->capture->say_ctx, err->text);
	c->said_piece = true;
}

/* Starts sampling Python as soon as it is known that this JVM may have some. */
void sp_collector_start_python(struct sp_collector *c)
{
	const struct sp_spark_identity *id = &c->identity;
	bool driver = strcmp(id->executor_id, "driver") == 0;
	struct sp_err err;

	if (c->python && driver)
		sp_python_workers_of_driver(c->python);
	if (!c->running || c->tried_python || !sp_python_workers_wanted(c->capture->args, id))
		return;
	c->tried_python = true;
	if (sp_python_workers_start(&c->python, c->capture, c->input->tasks,
		    sp_event_writer_jfrw(c->record), c->dict, &c->writing, driver, &err) == 0)
		return;
	sp_err_prefix(&err, 0, "Python workers are not sampled");
	c->capture->say(c->capture->say_ctx, err.text);
}

void sp_collector_identify(struct sp_collector *c)
{
	struct sp_spark_identity *id = &c->identity;

	if (!sp_spark_identity_take(&c->input->identity, &c->identity_version, id))
		return;
	sp_event_writer_identity(c->record, id);
	if (c->input->segments)
		sp_segments_identify(c->input->segments, id);
	sp_collector_start_python(c);
}

void sp_collector_python(struct sp_collector *c)
{
	struct sp_counts more;
	struct sp_err said;

	sp_python_workers_settle(c->python, &more, &said);
	sp_collector_count(&c->samples, more.samples);
	sp_collector_count(&c->truncated, more.truncated);
	for (int i = 0; i < SP_LOSSES; i++)
		sp_collector_count(&c->lost[i], more.lost_by[i]);
	if (said.text[0])
		c->capture->say(c->capture->say_ctx, said.text);
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
	sp_segments_ended(p, bytes,
		c->recorded.samples - c->before.samples + c->recorded.lost - c->before.lost);
	/* What is lost from the last count on belongs to the next file. */
	c->before = c->recorded;
	c->bytes_before += bytes;
	return r;
}

/* The oldest files go where all of them are too much. */
static void make_room(struct sp_collector *c)
{
	atomic_fetch_add(&c->lost[SP_LOSS_DISK],
		sp_segments_fit(c->input->segments, sp_event_writer_bytes(c->record)));
}

void sp_collector_last_room(struct sp_collector *c)
{
	struct sp_err err;

	if (c->input->segments && sp_event_writer_flush(c->record, &err) >= 0)
		make_room(c);
}

static int write_out(struct sp_collector *c, struct sp_err *err)
{
	struct sp_segments *p = c->input->segments;
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
	if (!c->input->sources)
		return;
	sp_class_sources_want(c->input->sources, c->dict);
	sp_class_sources_write(c->input->sources, write_source, c->record);
}

void sp_collector_lives(struct sp_collector *c)
{
	uint32_t count;
	struct sp_thread_life *all = sp_thread_lives_take(&c->input->lives, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct sp_tinfo *t = sp_threads_find(c->capture->threads, all[i].tid);
		uint32_t id =
			t && strcmp(t->name, all[i].name) == 0
				? sp_collector_thread_at(c, t, t->tid, all[i].time_ns)
				: sp_intern_thread(c->intern, NULL, all[i].tid, all[i].name, 0);

		if (id)
			sp_event_writer_event(c->record,
				all[i].end ? SP_JFR_THREAD_END : SP_JFR_THREAD_START,
				SP_JFR_VALUES(THREAD_START, .startTime.u = all[i].time_ns,
					.eventThread.u = id, .thread.u = id));
	}
	free(all);
}

static int flush(struct sp_collector *c, struct sp_err *err)
{
	struct sp_counts counts;
	struct sp_metrics m;
	int r;

	if (c->wall)
		sp_wall_settle(c->wall, false);
	sp_collector_identify(c);
	sp_collector_python(c);
	if (sp_metrics_before(c->metrics, &m))
		sp_event_writer_throttled(c->record, &m);
	sp_collector_sources(c);
	sp_collector_lives(c);
	sp_collector_running_tasks(c);
	sp_metrics_read(c->metrics, &m);
	sp_event_writer_metrics(c->record, &m);
	sp_processes_tick(c->processes, c->record, false);
	sp_collector_piece_counts(c, &counts);
	sp_event_writer_counts(c->record, &counts);
	r = write_out(c, err);
	if (r > 0) {
		sp_intern_reset(c->intern);
		sp_task_table_write_again(c->input->tasks);
		sp_python_workers_new_chunk(c->python);
	}
	if (r > 0 && c->input->sources)
		sp_class_sources_reset(c->input->sources);
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
	if (dump && c->input->live)
		sp_hook_events_live(c->input->live, c->record, c->dict, false, &lost);
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
