/* libsparkprof.so from C: commands, and marks of the program's own in the recording. The library is
 * in a process with a JVM: loaded by -agentpath, by System.load, or by dlopen. */
#ifndef SPARKPROF_H
#define SPARKPROF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs @command, words as behind -agentpath: "start,event=wall,file=/tmp/x.jfr", "stop",
 * "dump,file=/tmp/x.html", "stop,collapsed", "status", "version" (man sparkprof, FROM CODE).
 * What it gives back, such as a report without file=, goes to @output, which may be NULL.
 * Returns 0, or -errno with a sentence in @error (of @size bytes; may be NULL).
 * Context: any thread of a JVM that has begun; waits until a thread of the library has done it. Not
 * where the JVM cannot go on meanwhile: in JVMTI's GarbageCollectionStart and Finish, or between
 * GetPrimitiveArrayCritical and its release. In a forked child: -ENOTSUP. */
int sparkprof_execute(const char *command,
	void (*output)(void *ctx, const char *text, size_t length), void *ctx, char *error,
	size_t size);

/* The recording's clock: CLOCK_MONOTONIC in nanoseconds. */
uint64_t sparkprof_now(void);

/* The calling thread was at work on @tag (at most 95 bytes) from @since, of sparkprof_now(), until
 * now: profiler.Span in the recording. @tag NULL is "". Takes no memory, and no lock but for the
 * first one of the process (the dynamic loader's); nothing where nothing records.
 * Context: any thread, not a signal handler. */
void sparkprof_span(uint64_t since, const char *tag);

#ifdef __cplusplus
}
#endif

#endif
