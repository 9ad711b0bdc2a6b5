/* The hosts of a standalone cluster, from its master's and its workers' /json. */
#ifndef SP_LAUNCHER_VIA_STANDALONE_H
#define SP_LAUNCHER_VIA_STANDALONE_H

#include "base/buf.h"
#include "base/err.h"
#include "cli/options.h"

/* Appends the names of the hosts with commas between, as in --hosts: of the workers that the master
 * of --master lists as alive. Where @call's target words name an application, only of those that
 * run an executor of it: the master does not know, each worker is asked; one that does not answer
 * is taken in. Returns 0; -EIO where the master does not answer, -ESRCH where there is no host;
 * -errno; with a sentence. */
int sp_via_standalone_hosts(const struct sp_call *call, struct sp_buf *ret, struct sp_err *err);

/* A worker of an answer of the master; both checked: they are no options, no commands, no paths. */
struct sp_via_worker {
	char host[256];
	char ui[300]; /* http://host:port; "": none that is one */
};

/* The next worker that is alive in the master's answer; *at is 0 at first. False at the end. */
bool sp_via_standalone_worker(const char *json, size_t len, size_t *at, struct sp_via_worker *ret);

/* Does the answer of a worker have an executor of an application whose id begins with @app, of so
 * many characters? */
bool sp_via_standalone_runs(const char *json, size_t len, const char *app, size_t app_len);

#endif
