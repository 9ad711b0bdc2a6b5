/* The hosts of an application, from those who know them: Spark's driver, YARN's ResourceManager. */
#ifndef SP_LAUNCHER_VIA_CLUSTER_H
#define SP_LAUNCHER_VIA_CLUSTER_H

#include "base/buf.h"
#include "base/err.h"
#include "cli/options.h"

/* Appends the names of the hosts with commas between, as in --hosts: of the executors and the
 * driver that the driver's REST of --driver-ui lists; else those that the standalone master of
 * --master names (standalone.h); else of the containers of the application
 * that
 * @call's target words name, or of all nodes where they name none, from the ResourceManager of --rm
 * or of the Hadoop configuration. All is asked by the user's own curl.
 * Returns 0; -EINVAL where nobody can be asked; -EIO where asking fails, -ESRCH where there is no
 * host; -errno; with a sentence. */
int sp_via_cluster_hosts(const struct sp_call *call, struct sp_buf *ret, struct sp_err *err);

/* What the REST of the driver at --driver-ui says of its executors, and of which application.
 * @ret_app is owned by the caller. Returns 0 or -errno with a sentence. */
int sp_via_cluster_ask_driver(
	const struct sp_call *call, char **ret_app, struct sp_buf *ret, struct sp_err *err);

/* Appends the addresses of the ResourceManagers that the text of a yarn-site.xml names, one a line:
 * http://host:port. */
void sp_via_cluster_managers(const char *xml, struct sp_buf *ret);

/* Appends the hosts of an answer: of the executors of Spark's REST, of the containers or nodes of
 * YARN's. Names that cannot be one are left out. Returns how many answers' entries had one. */
size_t sp_via_cluster_read_executors(const char *json, size_t len, struct sp_buf *ret);
size_t sp_via_cluster_read_containers(const char *json, size_t len, struct sp_buf *ret);
size_t sp_via_cluster_read_nodes(const char *json, size_t len, struct sp_buf *ret);

#endif
