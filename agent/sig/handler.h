/* The signal side of capture: one handler that copies registers and stack of the interrupted thread
 * into a ring, and nothing else. Everything in this directory may run in a signal handler in any
 * thread of a stranger's process at any moment: no locks, no allocation, no __thread, and no call
 * that tests/lint/sigsafe.txt does not allow. */
#ifndef SP_AGENT_SIG_HANDLER_H
#define SP_AGENT_SIG_HANDLER_H

#include "ring.h"
#include "unwind/snapshot.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define SP_SIG_ANY_FD -2

/* What the handler knows of a thread. Slots are owned by the thread registry, never move, and stay
 * mapped while the handler is armed. A field may change under the handler: each is one word. */
struct sp_sig_thread {
	_Atomic uint32_t tid;		     /* 0: free */
	_Atomic int32_t perf_fd;	     /* -1: none, SP_SIG_ANY_FD: several */
	_Atomic int32_t end_fd;		     /* of --end; that of --begin is perf_fd */
	_Atomic uint64_t stack_lo, stack_hi; /* 0: unknown, then the copy goes through the kernel */
	_Atomic uint64_t anchor;	     /* address of the JavaFrameAnchor, 0: none */
	_Atomic uint32_t busy;
	_Atomic uint32_t wanted; /* 0: filtered out, do not sample */
};

/* Where in a JavaFrameAnchor the three words lie. */
struct sp_sig_anchor_layout {
	uint16_t sp, fp, pc;
};

/* What a record is: a sample that the signal took, or what a hook reported (hook_capture.h). */
enum sp_hook_kind {
	SP_HOOK_SAMPLE,
	SP_HOOK_ALLOC,	 /* size, weight, weak reference, factor of that, collections, carried */
	SP_HOOK_MONITOR, /* since, weight, address, who held it (threads.h) */
	SP_HOOK_PARK,	 /* since, weight, address, time, is it absolute */
	SP_HOOK_MALLOC,	 /* address, size, weight, number of the caller or 0 */
	SP_HOOK_FREE,	 /* address; no stack */
	SP_HOOK_CALL,	 /* how many it represents */
	SP_HOOK_TRACE,	 /* since, time it took, how many it represents */
	SP_HOOK_WINDOW,	 /* since; no stack: the time between --begin and --end */
	SP_HOOK_NATIVE_LOCK, /* since, weight, address, thread id of who held it or 0; its kind is
				the text */
};

#define SP_HOOK_ARGS 6

/* A Java frame that the JVM reported. */
struct sp_given_frame {
	uint64_t method; /* Method* */
	int64_t bci;
};

/* One record in the ring. */
struct sp_sig_record {
	struct sp_ring_head head;
	uint32_t tid;
	uint32_t stack_len;
	uint32_t kind;		    /* enum sp_hook_kind */
	uint32_t text_len, text_at; /* a text: at stack + text_at */
	uint32_t given;		    /* number of sp_given_frame that are in place of the stack */
	uint64_t vthread;	    /* with those: number of the virtual thread */
	uint32_t name_len, spare;   /* and its name, behind the text */
	uint64_t arg[SP_HOOK_ARGS];
	uint64_t time_ns;
	uint64_t weight; /* of a sample by ITIMER_PROF: the process's CPU clock */
	uint64_t regs[SP_REG_COUNT];
	struct sp_anchor anchor;
	uint64_t stack_addr, stack_end;
	uint64_t tls; /* thread pointer: lets the registry learn the stack's bounds */
	uint8_t stack[];
};

enum sp_sig_mode { SP_SIG_OFF, SP_SIG_CTIMER, SP_SIG_ITIMER, SP_SIG_PERF };

enum sp_sig_memory { SP_SIG_MEMORY_NONE = 0, SP_SIG_MEMORY_CALL = -1 };

enum { SP_SIG_SHUT, SP_SIG_OPEN, SP_SIG_OPENING };

/* --begin and --end: what is open between calls of two functions. */
struct sp_sig_window {
	uint64_t begin, end;		   /* where they begin; 0: none */
	_Atomic uint32_t open, count, tid; /* tid: who opened it last */
	_Atomic uint64_t since_ns, ns;	   /* since when it is open, and for how long it was */
};

/* All the handler's state. Static, so that a late signal always finds it; what it points to is
 * mapped while mode is not OFF or hooks is not 0, and unmapped only once inflight has been seen 0
 * after that. */
struct sp_sig_state {
	_Atomic uint32_t mode;
	_Atomic uint32_t inflight;
	_Atomic uint32_t hooks; /* bit per enum sp_hook_kind: hooks that may report */
	struct sp_ring *ring;
	struct sp_sig_thread *slots;
	uint32_t slot_count;
	_Atomic uint32_t *index; /* hash of tid → slot number + 1 */
	uint32_t index_mask;
	uint32_t max_stack;
	int32_t pid;
	int32_t memory_pid;
	_Atomic int32_t memory; /* enum sp_sig_memory, or a descriptor plus 1 (memory_read.h) */
	uint64_t interval_ns;	/* or the perf event's period */
	bool counts;		/* the perf event is no clock: it stands still meanwhile */
	struct sp_sig_anchor_layout anchor;
	/* Samples are taken only while the word there has that value. NULL: always. The word stays
	 * for ever. */
	const _Atomic uint32_t *_Atomic gate;
	uint32_t gate_value;
	struct sp_sig_window window;
	/* intervals that a sample without a place represented, but for one (the ring counts that)
	 */
	_Atomic uint64_t refused;
	_Atomic uint64_t reentered, strangers;
	_Atomic uint32_t wake;	/* futex: the collector sleeps on it; changed to wake it */
	_Atomic uint32_t woken; /* a handler has done so since the collector read the ring */
	struct sigaction previous;
	_Atomic uint32_t have_previous;
};

extern struct sp_sig_state sp_sig;

/* Has the collector look now. Any thread, a handler too. */
void sp_sig_wake(void);

/* SIGPROF's handler (SA_SIGINFO | SA_RESTART | SA_ONSTACK is up to the installer). */
void sp_sig_handler(int signo, siginfo_t *info, void *context);

/* Slot of @tid in the index, or NULL. Lock-free; may miss an entry that is just being moved. */
struct sp_sig_thread *sp_sig_find(uint32_t tid);

static inline uint32_t sp_sig_hash(uint32_t tid)
{
	return tid * 2654435761u >> 7;
}

#endif
