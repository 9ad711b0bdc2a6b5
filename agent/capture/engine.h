/* An engine makes samples: it arms something for each thread, and either the signal handler fills
 * the session's byte ring or the engine's own drain() reads what the kernel left. Engines are
 * tried in an order (engine.c); one that cannot work here says why and what would help. */
#ifndef SP_AGENT_CAPTURE_ENGINE_H
#define SP_AGENT_CAPTURE_ENGINE_H

#include "base/buf.h"
#include "base/err.h"
#include "host/counts.h"
#include "host/say.h"
#include "jfr/types.h" /* enum sp_state */
#include "options/args.h"
#include "perf_fd_inbox.h"
#include "threads/threads.h"
#include "unwind/snapshot.h"

#include <pthread.h>

#define SP_KERNEL_FRAMES 64

/* Which frames on top of a stack a hook has put there. */
enum sp_trim {
	SP_TRIM_NONE,
	SP_TRIM_SELF, /* ours */
	SP_TRIM_JVM,  /* ours, and the JVM's that called us */
	SP_TRIM_CALL, /* ours, and the Java method of ours that called us */
	SP_TRIM_LEFT, /* … and the one that called that */
};

/* Where a thread was seen, in the recording's terms. */
struct sp_seen_at {
	uint32_t stack; /* 0: nowhere */
	uint32_t who;	/* the virtual thread that it carried; 0: itself */
	uint32_t epoch; /* of the recording: those of another one are void */
};

/* One sample on its way from an engine to the recording. */
struct sp_raw_sample {
	struct sp_snapshot snap;
	struct sp_tinfo *thread; /* NULL: look it up by snap.tid */
	uint64_t weight;	 /* nanoseconds, or events of a perf counter */
	enum sp_state state;
	bool wall;	    /* recorded as a wall clock sample */
	uint8_t trim;	    /* enum sp_trim: frames on top that are not the thread's own doing */
	int32_t syscall_nr; /* -1: none */
	uint32_t kernel_count;
	const uint64_t *kernel; /* kernel addresses, leaf first */
	const struct sp_sig_record
		*given; /* with the JVM's word in the place of a stack, or NULL */
	/* set by the sink: 0 where the sample was not recorded. The wall engine adds time to it
	 * without unwinding again, as long as its epoch is the recording's. */
	struct sp_seen_at ret;
};

struct sp_capture;

/* Where engines hand over what they have sampled: the collector. All is called on its thread. */
struct sp_sample_sink {
	void *ctx;
	/* Unwinds, interns and records @s. Sets s->ret. */
	void (*take)(void *ctx, struct sp_raw_sample *s);
	/* For wall: @t was blocked at @at from @from_ns for @span_ns. Returns false where the stack
	 * is void because a new chunk began: take it again. */
	bool (*blocked)(void *ctx, struct sp_tinfo *t, const struct sp_seen_at *at,
		enum sp_state state, uint64_t from_ns, uint64_t span_ns, uint32_t looks);
	/* Stack ids of another epoch are void. */
	uint32_t (*epoch)(void *ctx);
};

/* What engines work with; owned by the session. */
struct sp_capture {
	const struct sp_args *args;
	uint64_t interval_ns; /* of the event in hand; for counting events, the period */
	bool counts;	      /* the event in hand is such a one */
	bool in_kernel;	      /* at a place in the kernel's code */
	struct sp_threads *threads;
	struct sp_ring *ring; /* filled by the signal handler; mapped by the engine that needs it */
	size_t memory;	      /* bytes an engine may map for rings of its own */
	uint64_t lost;	      /* samples that the kernel or an engine dropped */
	struct sp_sample_sink sink; /* set by the collector */
	sp_say_fn *say;		    /* never NULL */
	void *say_ctx;
	void *engine_data;
	const struct sp_perf_source *launcher; /* NULL: there is none */
	const struct sp_perf_source *perf; /* … and it opens events for us; NULL: it does not */
	/* Takes what that one sent; set by the engine that asked, under the lock. */
	pthread_mutex_t perf_lock;
	void (*perf_arrived)(struct sp_capture *c, const struct sp_parcel *parcel);
};

struct sp_engine {
	const char *name;
	/* Returns 0; or -errno with what is missing and what would help in @err, nothing left. */
	int (*start)(struct sp_capture *c, struct sp_err *err);
	/* Reads what the kernel left, handing each sample to the sink. NULL: none. */
	void (*drain)(struct sp_capture *c);
	/* May drain() come a few ticks later without a loss? NULL: not known, so it may not. */
	bool (*can_wait)(struct sp_capture *c);
	/* Hands a sample of the handler's to the sink, with what the kernel has left
	 * beside it. NULL: it is taken as it is. */
	void (*sampled)(struct sp_capture *c, struct sp_raw_sample *s);
	/* Disarms all threads. Samples already taken can still be drained. */
	void (*stop)(struct sp_capture *c);
	/* Unmaps and closes what drain() needed. NULL: nothing. */
	void (*done)(struct sp_capture *c);
	/* Does it find threads with stacks too long for it, which it samples by signals from then
	 * on? */
	bool finds_long_stacks;
};

struct sp_perf_event_spec;
struct perf_event_attr;

/* What both engines of perf begin with: the recording's event, and whether it counts. Returns 0 or
 * -errno with a sentence. */
int sp_engine_perf_event(struct sp_capture *c, struct sp_perf_event_spec *ret,
	struct perf_event_attr *ret_attr, struct sp_err *err);

/* … and go on with, where opening it ended with @error: where the kernel's part may not be sampled,
 * and is no @must, in user mode alone, which is said. Returns 0 or -errno with a sentence. */
int sp_engine_perf_opened(struct sp_capture *c, struct sp_perf_event_spec *e,
	struct perf_event_attr *attr, bool must, int error, struct sp_err *err);

/* Maps the byte ring and gives it to the handler and the hooks, once. Returns 0 or -errno. */
int sp_engine_ring(struct sp_capture *c, struct sp_err *err);

extern const struct sp_engine sp_engine_ctimer, sp_engine_itimer, sp_engine_perf_ring,
	sp_engine_perf_signal;

/* Starts the best engine for @c->args->event that works here; says each step down in one sentence.
 * Returns 0 with *ret_engine, or -errno with a sentence. */
__attribute__((warn_unused_result)) int sp_engine_start(
	struct sp_capture *c, const struct sp_engine **ret_engine, struct sp_err *err);

/* Is CPU time what is sampled (also beside wall), rather than a counted event? */
bool sp_engine_is_cpu(const struct sp_args *args);

/* Descriptors that engines may open: a quarter of those that the process has left. */
uint32_t sp_engine_fd_budget(void);

/* SIGPROF: install the handler over a previous one, and neutralise it. Install once per session;
 * after uninstall no handler of ours reads @c's memory. */
int sp_engine_signal_install(enum sp_sig_mode mode, struct sp_capture *c, struct sp_err *err);
void sp_engine_signal_uninstall(void);

#endif
