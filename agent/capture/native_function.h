/* Native functions and variables by name, in what is mapped: malloc, G1CollectedHeap::collect,
 * _ZN15G1CollectedHeap7collectEN7GCCause5CauseE. What is exported is found as the dynamic linker
 * finds it; the others by the symbol tables of the libraries' files.
 * Context: any agent thread; reads files. */
#ifndef SP_AGENT_CAPTURE_NATIVE_FUNCTION_H
#define SP_AGENT_CAPTURE_NATIVE_FUNCTION_H

#include "base/err.h"

#include <stdint.h>

struct sp_native_function {
	uint64_t address;
	char path[256];	 /* of the file that has it; "": not known, or too long */
	uint64_t offset; /* there */
};

/* Finds @name, of the library mapped from @path (NULL: any). Returns 0; or -ENOENT, or -EINVAL
 * where several have that name, with a sentence that begins with @event. */
__attribute__((warn_unused_result)) int sp_native_function_find(const char *event, const char *path,
	const char *name, struct sp_native_function *ret, struct sp_err *err);

/* Does a function of the loaded library @path begin at @offset in its file? A probe anywhere else
 * may be in the middle of an instruction. Returns 0; or -errno with a sentence that begins with
 * @event. */
int sp_native_function_begins(
	const char *event, const char *path, uint64_t offset, struct sp_err *err);

#endif
