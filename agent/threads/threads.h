/* The registry of the process's threads: which exist, where their stacks end, where HotSpot keeps
 * their frame anchor, what they are called now. Java threads announce themselves (ThreadStart);
 * all others are found by looking at /proc/self/task. Engines get each thread once when
 * it appears and once when it is let go.
 * Context: any agent thread and JVMTI thread callbacks, never a signal handler (which reads the
 * slots in sig/handler.h only). Every call is short and none calls the JVM. */
#ifndef SP_AGENT_THREADS_THREADS_H
#define SP_AGENT_THREADS_THREADS_H

#include "options/args.h"
#include "sig/handler.h"
#include "unwind/hotspot.h"

#include <stdbool.h>
#include <stdint.h>

#define SP_THREADS_MAX 32768
#define SP_THREAD_NAME 128

enum sp_thread_state { SP_THREAD_FREE, SP_THREAD_LIVE, SP_THREAD_ENDED };

/* What the collector knows of a thread, beside its sig slot of the same number. */
struct sp_tinfo {
	struct sp_sig_thread *sig;
	uint32_t tid;
	uint8_t state;
	bool agent;	     /* one of our own: never sampled */
	bool listed;	     /* looked up in HotSpot's list */
	bool want_sp;	     /* bounds unknown: hint_sp lies in its stack */
	bool named_java;     /* name comes from the JVM, not from comm */
	bool ending;	     /* has announced its end; at scan ending_scan */
	uint32_t generation; /* of its slot: another thread, another number */
	uint32_t seen;	     /* number of the last scan that saw it */
	uint32_t ended_scan, ending_scan;
	uint64_t java_thread, java_id, hint_sp;
	/* its JavaThread even after its end, and since when it has had it */
	uint64_t java_was, java_since_ns;
	char name[SP_THREAD_NAME];
	char group[48];
	uint32_t name_version; /* changes with the name */
	uint64_t named_ns,
		name_log; /* since when it has it; the one before (thread_name_history.h) */
	/* the collector's: dictionary id of (tid, name) in the current chunk */
	uint32_t dict_id, dict_epoch, dict_version;
	/* the engines' */
	int timer;	       /* kernel timer id, -1: none */
	uint32_t window;       /* bytes of its stack in a record, 0: as all begin */
	uint32_t reach, looks; /* its deepest stack, of so many before the window was fitted */
	int *fds;	       /* perf descriptors, one per CPU */
	_Atomic(struct sp_chain *) chain; /* kernel frames beside its signals, NULL: none */
	struct sp_deep_thread *deep;	  /* where its stacks exceed a ring's records, or NULL */
	uint32_t perf_ticket; /* of the request for them under way, 0: none (perf_fd_inbox.h) */
	uint64_t rest_ns;     /* CPU time that has not made a sample yet, plus 1; 0: none seen */
	uint64_t own_cpu_ns;  /* of one of ours, as sp_threads_own_cpu() saw it last */
};

/* An engine's interest. Called with the registry's lock held: system calls only. */
struct sp_thread_hooks {
	void (*added)(void *ctx, struct sp_tinfo *t);
	void (*gone)(void *ctx, struct sp_tinfo *t);
	void *ctx;
};

struct sp_threads;

/* Makes an empty registry and publishes its slots to the signal handler's state.
 * @args: filter and thread pattern, borrowed for life. Returns 0 or -errno. */
int sp_threads_new(struct sp_threads **ret, const struct sp_args *args);
/* The handler must be off and no longer in flight. */
void sp_threads_free(struct sp_threads *ts);

/* From now on @hooks hears of threads, at once of those already known. NULL: reports to the
 * present hooks that all are gone, and forgets them. */
void sp_threads_hook(struct sp_threads *ts, const struct sp_thread_hooks *hooks);

/* Reports every live thread to the hooks again, for those they put off. */
void sp_threads_announce(struct sp_threads *ts);

/* Lets the hooks take @t down and up again, with what changed in it. Context: the collector. */
void sp_threads_renew(struct sp_threads *ts, struct sp_tinfo *t);

/* Calls @fn for @t with the registry's lock held, if it is alive: system calls only. Context: the
 * collector. */
void sp_threads_with(struct sp_threads *ts, struct sp_tinfo *t,
	void (*fn)(void *ctx, struct sp_tinfo *t), void *ctx);

/* The calling thread is one of ours and is never sampled. */
void sp_threads_exclude_self(struct sp_threads *ts);

/* JVMTI ThreadStart and ThreadEnd, called on the thread itself. @name is copied. */
void sp_threads_started(struct sp_threads *ts, uint64_t java_thread, uint64_t anchor,
	uint64_t java_id, const char *name, const char *group);
void sp_threads_ended(struct sp_threads *ts, const char *name);

/* The name that a Java thread had at @asked_ns or later (from JVMTI), by its JavaThread*. What the
 * thread was renamed to since then stays. Returns the thread's id if it still has that name; else
 * 0. */
uint32_t sp_threads_name(struct sp_threads *ts, uint64_t java_thread, uint64_t java_id,
	const char *name, const char *group, uint64_t asked_ns);

/* A Java thread gets another name at this moment; most often it is the calling one. Returns its
 * thread id, 0 if it is not known. */
uint32_t sp_threads_renamed(
	struct sp_threads *ts, uint64_t java_thread, const char *name, uint64_t now_ns);

/* Copies the name that @t had at @time_ns. Returns its version if it still has it, else 0. */
uint32_t sp_threads_name_at(struct sp_threads *ts, const struct sp_tinfo *t, uint64_t time_ns,
	char buf[SP_THREAD_NAME]);

/* Looks for new and ended threads; cheap when nothing changed. @h may be NULL.
 * Context: the collector. */
void sp_threads_scan(struct sp_threads *ts, const struct sp_hotspot *h, bool force);

/* A sample had no bounds: finds them by the next scan. Context: the collector. */
void sp_threads_learn(struct sp_threads *ts, struct sp_tinfo *t, uint64_t sp);

/* The thread, live or just ended; NULL: not known. Context: the collector. */
struct sp_tinfo *sp_threads_find(struct sp_threads *ts, uint32_t tid);

/* Who held a monitor at @time_ns, as HotSpot writes it down: a JavaThread, an address in the
 * holder's stack, or from JDK 24 on Java's number of the thread. NULL: not known, as virtual
 * threads are. Context: the collector. */
struct sp_tinfo *sp_threads_holder(struct sp_threads *ts, uint64_t holder, uint64_t time_ns);

/* Calls @fn for each live thread but ours, and with @ended for those that ended of late. The
 * registry's lock is not held. Context: collector. */
void sp_threads_each(
	struct sp_threads *ts, bool ended, void (*fn)(void *ctx, struct sp_tinfo *t), void *ctx);

/* The number of @t's slot, below SP_THREADS_MAX; its generation identifies the owner. */
uint32_t sp_threads_slot(const struct sp_threads *ts, const struct sp_tinfo *t);

/* How many threads looks have found that nobody had announced. Context: the collector. */
uint32_t sp_threads_found(const struct sp_threads *ts);

uint32_t sp_threads_count(const struct sp_threads *ts);

/* CPU time that our own threads have used since the last call, ns. Context: the collector, or who
 * starts it. */
uint64_t sp_threads_own_cpu(struct sp_threads *ts);

#endif
