/* HotSpot's attach protocol, spoken by the attach child with the target's uid.
 * The JVM listens on .java_pid<nspid> in its /tmp once it has been asked to: by a trigger file
 * .attach_pid<nspid> and SIGQUIT. A SIGQUIT without a trigger file makes it print a thread dump on
 * its stdout, and a JVM that has not yet installed its handler dies of it: so the signal goes out
 * only when the handler is there, the process runs, attaching is not switched off, and the file
 * exists. If the JVM does not answer in time the file stays, for the JVM to find later.
 */
#ifndef SP_LAUNCHER_ATTACH_ATTACH_H
#define SP_LAUNCHER_ATTACH_ATTACH_H

#include "attach_target.h"
#include "base/err.h"
#include "target_fs.h"

#include <stddef.h>
#include <stdint.h>

/* Connects to the JVM's attach listener, starting it if need be. Returns a socket, or -errno with a
 * sentence: -ETIMEDOUT, -ESRCH, -EPERM, -EINTR. */
int sp_attach_connect(const struct sp_target_fs *fs, struct sp_attach_target *t,
	uint64_t deadline_ns, struct sp_err *err);

/* Asks the JVM on @fd to load @path with @options and reads its answer.
 * Returns 0; -EAGAIN if the JVM is not that far yet; -ELIBACC if the library was not loaded; -EPERM
 * if loading is switched off; -EREMOTEIO if the agent refused; -ETIMEDOUT; with a sentence. */
__attribute__((warn_unused_result)) int sp_attach_load(int fd, struct sp_attach_target *t,
	const char *path, const char *options, uint64_t deadline_ns, struct sp_err *err);

/* Judges a whole answer of JDK 11 to 25. Pure; returns as sp_attach_load, -EPROTO for nonsense. */
int sp_attach_answer(const char *text, size_t len, struct sp_err *err);

/* One sentence on why @t has not answered in time, from its state. Returns -ETIMEDOUT. */
int sp_attach_late(struct sp_attach_target *t, const char *what, struct sp_err *err);

#endif
