/* See perf_fd_inbox.h. */
#include "perf_fd_inbox.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	QUEUE = 4096,	/* threads that wait to be asked for */
	UNDER_WAY = 64, /* requests without an answer */
	NUMBERS = 8192, /* outer numbers remembered, a power of two */
	PROBES = 8,
};

struct waiting {
	uint32_t tid, ticket, window;
};

struct sp_perf_fd_inbox {
	const struct sp_perf_source *source;
	uint32_t outer_pid, per_thread;
	pthread_mutex_t lock; /* everything below, and perf_ticket of the threads */
	uint32_t tickets, asked, arrived;
	uint32_t first, count; /* of the queue */
	struct waiting queue[QUEUE];
	struct sp_parcel inbox[UNDER_WAY];
	struct {
		uint32_t outer, tid;
	} numbers[NUMBERS]; /* the collector's alone */
};

void sp_parcel_drop(const struct sp_parcel *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		close(p->fds[i]);
}

int sp_perf_fd_inbox_new(struct sp_perf_fd_inbox **ret, const struct sp_perf_source *source,
	struct sp_parcel *ret_rings)
{
	struct sp_perf_fd_inbox *p;
	int r = source->rings(source->ctx, ret_rings);

	if (r == 0 && ret_rings->error)
		r = -ret_rings->error;
	if (r < 0)
		return r;
	p = calloc(1, sizeof(*p));
	if (!p || ret_rings->n == 0) {
		sp_parcel_drop(ret_rings);
		free(p);
		return p ? -EPROTO : -ENOMEM;
	}
	p->source = source;
	p->outer_pid = ret_rings->outer_pid;
	p->per_thread = ret_rings->n;
	pthread_mutex_init(&p->lock, NULL);
	*ret = p;
	return 0;
}

void sp_perf_fd_inbox_free(struct sp_perf_fd_inbox *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->arrived; i++)
		sp_parcel_drop(&p->inbox[i]);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void sp_perf_fd_inbox_want(struct sp_perf_fd_inbox *p, struct sp_tinfo *t, uint32_t window)
{
	pthread_mutex_lock(&p->lock);
	if (p->count < QUEUE) { /* else it is not sampled, as without descriptors */
		t->perf_ticket = ++p->tickets ? p->tickets : ++p->tickets;
		p->queue[(p->first + p->count++) % QUEUE] =
			(struct waiting){t->tid, t->perf_ticket, window};
	}
	pthread_mutex_unlock(&p->lock);
}

void sp_perf_fd_inbox_forget(struct sp_perf_fd_inbox *p, struct sp_tinfo *t)
{
	pthread_mutex_lock(&p->lock);
	t->perf_ticket = 0;
	pthread_mutex_unlock(&p->lock);
}

uint32_t sp_perf_fd_inbox_asked(const struct sp_perf_fd_inbox *p)
{
	return __atomic_load_n(&p->asked, __ATOMIC_RELAXED);
}

void sp_perf_fd_inbox_ask(struct sp_perf_fd_inbox *p, uint32_t room, uint64_t interval_ns)
{
	pthread_mutex_lock(&p->lock);
	while (p->count && p->asked < UNDER_WAY && room >= p->per_thread) {
		struct waiting w = p->queue[p->first];
		int r;

		p->asked++;
		pthread_mutex_unlock(&p->lock);
		r = p->source->ask(p->source->ctx, w.tid, w.ticket, w.window, interval_ns);
		pthread_mutex_lock(&p->lock);
		if (r < 0) {
			p->asked--;
			break; /* the socket is full: next time */
		}
		p->first = (p->first + 1) % QUEUE;
		p->count--;
		room -= p->per_thread;
	}
	pthread_mutex_unlock(&p->lock);
}

void sp_perf_fd_inbox_arrive(struct sp_perf_fd_inbox *p, const struct sp_parcel *parcel)
{
	pthread_mutex_lock(&p->lock);
	/* What was not asked for, or does not fit the rings, is not kept. */
	if (p->asked && p->arrived < UNDER_WAY && (parcel->n == p->per_thread || parcel->error)) {
		p->asked--;
		p->inbox[p->arrived++] = *parcel;
	} else {
		sp_parcel_drop(parcel);
	}
	pthread_mutex_unlock(&p->lock);
}

/* Takes the place of an older number where none of the few is free: a lookup that fails loses a
 * sample, which is counted. */
static void remember_tid(struct sp_perf_fd_inbox *p, uint32_t outer, uint32_t tid)
{
	uint32_t at = outer % NUMBERS;

	for (uint32_t i = 0; i < PROBES; i++) {
		uint32_t k = (outer + i) % NUMBERS;

		if (p->numbers[k].outer == outer || !p->numbers[k].outer) {
			at = k;
			break;
		}
	}
	p->numbers[at].outer = outer;
	p->numbers[at].tid = tid;
}

uint32_t sp_perf_fd_inbox_tid(struct sp_perf_fd_inbox *p, uint32_t outer)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		uint32_t k = (outer + i) % NUMBERS;

		if (p->numbers[k].outer == outer)
			return p->numbers[k].tid;
	}
	return 0;
}

uint32_t sp_perf_fd_inbox_pid(const struct sp_perf_fd_inbox *p)
{
	return p->outer_pid;
}

/* Gives the parcel to its thread; false if that has gone or asked again since. */
static bool deliver(struct sp_perf_fd_inbox *p, struct sp_tinfo *t, const struct sp_parcel *parcel)
{
	int *fds;

	if (!t || t->perf_ticket != parcel->ticket || t->fds)
		return false;
	t->perf_ticket = 0;
	if (parcel->error)
		return true;
	fds = malloc(parcel->n * sizeof(*fds));
	if (!fds)
		return false;
	memcpy(fds, parcel->fds, parcel->n * sizeof(*fds));
	remember_tid(p, parcel->outer_tid, t->tid);
	t->fds = fds;
	return true;
}

struct sp_tinfo *sp_perf_fd_inbox_take(
	struct sp_perf_fd_inbox *p, struct sp_threads *threads, int *ret_error)
{
	for (;;) {
		struct sp_parcel parcel;
		struct sp_tinfo *t;
		bool taken;

		pthread_mutex_lock(&p->lock);
		if (!p->arrived) {
			pthread_mutex_unlock(&p->lock);
			return NULL;
		}
		parcel = p->inbox[--p->arrived];
		pthread_mutex_unlock(&p->lock);
		t = sp_threads_find(threads, parcel.tid); /* takes the registry's lock first */
		pthread_mutex_lock(&p->lock);
		taken = deliver(p, t, &parcel);
		pthread_mutex_unlock(&p->lock);
		*ret_error = parcel.error;
		if (taken)
			return t;
		sp_parcel_drop(&parcel);
	}
}
