/* Reading a recording into a profile: see load.h. Several readers share a file by chunks, each with
 * a profile of its own; these are joined at the end. */
#include "prof/load/load.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/saturate.h"
#include "jfr/reader.h"
#include "prof/load/gc_share.h"
#include "prof/load/load_event.h"
#include "prof/load/load_survey.h"

#define CHUNKS	4096
#define READERS 16

struct share {
	int fd;
	uint64_t starts[CHUNKS + 1];
	uint8_t owners[CHUNKS + 1]; /* which reader takes the part */
	size_t count;
	uint64_t end; /* of the last part: the file's, where it has one */
	size_t readers;
	const struct sp_load_opts *opts;
	unsigned topics; /* enum sp_load_topic: what is asked for */
	struct sp_load_survey survey;
	bool tasks_only;   /* struct sp_loading's, if there are tasks */
	atomic_bool again; /* something is to be surveyed first */
	pthread_mutex_t lock;
};

struct reader {
	struct sp_loading l;
	struct share *share;
	size_t number;
	pthread_t thread;
	bool started;
};

/* Keeps the first damage and goes on; other errors end the reading. */
static bool note_result(struct sp_loading *l, int r, const struct sp_err *err)
{
	if (r < 0 && l->result == 0) {
		l->result = r;
		l->err = *err;
	}
	return r == 0 || r == -EBADMSG;
}

static uint64_t part_bytes(const struct share *s, size_t i)
{
	return (i + 1 < s->count ? s->starts[i + 1] : s->end) - s->starts[i];
}

static void *read_chunks(void *ctx)
{
	struct reader *r = ctx;
	struct share *s = r->share;
	struct sp_jfr_visitor v = {.ctx = &r->l,
		.want = sp_loading_want,
		.fields = sp_loading_fields,
		.event = sp_loading_event,
		.known = r->l.known};

	for (size_t i = 0; i < s->count && !atomic_load(&s->again); i++) {
		struct sp_jfr_stats st = {0};
		struct sp_err err = {0};
		int n;

		if (s->owners[i] != r->number)
			continue;
		n = sp_jfr_read_part(
			s->fd, s->starts[i], s->starts[i + 1], r->l.p->dict, &v, &st, &err);
		sp_loading_count(&r->l, &st);
		if (n == -EAGAIN)
			atomic_store(&s->again, true);
		else if (s->opts->progress)
			s->opts->progress(s->opts->progress_ctx, part_bytes(s, i));
		if (!note_result(&r->l, n, &err))
			break;
	}
	if (sp_loading_flush(&r->l) < 0)
		r->l.error = -ENOMEM;
	return NULL;
}

/* Each part goes to the reader that has the fewest bytes so far: which ones it gets depends on the
 * file alone, and so does the order of what is reported. */
static void share_parts(struct share *s)
{
	uint64_t bytes[READERS] = {0};
	struct stat st;

	s->end = s->starts[s->count - 1];
	if (fstat(s->fd, &st) == 0 && (uint64_t)st.st_size > s->end)
		s->end = (uint64_t)st.st_size;
	for (size_t i = 0; i < s->count; i++) {
		size_t least = 0;

		for (size_t k = 1; k < s->readers; k++)
			least = bytes[k] < bytes[least] ? k : least;
		s->owners[i] = (uint8_t)least;
		bytes[least] += part_bytes(s, i);
	}
}

/* Where each part begins; the last one has no end, so that damage is read past. */
static void share_out(struct share *s, int fd)
{
	const struct sp_load_opts *o = s->opts;
	uint64_t start, end;

	s->fd = fd;
	s->count = sp_jfr_chunks(fd, s->starts, CHUNKS, &start, &end);
	if (s->count == 0)
		s->starts[s->count++] = 0;
	s->starts[s->count] = UINT64_MAX;
	s->readers = o->readers > READERS ? READERS : o->readers ? o->readers : 1;
	s->readers = s->readers > s->count ? s->count : s->readers;
	share_parts(s);
}

/* Runs the readers and joins what they found into the first. */
static int read_all(struct share *s, struct reader *readers)
{
	size_t n = s->readers;
	int r = 0;

	for (size_t i = 1; i < n; i++)
		readers[i].started =
			pthread_create(&readers[i].thread, NULL, read_chunks, &readers[i]) == 0;
	read_chunks(&readers[0]);
	for (size_t i = 1; i < n; i++) {
		if (readers[i].started)
			pthread_join(readers[i].thread, NULL);
		else
			read_chunks(&readers[i]); /* no thread to be had: its chunks come later */
		if (r == 0 && !s->again)
			r = sp_loading_join(&readers[0].l, &readers[i].l);
		readers[0].l.dump_met |= readers[i].l.dump_met; /* see missed_topics() */
		sp_loading_done(&readers[i].l);
		memset(&readers[i].l, 0, sizeof(readers[i].l));
	}
	return r;
}

/* Functions without a name because this machine's files, or its kernel, are not the recorded ones.
 */
struct refusals {
	struct sp_symbols *symbols;
	uint64_t kernel, other;
	char kernel_why[256], other_why[256]; /* of the first */
};

static int find_symbol(
	void *ctx, const char *module, const char *build_id, uint64_t addr, const char **ret_name)
{
	struct refusals *f = ctx;
	bool kernel = strcmp(module, "[kernel]") == 0;
	int r = sp_symbols_find(f->symbols, module, build_id, addr, ret_name);
	const char *why;

	if (r == 0 || !sp_symbols_refused(f->symbols, module, build_id, &why))
		return r;
	if (kernel && !f->kernel++)
		snprintf(f->kernel_why, sizeof(f->kernel_why), "%s", why);
	if (!kernel && !f->other++)
		snprintf(f->other_why, sizeof(f->other_why), "%s", why);
	return r;
}

static void note_refusals(struct sp_loading *l, const struct refusals *f)
{
	char text[400];

	if (f->kernel) {
		snprintf(text, sizeof(text), "%llu kernel function%s no name: %s",
			(unsigned long long)f->kernel, f->kernel == 1 ? " has" : "s have",
			f->kernel_why);
		sp_profile_note(l->p, text);
	}
	if (f->other) {
		snprintf(text, sizeof(text), "%llu native function%s no name: %s",
			(unsigned long long)f->other, f->other == 1 ? " has" : "s have",
			f->other_why);
		sp_profile_note(l->p, text);
	}
}

/* What is kept is of the shared dictionary. */
static int resolve(struct sp_loading *l)
{
	struct sp_symbolized *kept = l->p->dict == l->opts->dict ? l->opts->resolved : NULL;
	struct refusals f = {.symbols = l->symbols};
	int r = kept ? sp_profile_symbolize_more(l->p, kept, find_symbol, &f)
		     : sp_profile_symbolize(l->p, find_symbol, &f);

	note_refusals(l, &f);
	return r;
}

static void note_damage(struct sp_loading *l, const struct sp_err *err)
{
	unsigned long long events = l->stats.events, chunks = l->stats.chunks;
	char text[sizeof(err->text) + 80];

	snprintf(text, sizeof(text), "%s; the rest is shown: %llu event%s of %llu chunk%s",
		err->text, events, events == 1 ? "" : "s", chunks, chunks == 1 ? "" : "s");
	sp_profile_note(l->p, text);
}

/* Functions of the JVM have their names. A merged recording has the collections of several. */
static int divide_gc(struct sp_loading *l)
{
	const struct sp_load_opts *o = l->opts;
	bool part = o->task || o->thread || o->states || o->min_duration_ns;

	/* Where rows of a stage are as one, nobody knows which of its tasks have some. */
	if (!l->ours || !l->spans || l->spans->several || (part && l->spans->same))
		return 0;
	return sp_gc_share_apply(l->p, part);
}

/* What was read becomes a whole profile. */
static int finish_loading(struct sp_loading *l, struct sp_err *err)
{
	int r = l->result;

	*err = l->err;
	if (l->error < 0)
		return sp_err_set(
			err, l->error, "the recording is too large: %s", strerror(-l->error));
	if (r < 0 && (r != -EBADMSG || l->stats.events == 0))
		return err->text[0] ? r : sp_err_set(err, r, "cannot be read: %s", strerror(-r));
	if (r == -EBADMSG)
		note_damage(l, err);
	if (l->stats.unfinished)
		sp_profile_note(l->p, "the recording ends early: its writer was killed");
	if (l->stats.dropped)
		sp_profile_lost(l->p, "more than a report can hold", l->stats.dropped);
	if (sp_loading_finish(l) < 0)
		return sp_err_set(err, -ENOMEM, "not enough memory for the recording");
	if (l->symbols && resolve(l) < 0)
		return sp_err_set(err, -ENOMEM, "not enough memory to name native functions");
	if (divide_gc(l) < 0)
		return sp_err_set(err, -ENOMEM, "not enough memory for the recording");
	return 0;
}

static void readers_done(struct reader **readers)
{
	for (size_t i = 0; *readers && i < READERS; i++)
		if ((*readers)[i].share)
			sp_loading_done(&(*readers)[i].l);
	free(*readers);
}

/* Nothing asks for threads or single tasks before the recording is read. */
static bool may_fold(const struct sp_load_opts *o)
{
	return o->fold && o->by == SP_BY_NOTHING && !o->task;
}

/* Whether wall is shown inside of tasks alone, by what is known before samples are read. */
static bool only_tasks(const struct sp_load_opts *o, const struct sp_task_spans *s)
{
	return o->tasks_only == SP_TASKS_ONLY_WALL && s->count && s->executor &&
	       strcmp(s->executor, "driver") != 0;
}

/* Nothing was in a task: all threads are shown then. */
static bool none_inside(const struct sp_loading *l)
{
	bool inside = !l->tasks_only || !l->outside.count;

	for (size_t i = 0; i < l->p->row_count && !inside; i++)
		inside = l->p->rows[i].task != 0;
	return !inside;
}

/* What pass 2 has met and pass 1 has not looked for. */
static unsigned missed_topics(const struct share *s, const struct reader *readers)
{
	bool dump = readers[0].l.dump_met && !s->survey.dump_ns;

	return !s->again ? 0 : dump ? SP_LOAD_DUMPS : SP_LOAD_TASKS;
}

/* Pass 2: reads all samples, from the first again where it has been ended before. *ret_missed: what
 * it has met that pass 1 has to look for first; then it is to be done once more. Returns 0 or
 * -ENOMEM. */
static int read_samples(
	struct share *s, struct reader *readers, struct sp_symbols *symbols, unsigned *ret_missed)
{
	struct sp_task_spans *spans = s->topics & SP_LOAD_TASKS ? &s->survey.spans : NULL;
	int r = 0;

	atomic_store(&s->again, false);
	for (size_t i = 0; i < s->readers && r == 0; i++) {
		struct sp_loading *l = &readers[i].l;

		if (readers[i].share)
			sp_loading_done(l);
		readers[i].share = s;
		readers[i].number = i;
		r = sp_loading_init(l, s->opts, spans, symbols, &s->lock);
		l->leaks = s->topics & SP_LOAD_LEAKS ? &s->survey.leaks : NULL;
		l->dump_ns = s->survey.dump_ns;
		l->tasks_only = s->tasks_only && s->survey.spans.read &&
				only_tasks(s->opts, &s->survey.spans);
	}
	if (r == 0)
		r = read_all(s, readers);
	*ret_missed = missed_topics(s, readers);
	return r;
}

/* Both passes. */
static int read_recording(
	struct share *s, struct reader *readers, int fd, struct sp_symbols *symbols)
{
	unsigned missed;
	int r = sp_load_survey(&s->survey, fd, s->topics & SP_LOAD_LEAKS);

	if (r == 0)
		r = read_samples(s, readers, symbols, &missed);
	while (r == 0 && missed) {
		r = sp_load_survey(&s->survey, fd, missed);
		if (r == 0)
			r = read_samples(s, readers, symbols, &missed);
	}
	if (r < 0 || !none_inside(&readers[0].l))
		return r;
	s->tasks_only = false;
	return read_samples(s, readers, symbols, &missed);
}

static void share_free(struct share **s)
{
	if (*s)
		sp_load_survey_done(&(*s)->survey);
	free(*s);
}

int sp_load_with(int fd, const struct sp_load_opts *opts, struct sp_symbols *symbols,
	struct sp_profile **ret, struct sp_err *err)
{
	static const struct sp_load_opts everything;
	__attribute__((cleanup(share_free))) struct share *share = calloc(1, sizeof(*share));
	__attribute__((cleanup(readers_done))) struct reader *readers =
		calloc(READERS, sizeof(*readers));
	struct sp_err local;
	int r;

	err = err ? err : &local;
	err->text[0] = 0;
	if (!readers || !share)
		return sp_err_set(err, -ENOMEM, "not enough memory for the recording");
	share->opts = opts ? opts : &everything;
	pthread_mutex_init(&share->lock, NULL);
	share_out(share, fd);
	share->topics = sp_load_survey_topics(share->opts);
	share->survey.spans.lock = &share->lock;
	share->survey.spans.fold = may_fold(share->opts);
	share->tasks_only = true;
	r = read_recording(share, readers, fd, symbols);
	if (r < 0)
		return sp_err_set(err, r, "not enough memory for the recording");
	r = finish_loading(&readers[0].l, err);
	if (r == 0)
		*ret = sp_steal_ptr(readers[0].l.p);
	return r;
}

int sp_load(int fd, struct sp_symbols *symbols, struct sp_profile **ret, struct sp_err *err)
{
	return sp_load_with(fd, NULL, symbols, ret, err);
}

/* For recordings of a killed writer: the time of the last event. */
static int want_times(void *ctx, const char *type)
{
	return strcmp(type, "jdk.ExecutionSample") == 0 ||
	       strcmp(type, "profiler.WallClockSample") == 0;
}

static int take_time(void *ctx, const struct sp_jfr_event *e)
{
	uint64_t *last = ctx;

	if (e->start_ns > *last)
		*last = e->start_ns;
	return 0;
}

int sp_load_range(int fd, uint64_t *ret_start_ns, uint64_t *ret_end_ns)
{
	SP_AUTO_FREE struct share *s = calloc(1, sizeof(*s));
	uint64_t start, end;

	if (!s || sp_jfr_chunks(fd, s->starts, CHUNKS, &start, &end) == 0 || end == 0)
		return -ENODATA;
	*ret_start_ns = start;
	*ret_end_ns = end;
	return 0;
}

int sp_load_times(int fd, uint64_t *ret_start_ns, uint64_t *ret_end_ns)
{
	uint64_t last = 0;
	struct sp_jfr_visitor v = {
		.ctx = &last, .want = want_times, .fields = sp_load_no_fields, .event = take_time};
	struct sp_jfr_stats st = {0};
	struct sp_dict *dict;
	int r;

	if (sp_load_range(fd, ret_start_ns, ret_end_ns) == 0)
		return 0;
	r = sp_dict_new(&dict, SP_LOAD_DICT_CAP);
	if (r < 0)
		return r;
	r = sp_jfr_read(fd, dict, &v, &st, NULL);
	sp_dict_free(dict);
	if (r < 0 && (r != -EBADMSG || st.chunks == 0))
		return r;
	*ret_start_ns = st.start_ns;
	*ret_end_ns = last > st.end_ns ? last : st.end_ns;
	return 0;
}

void sp_loading_count(struct sp_loading *l, const struct sp_jfr_stats *from)
{
	struct sp_jfr_stats *to = &l->stats;

	to->chunks += from->chunks;
	to->events += from->events;
	to->skipped += from->skipped;
	to->unfinished += from->unfinished;
	to->dropped += from->dropped;
	if (from->start_ns && (!to->start_ns || from->start_ns < to->start_ns))
		to->start_ns = from->start_ns;
	if (from->end_ns > to->end_ns)
		to->end_ns = from->end_ns;
}

int sp_loading_join(struct sp_loading *l, const struct sp_loading *other)
{
	int r = sp_profile_merge(l->p, other->p);

	if (r == 0)
		r = sp_losses_join(&l->losses, &other->losses);
	if (r == 0)
		r = sp_others_join(&l->others, &other->others);
	l->outside.count = sp_saturate_add(l->outside.count, other->outside.count);
	l->outside.weight = sp_saturate_add(l->outside.weight, other->outside.weight);
	l->depth_known |= other->depth_known;
	if (!l->event[0] || (other->event[0] && strcmp(l->event, "wall") == 0))
		snprintf(l->event, sizeof(l->event), "%s", other->event);
	l->only_wall_interval =
		l->only_wall_interval ? l->only_wall_interval : other->only_wall_interval;
	l->interval = l->interval ? l->interval : other->interval;
	l->wall_interval = l->wall_interval ? l->wall_interval : other->wall_interval;
	l->ours |= other->ours;
	if (!l->executor[0])
		snprintf(l->executor, sizeof(l->executor), "%s", other->executor);
	if (l->result == 0 && other->result != 0) {
		l->result = other->result;
		l->err = other->err;
	}
	sp_loading_count(l, &other->stats);
	l->error = l->error ? l->error : other->error;
	return r;
}
