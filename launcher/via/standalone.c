/* A standalone cluster: see standalone.h. */
#include "standalone.h"

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "fetch.h"
#include "via_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_text(struct sp_json_reader v, const char *text)
{
	SP_AUTO_FREE char *s = sp_json_reader_text(v);

	return s && strcmp(s, text) == 0;
}

/* http://host:port and nothing more. */
static bool is_ui(const char *s)
{
	SP_AUTO_FREE char *host = NULL;
	const char *at = strstr(s, "://"), *port;

	if (!at || (strncmp(s, "http:", 5) != 0 && strncmp(s, "https:", 6) != 0))
		return false;
	port = strrchr(at + 3, ':');
	host = port ? strndup(at + 3, (size_t)(port - at - 3)) : NULL;
	return host && sp_via_is_host(host) && !strpbrk(host, "@/%") && port[1] &&
	       !port[1 + strspn(port + 1, "0123456789")];
}

static bool take_worker(struct sp_json_reader v, struct sp_via_worker *ret)
{
	SP_AUTO_FREE char *host = sp_json_reader_text(sp_json_reader_get(v, "host"));
	SP_AUTO_FREE char *ui = sp_json_reader_text(sp_json_reader_get(v, "webuiaddress"));

	if (!is_text(sp_json_reader_get(v, "state"), "ALIVE") || !host || !sp_via_is_host(host) ||
		strpbrk(host, "@/") || strlen(host) >= sizeof(ret->host))
		return false;
	snprintf(ret->host, sizeof(ret->host), "%s", host);
	snprintf(ret->ui, sizeof(ret->ui), "%s",
		ui && strlen(ui) < sizeof(ret->ui) && is_ui(ui) ? ui : "");
	return true;
}

bool sp_via_standalone_worker(const char *json, size_t len, size_t *at, struct sp_via_worker *ret)
{
	struct sp_json_reader list =
		sp_json_reader_get(sp_json_reader_value(json, json + len), "workers");
	struct sp_json_reader v;

	while ((v = sp_json_reader_next(list, at)).p)
		if (take_worker(v, ret))
			return true;
	return false;
}

bool sp_via_standalone_runs(const char *json, size_t len, const char *app, size_t app_len)
{
	struct sp_json_reader list =
		sp_json_reader_get(sp_json_reader_value(json, json + len), "executors");
	struct sp_json_reader v;
	size_t at = 0;

	while ((v = sp_json_reader_next(list, &at)).p) {
		SP_AUTO_FREE char *id = sp_json_reader_text(sp_json_reader_get(v, "appid"));

		if (id && strncmp(id, app, app_len) == 0)
			return true;
	}
	return false;
}

/* The application of the first target word that names one of a standalone master's. */
static const char *application(const struct sp_call *call, size_t *ret_len)
{
	for (size_t i = 0; i < call->n_targets; i++) {
		*ret_len = strcspn(call->targets[i], "/");
		if (strncmp(call->targets[i], "app-", 4) == 0)
			return call->targets[i];
	}
	return NULL;
}

static int is_wanted(
	const struct sp_call *call, const struct sp_via_worker *w, const char *app, size_t app_len)
{
	SP_AUTO_BUF struct sp_buf url = {0}, answer = {0};
	struct sp_err ignored;
	int r;

	if (!app || !w->ui[0])
		return true;
	sp_buf_addf(&url, "%s/json/", w->ui);
	r = sp_via_fetch_or_there(call, sp_buf_str(&url), &answer, &ignored);
	return r < 0 ? r == -EINTR ? r : true
		     : sp_via_standalone_runs(answer.data, answer.len, app, app_len);
}

int sp_via_standalone_hosts(const struct sp_call *call, struct sp_buf *ret, struct sp_err *err)
{
	const char *master = call->master;
	SP_AUTO_BUF struct sp_buf url = {0}, answer = {0};
	struct sp_via_worker w;
	size_t app_len = 0, at = 0, alive = 0;
	const char *app = application(call, &app_len);
	int r;

	sp_buf_addf(&url, "%.*s/json/", (int)(strlen(master) - (master[strlen(master) - 1] == '/')),
		master);
	r = sp_via_fetch_or_there(call, sp_buf_str(&url), &answer, err);
	while (r >= 0 && sp_via_standalone_worker(answer.data, answer.len, &at, &w)) {
		alive++;
		r = is_wanted(call, &w, app, app_len);
		if (r > 0)
			sp_buf_addf(ret, "%s%s", ret->len ? "," : "", w.host);
	}
	if (r < 0)
		return r;
	if (!alive)
		return sp_err_set(err, -ESRCH, "%s: lists no worker that is alive", master);
	if (!ret->len)
		return sp_err_set(err, -ESRCH, "%s: no worker of it has an executor of %.*s",
			master, (int)app_len, app);
	return 0;
}
