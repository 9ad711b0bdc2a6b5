/* The hosts of an application: see cluster.h. What the others answer is data: a name is checked
 * before it is used as a host, an id before it is put into an address. */
#include "cluster.h"

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "fetch.h"
#include "standalone.h"
#include "via_place.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SITE_MAX = 4 << 20 };

static const char try_hosts[] = "name the hosts by --hosts n1,n2";

/* Characters of an address that need no quotes. */
static bool is_id(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	return n > 0 && !s[n];
}

/* Appends the host of host:port, where it is one: no user, no path. */
static bool add_host(struct sp_buf *ret, struct sp_json_reader value)
{
	SP_AUTO_FREE char *text = sp_json_reader_text(value);
	char *colon = text ? strrchr(text, ':') : NULL;

	if (colon && colon[1 + strspn(colon + 1, "0123456789")] == '\0')
		*colon = '\0';
	if (!text || !sp_via_is_host(text) || strpbrk(text, "@/"))
		return false;
	sp_buf_addf(ret, "%s%s", ret->len ? "," : "", text);
	return true;
}

static bool is_running(struct sp_json_reader entry)
{
	SP_AUTO_FREE char *state = sp_json_reader_text(sp_json_reader_get(entry, "containerState"));

	return !state || strcmp(state, "RUNNING") == 0;
}

/* The hosts that @key of each entry of @list names. Some versions of Hadoop write a list of one
 * entry as that entry. */
static size_t add_hosts(struct sp_json_reader list, const char *key, struct sp_buf *ret)
{
	struct sp_json_reader v;
	size_t at = 0, n = 0;

	if (list.p && *list.p == '{')
		return is_running(list) && add_host(ret, sp_json_reader_get(list, key));
	while ((v = sp_json_reader_next(list, &at)).p)
		n += is_running(v) && add_host(ret, sp_json_reader_get(v, key));
	return n;
}

/* {"outer": {"inner": [ … ]}}, or {"inner": [ … ]} as Hadoop 3.5 has it for containers. */
static struct sp_json_reader list_in(
	const char *json, size_t len, const char *outer, const char *inner)
{
	struct sp_json_reader all = sp_json_reader_value(json, json + len);
	struct sp_json_reader in = sp_json_reader_get(all, outer);

	return sp_json_reader_get(in.p ? in : all, inner);
}

size_t sp_via_cluster_read_executors(const char *json, size_t len, struct sp_buf *ret)
{
	return add_hosts(sp_json_reader_value(json, json + len), "hostPort", ret);
}

size_t sp_via_cluster_read_containers(const char *json, size_t len, struct sp_buf *ret)
{
	return add_hosts(list_in(json, len, "containers", "container"), "assignedNodeId", ret);
}

size_t sp_via_cluster_read_nodes(const char *json, size_t len, struct sp_buf *ret)
{
	return add_hosts(list_in(json, len, "nodes", "node"), "nodeHostName", ret);
}

/* The value of a property, in place; NULL: none. */
static char *find_property(const char *xml, const char *name)
{
	SP_AUTO_FREE char *tag = NULL;
	const char *at, *value, *end;

	if (asprintf(&tag, "<name>%s</name>", name) < 0) {
		tag = NULL;
		return NULL;
	}
	at = strstr(xml, tag);
	value = at ? strstr(at, "<value>") : NULL;
	end = at ? strstr(at, "</property>") : NULL;
	if (!value || !end || value > end)
		return NULL;
	value += strlen("<value>");
	value += strspn(value, " \t\r\n");
	return strndup(value, strcspn(value, "< \t\r\n"));
}

/* The address of the ResourceManager whose properties end with @suffix. */
static void add_manager(const char *xml, const char *suffix, bool https, struct sp_buf *ret)
{
	SP_AUTO_FREE char *own = NULL, *host = NULL;
	char name[256];

	snprintf(name, sizeof(name), "yarn.resourcemanager.webapp.%saddress%.100s",
		https ? "https." : "", suffix);
	own = find_property(xml, name);
	snprintf(name, sizeof(name), "yarn.resourcemanager.hostname%.100s", suffix);
	host = find_property(xml, name);
	if (own && sp_via_is_host(own))
		sp_buf_addf(ret, "%s://%s\n", https ? "https" : "http", own);
	else if (host && sp_via_is_host(host))
		sp_buf_addf(
			ret, "%s://%s:%d\n", https ? "https" : "http", host, https ? 8090 : 8088);
}

void sp_via_cluster_managers(const char *xml, struct sp_buf *ret)
{
	SP_AUTO_FREE char *ids = find_property(xml, "yarn.resourcemanager.ha.rm-ids");
	SP_AUTO_FREE char *policy = find_property(xml, "yarn.http.policy");
	bool https = policy && strcmp(policy, "HTTPS_ONLY") == 0;
	char *save = NULL;

	for (char *w = ids ? strtok_r(ids, ",", &save) : NULL; w; w = strtok_r(NULL, ",", &save)) {
		char suffix[100];

		snprintf(suffix, sizeof(suffix), ".%s", w);
		add_manager(xml, suffix, https, ret);
	}
	if (!ret->len)
		add_manager(xml, "", https, ret);
}

/* The addresses of ResourceManagers, one a line; none: empty. */
static void find_managers(const struct sp_call *call, struct sp_buf *ret)
{
	const char *dir =
		getenv("YARN_CONF_DIR") ? getenv("YARN_CONF_DIR") : getenv("HADOOP_CONF_DIR");
	SP_AUTO_BUF struct sp_buf xml = {0};
	SP_AUTO_FREE char *path = NULL;
	SP_AUTO_CLOSE int fd = -1;

	if (call->rm)
		sp_buf_addf(ret, "%.*s\n",
			(int)(strlen(call->rm) - (call->rm[strlen(call->rm) - 1] == '/')),
			call->rm);
	if (call->rm || !dir || asprintf(&path, "%s/yarn-site.xml", dir) < 0)
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0 && sp_buf_read_fd(&xml, fd, SITE_MAX) == 0)
		sp_via_cluster_managers(sp_buf_str(&xml), ret);
}

/* The application of the first target word that names one of YARN's; NULL: none. Owned. */
static char *yarn_application(const struct sp_call *call)
{
	for (size_t i = 0; i < call->n_targets; i++) {
		char *id = strndup(call->targets[i], strcspn(call->targets[i], "/"));

		if (id && strncmp(id, "application_", 12) == 0 && is_id(id))
			return id;
		free(id);
	}
	return NULL;
}

/* The last attempt of an application. Owned; NULL: none. */
static char *last_attempt(const char *json, size_t len)
{
	struct sp_json_reader list = list_in(json, len, "appAttempts", "appAttempt"), v;
	char *best = NULL;
	int64_t number = -1;
	size_t at = 0;

	while ((v = sp_json_reader_next(list, &at)).p) {
		int64_t n = sp_json_reader_int(sp_json_reader_get(v, "id"), -1);
		char *id = n > number ? sp_json_reader_text(sp_json_reader_get(v, "appAttemptId"))
				      : NULL;

		if (!id)
			continue;
		free(best);
		best = id;
		number = n;
	}
	if (best && !is_id(best)) {
		free(best);
		best = NULL;
	}
	return best;
}

static int ask_containers(const char *rm, const char *app, struct sp_buf *ret, struct sp_err *err)
{
	SP_AUTO_BUF struct sp_buf answer = {0}, url = {0};
	SP_AUTO_FREE char *attempt = NULL;
	int r;

	sp_buf_addf(&url, "%s/ws/v1/cluster/apps/%s/appattempts", rm, app);
	r = sp_via_fetch(sp_buf_str(&url), &answer, err);
	if (r < 0)
		return r;
	attempt = last_attempt(answer.data, answer.len);
	if (!attempt)
		return sp_err_set(err, -ESRCH, "%s: has no attempt at %s", app, rm);
	sp_buf_addf(&url, "/%s/containers", attempt);
	r = sp_via_fetch(sp_buf_str(&url), &answer, err);
	if (r == 0 && sp_via_cluster_read_containers(answer.data, answer.len, ret) == 0)
		r = sp_err_set(err, -ESRCH, "%s: no container of it runs, says %s", app, rm);
	return r;
}

static int ask_nodes(const char *rm, struct sp_buf *ret, struct sp_err *err)
{
	SP_AUTO_BUF struct sp_buf answer = {0}, url = {0};
	int r;

	sp_buf_addf(&url, "%s/ws/v1/cluster/nodes?states=RUNNING", rm);
	r = sp_via_fetch(sp_buf_str(&url), &answer, err);
	if (r == 0 && sp_via_cluster_read_nodes(answer.data, answer.len, ret) == 0)
		r = sp_err_set(err, -ESRCH, "%s: lists no node that runs", rm);
	return r;
}

/* Of several ResourceManagers one is active; the others may be gone. */
static int ask_yarn(
	const struct sp_call *call, char *managers, struct sp_buf *ret, struct sp_err *err)
{
	SP_AUTO_FREE char *app = yarn_application(call);
	char *save = NULL;
	int r = -ESRCH;

	for (char *rm = strtok_r(managers, "\n", &save); rm; rm = strtok_r(NULL, "\n", &save)) {
		r = app ? ask_containers(rm, app, ret, err) : ask_nodes(rm, ret, err);
		if (r == 0 || r == -EINTR)
			return r;
	}
	return r;
}

int sp_via_cluster_ask_driver(
	const struct sp_call *call, char **ret_app, struct sp_buf *ret, struct sp_err *err)
{
	const char *ui = call->driver_ui;
	SP_AUTO_BUF struct sp_buf url = {0};
	SP_AUTO_FREE char *app = NULL;
	size_t at = 0;
	int r;

	sp_buf_addf(&url, "%.*s/api/v1/applications",
		(int)(strlen(ui) - (ui[strlen(ui) - 1] == '/')), ui);
	r = sp_via_fetch_or_there(call, sp_buf_str(&url), ret, err);
	if (r < 0)
		return r;
	app = sp_json_reader_text(sp_json_reader_get(
		sp_json_reader_next(sp_json_reader_value(ret->data, ret->data + ret->len), &at),
		"id"));
	if (!app || !is_id(app))
		return sp_err_set(err, -EIO, "%s: is not the UI of a Spark driver", ui);
	sp_buf_addf(&url, "/%s/executors", app);
	r = sp_via_fetch_or_there(call, sp_buf_str(&url), ret, err);
	if (r == 0) {
		*ret_app = app;
		app = NULL;
	}
	return r;
}

static int ask_driver(const struct sp_call *call, struct sp_buf *ret, struct sp_err *err)
{
	SP_AUTO_BUF struct sp_buf answer = {0};
	SP_AUTO_FREE char *app = NULL;
	int r = sp_via_cluster_ask_driver(call, &app, &answer, err);

	if (r == 0 && sp_via_cluster_read_executors(answer.data, answer.len, ret) == 0)
		r = sp_err_set(err, -ESRCH, "%s: lists no executor", call->driver_ui);
	return r;
}

int sp_via_cluster_hosts(const struct sp_call *call, struct sp_buf *ret, struct sp_err *err)
{
	bool driver = call->driver_ui && strcmp(call->driver_ui, "none") != 0;
	SP_AUTO_BUF struct sp_buf managers = {0};
	struct sp_err said;
	int r;

	if (!driver && !call->master)
		find_managers(call, &managers);
	if (!driver && !call->master && !managers.len)
		return sp_err_set(err, -EINVAL,
			"--via: no hosts; write --hosts n1,n2 or @FILE, --driver-ui URL of Spark's "
			"driver, --rm URL of YARN's ResourceManager, or --master URL of a "
			"standalone master's UI");
	sp_buf_addc(&managers, '\0');
	r = driver	   ? ask_driver(call, ret, &said)
	    : call->master ? sp_via_standalone_hosts(call, ret, &said)
			   : ask_yarn(call, managers.data, ret, &said);
	if (r == -EIO || r == -ESRCH)
		return sp_err_set(err, r, "%s; %s", said.text, try_hosts);
	if (r < 0)
		*err = said;
	return r;
}
