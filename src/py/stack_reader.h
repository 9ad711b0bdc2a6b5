/* The threads and stacks of a running CPython (3.8 to 3.14), read from outside without stopping it.
 * Plain functions over memory (target_mem.h): they can be tested with memory that changes or is
 * damaged.
 *
 * A stack is read twice in one go and believed where both copies agree; else again, and at last as
 * much of it as both have in common, from the root on, so that code which calls much is not
 * counted less. */
#ifndef SP_PY_STACK_READER_H
#define SP_PY_STACK_READER_H

#include "py/code.h"
#include "py/read_ahead.h"

#define SP_PY_DEPTH_MAX 2048

struct sp_pyframe {
	struct sp_pycode *code; /* borrowed until the next stack is read */
	int line;
	bool entry; /* C code called it: the frame below it belongs to another call of the evaluator
		     */
};

struct sp_pystack {
	struct sp_pyframe frames[SP_PY_DEPTH_MAX]; /* leaf first */
	uint32_t count;
	bool truncated; /* there are more frames below the last */
	bool partial;	/* the newest frames changed as they were read and are left out */
};

/* A Python thread. What is below the line belongs to the reader. */
struct sp_pythread {
	uint64_t addr;	  /* of its PyThreadState */
	uint64_t pthread; /* pthread_t */
	uint32_t tid;	  /* as its own pid namespace has it; 0: not known */

	bool seen;
	uint64_t chunk, chunk_end, top, cframe;
	uint64_t copied_end; /* of the chunk, the last time */
	uint64_t *frames;    /* owned: addresses of frames that lie elsewhere than in the chunk */
	uint8_t *used;	     /* owned */
	size_t frame_count, frame_cap;
};

struct sp_pyreader {
	struct sp_pyheap heap;
	uint64_t runtime; /* address of _PyRuntime */
	struct sp_pycodes codes;
	struct sp_pythread *threads; /* owned; newest first */
	size_t thread_count;
	uint64_t interps[256]; /* interpreters, newest first */
	size_t interp_count;
	struct sp_pywalk *walk; /* room to work; NULL: made where it is needed */
	bool shared;		/* walk is borrowed, else owned */
	struct sp_pyahead ahead;
	uint64_t reads, retries, partial, failed; /* stacks; again; cut; not to be had */
};

/* Begins with a Python 3.@minor with its _PyRuntime at @runtime.
 * Returns 0 or what sp_pylayout_get returns. sp_pyreader_done in any case. */
int sp_pyreader_init(
	struct sp_pyreader *r, const struct sp_pymem *mem, uint64_t runtime, unsigned minor);
void sp_pyreader_done(struct sp_pyreader *r);

/* Room for all readers of one thread: 2 MB of addresses, of which little is touched. NULL when out
 * of memory. sp_pyreader_share: borrowed until sp_pyreader_done. */
struct sp_pywalk *sp_pywalk_new(void);
void sp_pywalk_free(struct sp_pywalk *w);
void sp_pyreader_share(struct sp_pyreader *r, struct sp_pywalk *w);

/* Around a look at the process: what the last look read is read in one call, and its parts are not
 * asked for again (read_ahead.h). @r is not moved from the first _ahead on. Nothing else may be
 * read by it for which it must be this moment's. */
void sp_pyreader_ahead(struct sp_pyreader *r);
void sp_pyreader_ahead_end(struct sp_pyreader *r);

/* Brings r->threads up to date: one read where nothing has changed. Returns 0; -ESRCH where there
 * is no interpreter (any more); -ENOMEM. */
int sp_pyreader_threads(struct sp_pyreader *r);

/* Reads the stack of r->threads[@thread]. Returns 0, also for a thread without frames; -EAGAIN
 * where it changed too quickly; -ESRCH where the thread is gone; -ENOMEM. */
int sp_pyreader_stack(struct sp_pyreader *r, size_t thread, struct sp_pystack *ret);

/* The thread state that has the GIL, 0: nobody, or unknown. */
uint64_t sp_pyreader_gil(struct sp_pyreader *r);

/* Names of functions may change under the same addresses when other code is loaded: forgets them.
 */
void sp_pyreader_forget(struct sp_pyreader *r);

#endif
