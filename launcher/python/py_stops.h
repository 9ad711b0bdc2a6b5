/* Stacks of Python threads that are stopped by ptrace(2) for a moment: with native frames between
 * the Python ones (--native), or only so that they hold still (--blocking). Used by the sampler's
 * thread alone. */
#ifndef SP_LAUNCHER_PYTHON_PY_STOPS_H
#define SP_LAUNCHER_PYTHON_PY_STOPS_H

#include "py_ptrace.h"
#include "pysample/py_worker.h"

struct sp_pystops {
	struct sp_pyway way;	 /* for struct sp_pysampling */
	bool native;		 /* threads that run are stopped, and unwound */
	bool blocking;		 /* threads that run are stopped */
	struct sp_pyptraces sum; /* of processes that have gone */
	uint64_t bare;		 /* samples without their native frames */
	uint64_t unstopped;	 /* threads that could not be */
};

/* Not to be copied afterwards. */
void sp_pystops_init(struct sp_pystops *s, bool native, bool blocking);

/* Sentences about it into the recording's end, once all processes have gone. */
void sp_pystops_note(const struct sp_pystops *s, struct sp_pyrecord *r);

#endif
