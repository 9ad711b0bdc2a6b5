/* Sentences about how Python processes were read, written into their recording at its end. */
#ifndef SP_LAUNCHER_PYTHON_SAMPLER_NOTES_H
#define SP_LAUNCHER_PYTHON_SAMPLER_NOTES_H

#include "py_worker.h"

/* @stops: of all processes. @opened: how many were read by what the agent opened. */
void sp_pysampling_note(
	const struct sp_pysampling *s, const struct sp_pyptraces *stops, unsigned opened);

#endif
