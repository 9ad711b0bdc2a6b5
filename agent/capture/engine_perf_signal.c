/* Perf events that signal their thread at each overflow; the handler copies registers and stack.
 * One descriptor per thread. Nothing is re-armed: PERF_EVENT_IOC_REFRESH hangs some kernels.
 * Threads that were sampled once also have a page for the kernel's frames (perf_chain.h). */
#include "base/clock.h"
#include "engine.h"
#include "perf_chain.h"
#include "perf_event.h"
#include "options/memory_shares.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct perf_signal {
	struct sp_perf_event_spec event;
	struct perf_event_attr attr;
	uint32_t budget, open;	  /* descriptors */
	_Atomic uint32_t skipped; /* threads that found none */
	bool said;
	struct sp_chains chains;
	int cpu; /* -1: any */
};

static void added(void *ctx, struct sp_tinfo *t)
{
	struct sp_capture *c = ctx;
	struct perf_signal *p = c->engine_data;
	int fd;

	if (atomic_load(&t->sig->perf_fd) >= 0)
		return;
	fd = p->open < p->budget ? sp_perf_event_ask(&p->attr, (int32_t)t->tid, p->cpu) : -EMFILE;
	if (fd < 0) {
		p->skipped += fd != -ESRCH;
		return;
	}
	atomic_store(&t->sig->perf_fd, fd); /* the handler has to know it before the first signal */
	if (sp_perf_event_signal(fd, t->tid) == 0) {
		p->open++;
		return;
	}
	atomic_store(&t->sig->perf_fd, -1);
	close(fd);
	p->skipped++;
}

static void gone(void *ctx, struct sp_tinfo *t)
{
	struct sp_capture *c = ctx;
	struct perf_signal *p = c->engine_data;
	int fd = atomic_exchange(&t->sig->perf_fd, -1);

	if (fd < 0)
		return;
	sp_chain_retire(atomic_exchange(&t->chain, NULL));
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	close(fd);
	p->open--;
}

/* System time must not be lost silently: cpu is not sampled with exclude_kernel. */
static int try_open(struct sp_capture *c, struct perf_signal *p, struct sp_err *err)
{
	return sp_engine_perf_opened(c, &p->event, &p->attr, sp_engine_is_cpu(c->args),
		sp_perf_event_try(&p->event, &p->attr), err);
}

static int try_cpu(struct sp_capture *c, struct perf_signal *p, struct sp_err *err)
{
	const char *cpu = c->args->target_cpu;
	int fd;

	p->cpu = cpu[0] ? atoi(cpu) : -1;
	if (!cpu[0])
		return 0;
	fd = sp_perf_event_ask(&p->attr, 0, p->cpu);
	if (fd < 0)
		return sp_err_set(err, fd, "--target-cpu: CPU %s: %s", cpu,
			fd == -EINVAL || fd == -ENODEV ? "there is none, or it is offline"
						       : strerror(-fd));
	return close(fd);
}

static int start(struct sp_capture *c, struct sp_err *err)
{
	struct sp_thread_hooks hooks = {added, gone, c};
	struct perf_signal *p = calloc(1, sizeof(*p));
	int r = p ? sp_engine_perf_event(c, &p->event, &p->attr, err)
		  : sp_err_set(err, -ENOMEM, "out of memory");

	if (r == 0) {
		p->attr.disabled = 1;
		p->attr.wakeup_events = 1;
		sp_chains_attr(&p->attr);
		sp_chains_init(&p->chains, c->args->memory / SP_SHARE_CHAINS);
		p->budget = sp_engine_fd_budget();
		r = try_open(c, p, err);
	}
	if (r == 0)
		r = try_cpu(c, p, err);
	if (r == 0 && sp_threads_count(c->threads) > p->budget)
		r = sp_err_set(err, -EMFILE,
			"perf: %u threads need more than a quarter of the %u free descriptors",
			sp_threads_count(c->threads), p->budget * 4);
	if (r == 0)
		r = sp_engine_signal_install(SP_SIG_PERF, c, err);
	if (r < 0) {
		free(p);
		return r;
	}
	c->engine_data = p;
	sp_threads_hook(c->threads, &hooks);
	return 0;
}

/* The event goes on meanwhile: none is missed, as there would be by another descriptor. */
static void map_chain(void *ctx, struct sp_tinfo *t)
{
	struct sp_capture *c = ctx;
	struct perf_signal *p = c->engine_data;
	int fd = atomic_load(&t->sig->perf_fd);

	if (fd >= 0 && !atomic_load(&t->chain))
		sp_chain_map(&p->chains, fd, &t->chain, sp_clock_mono_ns());
}

/* Hands @s on once for each event that came until its signal did. Returns how many. */
static uint32_t take_events(
	struct sp_capture *c, struct sp_chain *chain, struct sp_raw_sample *s, uint64_t *kernel)
{
	uint32_t n = 0;

	s->kernel = kernel;
	for (; sp_chain_next(chain, s->snap.time_ns, kernel, SP_KERNEL_FRAMES, &s->kernel_count);
		n++)
		c->sink.take(c->sink.ctx, s);
	s->kernel_count = 0;
	return n;
}

/* One signal may count for many events: of a long system call it comes at the end. The kernel
 * writes an event down before it signals, maybe after its page was read last. */
static bool take_chained(struct sp_capture *c, struct sp_chain *chain, struct sp_raw_sample *s)
{
	struct perf_signal *p = c->engine_data;
	uint64_t kernel[SP_KERNEL_FRAMES];

	chain->used_ns = s->snap.time_ns;
	if (take_events(c, chain, s, kernel))
		return true;
	sp_chain_read(&p->chains, chain);
	return take_events(c, chain, s, kernel) || sp_chain_has(chain, s->snap.time_ns);
}

static void sampled(struct sp_capture *c, struct sp_raw_sample *s)
{
	struct perf_signal *p = c->engine_data;
	struct sp_chain *chain = s->thread ? atomic_load(&s->thread->chain) : NULL;

	if (chain && take_chained(c, chain, s))
		return;
	c->sink.take(c->sink.ctx, s);
	if (!chain && s->thread && !p->attr.exclude_kernel &&
		sp_chains_room(&p->chains, s->snap.time_ns))
		sp_threads_with(c->threads, s->thread, map_chain, c);
}

static void drain(struct sp_capture *c)
{
	struct perf_signal *p = c->engine_data;

	sp_chains_drain(&p->chains);
	c->lost += p->chains.lost;
	p->chains.lost = 0;
	if (!p->skipped || p->said)
		return;
	p->said = true;
	c->say(c->say_ctx,
		"perf: the process has too few descriptors for all its threads; the newest are "
		"not sampled (a higher limit on open files, or -e ctimer)");
}

static void stop(struct sp_capture *c)
{
	sp_threads_hook(c->threads, NULL);
	sp_engine_signal_uninstall();
}

static void done(struct sp_capture *c)
{
	struct perf_signal *p = c->engine_data;

	sp_chains_drain(&p->chains);
	free(p);
	c->engine_data = NULL;
}

const struct sp_engine sp_engine_perf_signal = {.name = "perf with signals",
	.start = start,
	.drain = drain,
	.sampled = sampled,
	.stop = stop,
	.done = done};
