/* The checks of what is about other hosts: see parser.h. */
#include "executor_list.h"
#include "parser.h"

#include "base/cleanup.h"

#include <errno.h>
#include <string.h>

/* Options that want --via, and what they are about. */
static const struct {
	const char *name;
	bool ssh, kubectl;
} of_via[] = {
	{"hosts", true, true},
	{"rm", true, false},
	{"master", true, false},
	{"user", true, false},
	{"ssh-option", true, false},
	{"sudo", true, false},
	{"namespace", false, true},
	{"context", false, true},
	{"container", false, true},
	{"executors", true, true},
	{"fraction", true, true},
	{"slowest", true, true},
	{"driver", true, true},
	{"parallel", true, true},
	{"follow", true, true},
	{"strict", true, true},
	{"dry-run", true, true},
};

static int check_given(struct sp_parser *p, size_t i)
{
	enum sp_via via = p->call->via;
	const char *name = of_via[i].name;

	if (!sp_parser_given(p, name))
		return 0;
	if (via <= SP_VIA_LOCAL)
		return sp_err_set(p->err, -EINVAL, "--%s: is about %s; write --via %s too", name,
			of_via[i].ssh ? "other hosts" : "pods", of_via[i].ssh ? "ssh" : "kubectl");
	if (via == SP_VIA_SSH ? of_via[i].ssh : of_via[i].kubectl)
		return 0;
	return sp_err_set(p->err, -EINVAL, "--%s: is not for --via %s; omit it", name,
		via == SP_VIA_SSH ? "ssh" : "kubectl");
}

/* A name that goes into an option of kubectl's: nobody means an empty one or an option. */
static int check_name(struct sp_parser *p, const char *option, const char *name)
{
	if (!name || *name != '-')
		return 0;
	return sp_err_set(p->err, -EINVAL, "--%s: '%s' is no name", option, name);
}

static bool is_address(const char *s)
{
	return strncmp(s, "http://", 7) == 0 || strncmp(s, "https://", 8) == 0;
}

/* Of actions that begin no recording the driver's UI says only where they are to go. */
static int check_addresses(struct sp_parser *p)
{
	const struct sp_call *call = p->call;
	bool records = call->action == SP_ACTION_COLLECT || call->action == SP_ACTION_START ||
		       call->action == SP_ACTION_RESUME;

	if (call->slowest && (!call->driver_ui || strcmp(call->driver_ui, "none") == 0))
		return sp_err_set(p->err, -EINVAL,
			"--slowest needs Spark's driver to know which executors are slow; add "
			"--driver-ui URL");
	if (call->driver_ui && !records && call->via != SP_VIA_SSH && !call->slowest)
		return sp_err_set(p->err, -EINVAL,
			"--driver-ui: is about other hosts with %s; write --via ssh too",
			sp_action_name(call->action));
	if (call->rm && !is_address(call->rm))
		return sp_err_set(p->err, -EINVAL,
			"--rm: '%s' is not an address; write http://host:8088", call->rm);
	if (call->master && !is_address(call->master))
		return sp_err_set(p->err, -EINVAL,
			"--master: '%s' is not an address of its UI; write http://host:8080",
			call->master);
	return 0;
}

/* Whoever draws lots draws them once, among those that are there. */
static int check_follow(struct sp_parser *p)
{
	const struct sp_call *call = p->call;

	if (!call->follow)
		return 0;
	if (call->slowest || call->fraction > 0)
		return sp_err_set(p->err, -EINVAL,
			"--follow: whether one that comes later is among those of --%s is not "
			"known; omit one of the two",
			call->slowest ? "slowest" : "fraction");
	return 0;
}

/* The file would lie on the other host, where nobody looks for it. */
static int check_start(struct sp_parser *p)
{
	const struct sp_call *call = p->call;

	if (call->action != SP_ACTION_START)
		return 0;
	if (call->n_outputs)
		return sp_err_set(p->err, -EINVAL,
			"-f %s: with --via the recording stays in the JVM there; omit it and "
			"name the file at stop or dump",
			call->outputs[0].path);
	return call->loop ? sp_err_set(p->err, -EINVAL,
				    "--loop: its files would lie on the other hosts; omit it")
			  : 0;
}

int sp_options_check_via(struct sp_parser *p)
{
	const struct sp_call *call = p->call;
	int r = 0;

	for (size_t i = 0; r == 0 && i < SP_COUNT(of_via); i++)
		r = check_given(p, i);
	if (r == 0)
		r = check_addresses(p);
	if (r == 0)
		r = check_follow(p);
	if (r < 0 || call->via <= SP_VIA_LOCAL)
		return r;
	if (call->executors && !sp_executor_list_is(call->executors))
		return sp_err_set(p->err, -EINVAL,
			"--executors: '%s' is not a list of executors; write 1,4-9",
			call->executors);
	r = check_name(p, "namespace", call->kube_namespace);
	if (r == 0)
		r = check_name(p, "context", call->kube_context);
	if (r == 0)
		r = check_name(p, "container", call->container);
	return r < 0 ? r : check_start(p);
}
