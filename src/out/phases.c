/* See phases.h. Gaps are found in the profile's buckets of time. */
#include "out/phases.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "out/escape.h"
#include "out/number.h"
#include "prof/model/tasks.h"

#define GAP_NS	  250000000ull /* shorter ones are not listed */
#define WINDOW_NS 100000000ull /* in which time of several threads counts once */

static void free_work(struct sp_driver_work_of **w)
{
	sp_driver_work_free(*w);
}

bool sp_phases_is_driver(const struct sp_profile *p)
{
	return p->executor_id &&
	       strcmp(sp_dict_get_string(p->dict, p->executor_id, NULL), "driver") == 0;
}

/* What one thread did in a bucket. */
struct part {
	uint64_t bucket, ns;
	uint32_t thread;
	uint8_t work;
	bool beside;
};

/* Time by bucket of the recording; the buckets in which a job ran. */
struct time {
	uint64_t first, count; /* buckets of the profile */
	uint64_t *work;	       /* owned: count of each SP_WORKS, twice: of queries and beside */
	bool *job;	       /* owned */
	struct part *parts;    /* owned */
	size_t part_count, part_cap;
};

static int time_init(struct time *t, const struct sp_profile *p)
{
	uint64_t start = p->start_ns > p->origin_ns ? p->start_ns - p->origin_ns : 0;

	if (!p->bucket_ns || !p->duration_ns)
		return 0;
	t->first = start / p->bucket_ns;
	t->count = p->duration_ns / p->bucket_ns;
	t->work = calloc(t->count + 1, 2 * SP_WORKS * sizeof(*t->work));
	t->job = calloc(t->count + 1, sizeof(*t->job));
	return t->work && t->job ? 0 : -ENOMEM;
}

static void time_done(struct time *t)
{
	free(t->work);
	free(t->job);
	free(t->parts);
}

static int add_part(struct time *t, struct part x)
{
	if (sp_grow(&t->parts, &t->part_cap, t->part_count, sizeof(*t->parts), 1024) < 0)
		return -ENOMEM;
	t->parts[t->part_count++] = x;
	return 0;
}

static int add_row(struct time *t, const struct sp_sample *x, enum sp_driver_work work, bool beside)
{
	uint64_t share = x->weight / (x->span + 1ul);
	int r = 0;

	if (work == SP_DRIVER_WORK_IDLE)
		return 0;
	for (uint64_t b = x->bucket; b <= (uint64_t)x->bucket + x->span && r == 0; b++) {
		if (b < t->first || b - t->first >= t->count)
			continue;
		t->job[b - t->first] |= sp_driver_work_is_job(work);
		r = add_part(
			t, (struct part){b - t->first, share, x->thread, (uint8_t)work, beside});
	}
	return r;
}

static int by_place(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->beside != y->beside)
		return x->beside ? 1 : -1;
	if (x->work != y->work)
		return x->work < y->work ? -1 : 1;
	return x->bucket < y->bucket ? -1 : x->bucket > y->bucket;
}

static int by_thread(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* Of @n parts of one phase and window, by thread: the time of all of them, and of the longest. */
static void sum_threads(const struct part *x, size_t n, uint64_t *ret_all, uint64_t *ret_longest)
{
	uint64_t one = 0;

	*ret_all = *ret_longest = 0;
	for (size_t i = 0; i < n; i++) {
		one = i && x[i].thread == x[i - 1].thread ? one + x[i].ns : x[i].ns;
		*ret_all += x[i].ns;
		*ret_longest = one > *ret_longest ? one : *ret_longest;
	}
}

/* Threads of one query are often in the same phase at the same time (the thread that runs it, and
 * one that it waits for): that time counts once. A window has room for no more than its length, or
 * for what one thread has there, where samples were late. What is too much is taken off each part.
 */
static void count_window(struct sp_phases *f, struct time *t, size_t from, size_t to, uint64_t room)
{
	uint64_t all, longest, once;
	const struct part *first = &t->parts[from];

	qsort(&t->parts[from], to - from, sizeof(*t->parts), by_thread);
	sum_threads(first, to - from, &all, &longest);
	once = all > room && all > longest ? (room > longest ? room : longest) : all;
	if (!first->beside)
		f->query[first->work] -= all - once;
	for (size_t i = from; i < to; i++) {
		const struct part *x = &t->parts[i];
		uint64_t ns = all ? (uint64_t)((double)x->ns * ((double)once / (double)all)) : 0;

		t->work[x->bucket * 2 * SP_WORKS + x->beside * SP_WORKS + x->work] +=
			x->beside ? x->ns : ns;
	}
}

static void count_windows(struct sp_phases *f, struct time *t, uint64_t bucket_ns)
{
	uint64_t wide = bucket_ns < WINDOW_NS ? WINDOW_NS / bucket_ns : 1;

	qsort(t->parts, t->part_count, sizeof(*t->parts), by_place);
	for (size_t i = 0, next; i < t->part_count; i = next) {
		const struct part *x = &t->parts[i];
		uint64_t end = (x->bucket / wide + 1) * wide;
		uint64_t length = (end < t->count ? end : t->count) - x->bucket / wide * wide;

		for (next = i + 1; next < t->part_count; next++) {
			const struct part *y = &t->parts[next];

			if (y->beside != x->beside || y->work != x->work || y->bucket >= end)
				break;
		}
		count_window(f, t, i, next, length * bucket_ns);
	}
}

/* Samples that are late make a window longer than it is: not so the recording. */
static void limit_queries(struct sp_phases *f, uint64_t duration_ns)
{
	for (unsigned k = 0; k < SP_WORKS; k++)
		if (f->query[k] > duration_ns && f->threads[k] > f->query[k])
			f->query[k] = duration_ns;
}

/* In local mode tasks run in the driver itself. */
static void add_tasks(struct time *t, const struct sp_profile *p)
{
	for (size_t i = 0; i < p->task_count; i++) {
		const struct sp_task_run *x = &p->tasks[i];
		uint64_t from, to;

		if (!x->start_ns || x->name.stage < 0 || x->end_ns < p->origin_ns)
			continue;
		from = x->start_ns > p->origin_ns ? (x->start_ns - p->origin_ns) / p->bucket_ns : 0;
		to = (x->end_ns - p->origin_ns) / p->bucket_ns;
		for (uint64_t b = from < t->first ? t->first : from;
			b <= to && b - t->first < t->count; b++)
			t->job[b - t->first] = true;
	}
}

static void keep_gap(struct sp_phases *f, const struct sp_gap *g)
{
	size_t at = f->gap_count;

	while (at > 0 && f->gaps[at - 1].took_ns < g->took_ns)
		at--;
	if (at == SP_PHASES_GAPS)
		return;
	f->gap_count += f->gap_count < SP_PHASES_GAPS;
	memmove(&f->gaps[at + 1], &f->gaps[at], (f->gap_count - 1 - at) * sizeof(*g));
	f->gaps[at] = *g;
}

/* Where another thread works on what a query waits for, both have it: it counts once. */
static void count_once(uint64_t work[SP_WORKS], const uint64_t beside[SP_WORKS])
{
	for (unsigned k = 0; k < SP_WORKS; k++)
		if (sp_driver_work_is_query(k) && beside[k] > work[k])
			work[k] = beside[k];
}

static void find_gaps(struct sp_phases *f, const struct time *t, uint64_t bucket_ns)
{
	struct sp_gap g = {0};
	uint64_t beside[SP_WORKS] = {0};

	f->timed = t->count > 0;
	f->covered_ns = t->count * bucket_ns;
	for (uint64_t b = 0; b <= t->count; b++) {
		if (b < t->count && !t->job[b]) {
			if (!g.took_ns)
				g.from_ns = b * bucket_ns;
			g.took_ns += bucket_ns;
			for (unsigned k = 0; k < SP_WORKS; k++) {
				g.work[k] += t->work[b * 2 * SP_WORKS + k];
				beside[k] += t->work[(b * 2 + 1) * SP_WORKS + k];
			}
			continue;
		}
		count_once(g.work, beside);
		f->jobless_ns += g.took_ns;
		for (unsigned k = 0; k < SP_WORKS; k++)
			f->jobless_work[k] += g.work[k];
		if (g.took_ns >= GAP_NS)
			keep_gap(f, &g);
		g = (struct sp_gap){0};
		memset(beside, 0, sizeof(beside));
	}
}

/* Longest first; what no query waited for comes last. */
static bool is_before(const struct sp_phases *f, enum sp_driver_work a, enum sp_driver_work b)
{
	return f->query[a] != f->query[b] ? f->query[a] > f->query[b] : f->beside[a] > f->beside[b];
}

static void put_in_order(struct sp_phases *f)
{
	for (unsigned k = SP_DRIVER_WORK_NONE + 1; k < SP_WORKS; k++) {
		size_t at = f->count;

		if (k == SP_DRIVER_WORK_IDLE || !(f->query[k] + f->beside[k]))
			continue;
		for (; at > 0 && is_before(f, k, f->order[at - 1]); at--)
			f->order[at] = f->order[at - 1];
		f->order[at] = k;
		f->count++;
	}
}

void sp_phases_done(struct sp_phases *f)
{
	free(f->queries);
}

static int by_time(const void *a, const void *b)
{
	const struct sp_phase_query *x = a, *y = b;

	if (x->took_ns != y->took_ns)
		return x->took_ns > y->took_ns ? -1 : 1;
	return x->about->id < y->about->id ? -1 : x->about->id > y->about->id;
}

/* What was done from bucket @from to before @to. */
static void sum_work(const struct time *t, uint64_t from, uint64_t to, uint64_t work[SP_WORKS])
{
	uint64_t beside[SP_WORKS] = {0};

	for (uint64_t b = from; b < to; b++)
		for (unsigned k = 0; k < SP_WORKS; k++) {
			work[k] += t->work[b * 2 * SP_WORKS + k];
			beside[k] += t->work[(b * 2 + 1) * SP_WORKS + k];
		}
	count_once(work, beside);
}

static int find_queries(struct sp_phases *f, const struct sp_profile *p, const struct time *t)
{
	uint64_t start = p->origin_ns + t->first * p->bucket_ns, end = start + f->covered_ns;

	f->queries = calloc(p->execution_count + 1, sizeof(*f->queries));
	if (!f->queries)
		return -ENOMEM;
	for (size_t i = 0; i < p->execution_count; i++) {
		const struct sp_execution *x = &p->executions[i];
		struct sp_phase_query *q = &f->queries[f->query_count];
		uint64_t from = x->start_ns > start ? x->start_ns : start;
		uint64_t to = x->end_ns && x->end_ns < end ? x->end_ns : end;

		if (!x->start_ns || from >= to)
			continue;
		*q = (struct sp_phase_query){x, from - start, to - from, {0}};
		sum_work(t, (from - start) / p->bucket_ns, (to - start) / p->bucket_ns, q->work);
		f->query_count++;
	}
	qsort(f->queries, f->query_count, sizeof(*f->queries), by_time);
	return 0;
}

int sp_phases_init(struct sp_phases *f, const struct sp_profile *p, unsigned event)
{
	__attribute__((cleanup(free_work))) struct sp_driver_work_of *w = NULL;
	__attribute__((cleanup(time_done))) struct time t = {0};
	bool wall = strcmp(sp_profile_event_name(p, event), "wall") == 0;

	*f = (struct sp_phases){0};
	if (!sp_phases_is_driver(p) || p->events[event].unit != SP_UNIT_NS)
		return 0;
	if (sp_driver_work_new(&w, p) < 0 || (wall && time_init(&t, p) < 0))
		return -ENOMEM;
	for (size_t i = 0; i < p->row_count; i++) {
		const struct sp_sample *x = &p->rows[i];
		const struct sp_thread *th = sp_dict_get_thread(p->dict, x->thread);
		enum sp_driver_work work;
		bool beside;

		if (x->event != event || x->task)
			continue;
		work = sp_driver_work_of_row(w, x);
		beside = sp_driver_work_is_beside(
			th ? sp_dict_get_string(p->dict, th->name_id, NULL) : "");
		beside |= work >= SP_DRIVER_WORK_SCHEDULER && work <= SP_DRIVER_WORK_JIT;
		beside |= work == SP_DRIVER_WORK_OTHER;
		(beside ? f->beside : f->query)[work] += x->weight;
		f->threads[work] += beside ? 0 : x->weight;
		if (t.count && add_row(&t, x, work, beside) < 0)
			return -ENOMEM;
	}
	if (t.count) {
		count_windows(f, &t, p->bucket_ns);
		limit_queries(f, p->duration_ns);
		add_tasks(&t, p);
		find_gaps(f, &t, p->bucket_ns);
	}
	put_in_order(f);
	return t.count && p->execution_count ? find_queries(f, p, &t) : 0;
}

void sp_phases_name(const struct sp_phases *f, enum sp_driver_work work, struct sp_buf *out)
{
	double threads = f->query[work] ? (double)f->threads[work] / (double)f->query[work] : 0;

	sp_buf_adds(out, sp_driver_work_name(work));
	if (threads >= 1.05)
		sp_buf_addf(out, " (%.1f threads at a time)", threads);
}

void sp_phases_list(const uint64_t work[SP_WORKS], unsigned max, struct sp_buf *out)
{
	bool listed[SP_WORKS] = {[SP_DRIVER_WORK_IDLE] = true};
	char n[SP_NUMBER_SIZE];

	for (unsigned i = 0; i < max; i++) {
		unsigned best = SP_DRIVER_WORK_NONE;

		for (unsigned k = SP_DRIVER_WORK_NONE + 1; k < SP_WORKS; k++)
			if (!listed[k] && work[k] > work[best])
				best = k;
		if (best == SP_DRIVER_WORK_NONE)
			return;
		listed[best] = true;
		sp_buf_addf(out, "%s%s %s", i ? ", " : "", sp_driver_work_name(best),
			sp_duration_format(work[best], n, sizeof(n)));
	}
}

/* "from_ns":…,"took_ns":…,"work":{…} */
static void json_work(
	uint64_t from_ns, uint64_t took_ns, const uint64_t work[SP_WORKS], struct sp_buf *out)
{
	const char *sep = "";

	sp_buf_addf(out, "\"from_ns\":%" PRIu64 ",\"took_ns\":%" PRIu64 ",\"work\":{", from_ns,
		took_ns);
	for (unsigned k = SP_DRIVER_WORK_NONE + 1; k < SP_WORKS; k++) {
		if (k == SP_DRIVER_WORK_IDLE || !work[k])
			continue;
		sp_buf_addf(out, "%s\"%s\":%" PRIu64, sep, sp_driver_work_key(k), work[k]);
		sep = ",";
	}
	sp_buf_adds(out, "}");
}

static void json_queries(
	const struct sp_phases *f, const struct sp_profile *p, bool jobs, struct sp_buf *out)
{
	const char *sep = "";

	sp_buf_adds(out, jobs ? ",\"jobs\":[" : ",\"sql\":[");
	for (size_t i = 0; i < f->query_count; i++) {
		const struct sp_phase_query *q = &f->queries[i];
		size_t n;
		const char *name = sp_dict_get_string(p->dict, q->about->name, &n);

		if (q->about->job != jobs)
			continue;
		sp_buf_addf(out, "%s{\"id\":%" PRId64 ",", sep, q->about->id);
		if (jobs && q->about->sql >= 0)
			sp_buf_addf(out, "\"sql\":%" PRId64 ",", q->about->sql);
		if (q->about->name) {
			sp_buf_adds(out, "\"name\":");
			sp_escape_json(name, n, out);
			sp_buf_addc(out, ',');
		}
		json_work(q->from_ns, q->took_ns, q->work, out);
		sp_buf_addc(out, '}');
		sep = ",";
	}
	sp_buf_addc(out, ']');
}

void sp_phases_json(const struct sp_phases *f, const struct sp_profile *p, struct sp_buf *out)
{
	sp_buf_adds(out, "{\"phases\":[");
	for (size_t i = 0; i < f->count; i++) {
		enum sp_driver_work k = f->order[i];

		sp_buf_addf(out,
			"%s{\"phase\":\"%s\",\"name\":\"%s\",\"query_ns\":%" PRIu64
			",\"threads_ns\":%" PRIu64 ",\"beside_ns\":%" PRIu64 "}",
			i ? "," : "", sp_driver_work_key(k), sp_driver_work_name(k), f->query[k],
			f->threads[k], f->beside[k]);
	}
	sp_buf_adds(out, "]");
	if (f->timed)
		sp_buf_addf(out,
			",\"covered_ns\":%" PRIu64 ",\"jobless_ns\":%" PRIu64 ",\"gaps\":[",
			f->covered_ns, f->jobless_ns);
	for (size_t i = 0; f->timed && i < f->gap_count; i++) {
		sp_buf_adds(out, i ? ",{" : "{");
		json_work(f->gaps[i].from_ns, f->gaps[i].took_ns, f->gaps[i].work, out);
		sp_buf_addc(out, '}');
	}
	sp_buf_adds(out, f->timed ? "]" : "");
	for (int jobs = 0; jobs < 2 && f->queries; jobs++)
		json_queries(f, p, jobs, out);
	sp_buf_addc(out, '}');
}
