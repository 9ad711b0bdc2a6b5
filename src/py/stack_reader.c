/* Interpreters and threads: see stack_reader.h. Stacks are in stack.c. */
#include "py/stack_reader.h"

#include "base/cleanup.h"
#include "base/grow.h"
#include "py/stack_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	THREADS_MAX = 4096,
	GLIBC_TID = 720, /* struct pthread's tid on x86-64, since glibc 2.4 */
};

int sp_pyreader_init(
	struct sp_pyreader *r, const struct sp_pymem *mem, uint64_t runtime, unsigned minor)
{
	memset(r, 0, sizeof(*r));
	r->heap.mem = *mem;
	r->runtime = runtime;
	return sp_pylayout_get(mem, runtime, minor, &r->heap.layout);
}

static void forget_threads(struct sp_pythread *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(list[i].frames);
		free(list[i].used);
	}
	free(list);
}

void sp_pyreader_done(struct sp_pyreader *r)
{
	sp_pycodes_done(&r->codes);
	sp_pyahead_done(&r->ahead);
	forget_threads(r->threads, r->thread_count);
	if (!r->shared)
		sp_pywalk_free(r->walk);
	memset(r, 0, sizeof(*r));
}

struct sp_pywalk *sp_pywalk_new(void)
{
	return calloc(1, sizeof(struct sp_pywalk));
}

void sp_pywalk_free(struct sp_pywalk *w)
{
	free(w);
}

void sp_pyreader_share(struct sp_pyreader *r, struct sp_pywalk *w)
{
	if (!r->shared)
		sp_pywalk_free(r->walk);
	r->walk = w;
	r->shared = true;
}

void sp_pyreader_ahead(struct sp_pyreader *r)
{
	if (!r->walk)
		r->walk = sp_pywalk_new();
	if (!r->walk)
		return;
	if (!r->ahead.from.read) {
		r->ahead.from = r->heap.mem;
		r->heap.mem = (struct sp_pymem){sp_pyahead_read, &r->ahead};
	}
	sp_pyahead_begin(&r->ahead, r->walk->ahead);
}

void sp_pyreader_ahead_end(struct sp_pyreader *r)
{
	sp_pyahead_end(&r->ahead);
}

void sp_pyreader_forget(struct sp_pyreader *r)
{
	sp_pycodes_done(&r->codes);
}

static uint32_t tid_of(struct sp_pyreader *r, const uint8_t *state)
{
	const struct sp_pylayout *l = &r->heap.layout;
	uint64_t pthread = sp_pyword(state + l->ts_thread);
	uint32_t tid = 0;

	if (l->ts_native)
		return (uint32_t)sp_pyword(state + l->ts_native);
	if (pthread && !sp_pymem_get(&r->heap.mem, pthread + GLIBC_TID, &tid, sizeof(tid)))
		tid = 0;
	return tid;
}

/* The list is as it was if every pointer in it is, and every thread is the one it was. */
static bool unchanged(struct sp_pyreader *r)
{
	enum { FEW = 30 };
	const struct sp_pylayout *l = &r->heap.layout;
	struct sp_pyspan spans[2 + 2 * FEW];
	uint64_t head = 0, first = 0;
	struct {
		uint64_t next, thread;
	} now[FEW];
	size_t n = 0;

	if (r->interp_count != 1 || !r->thread_count || r->thread_count > FEW)
		return false;
	spans[n++] = (struct sp_pyspan){r->runtime + l->rt_interp, &head, 8};
	spans[n++] = (struct sp_pyspan){r->interps[0] + l->in_threads, &first, 8};
	for (size_t i = 0; i < r->thread_count; i++) {
		uint64_t at = r->threads[i].addr;

		spans[n++] = (struct sp_pyspan){at + l->ts_next, &now[i].next, 8};
		spans[n++] = (struct sp_pyspan){at + l->ts_thread, &now[i].thread, 8};
	}
	if (!sp_pymem_all(&r->heap.mem, spans, n) || head != r->interps[0] ||
		first != r->threads[0].addr)
		return false;
	for (size_t i = 0; i < r->thread_count; i++) {
		uint64_t next = i + 1 < r->thread_count ? r->threads[i + 1].addr : 0;

		if (now[i].next != next || now[i].thread != r->threads[i].pthread)
			return false;
	}
	return true;
}

/* Takes over what is known of a thread that was there before. */
static void inherit(struct sp_pyreader *r, struct sp_pythread *t)
{
	for (size_t i = 0; i < r->thread_count; i++) {
		struct sp_pythread *old = &r->threads[i];

		if (old->addr != t->addr || old->pthread != t->pthread || old->seen)
			continue;
		*t = *old;
		old->frames = NULL;
		old->used = NULL;
		old->seen = true;
		t->seen = false;
		return;
	}
}

struct list {
	struct sp_pythread *threads;
	size_t count, cap;
};

static int add_threads(struct sp_pyreader *r, uint64_t interp, struct list *to)
{
	const struct sp_pylayout *l = &r->heap.layout;
	uint64_t at = sp_pymem_word(&r->heap.mem, interp + l->in_threads);

	for (; at && to->count < THREADS_MAX; to->count++) {
		uint8_t state[SP_PY_THREAD_MAX];
		struct sp_pythread *list;

		if (!sp_pymem_get(&r->heap.mem, at, state, l->ts_size) ||
			sp_pyword(state + l->ts_interp) != interp)
			return 0; /* it ends, or just ended */
		if (sp_grow(&to->threads, &to->cap, to->count, sizeof(*list), 4) < 0)
			return -ENOMEM;
		list = to->threads + to->count;
		*list = (struct sp_pythread){
			.addr = at, .pthread = sp_pyword(state + l->ts_thread)};
		inherit(r, list);
		list->tid = tid_of(r, state);
		at = sp_pyword(state + l->ts_next);
	}
	return 0;
}

int sp_pyreader_threads(struct sp_pyreader *r)
{
	const struct sp_pylayout *l = &r->heap.layout;
	struct list found = {0};
	uint64_t interp;
	int e = 0;

	if (unchanged(r))
		return 0;
	r->interp_count = 0;
	interp = sp_pymem_word(&r->heap.mem, r->runtime + l->rt_interp);
	while (interp && r->interp_count < SP_COUNT(r->interps) && e == 0) {
		r->interps[r->interp_count++] = interp;
		e = add_threads(r, interp, &found);
		interp = sp_pymem_word(&r->heap.mem, interp + l->in_next);
	}
	forget_threads(r->threads, r->thread_count);
	r->threads = found.threads;
	r->thread_count = found.count;
	return e < 0 ? e : found.count ? 0 : -ESRCH;
}

uint64_t sp_pyreader_gil(struct sp_pyreader *r)
{
	const struct sp_pylayout *l = &r->heap.layout;
	uint64_t gil;
	uint32_t locked = 0;

	if (l->rt_current)
		return sp_pymem_word(&r->heap.mem, r->runtime + l->rt_current);
	gil = r->interp_count
		      ? sp_pymem_word(&r->heap.mem, r->interps[r->interp_count - 1] + l->in_gil)
		      : 0;
	if (!gil || !sp_pymem_get(&r->heap.mem, gil + l->gil_locked, &locked, sizeof(locked)) ||
		locked != 1)
		return 0;
	return sp_pymem_word(&r->heap.mem, gil + l->gil_holder);
}
