/* Which JVMs a call is about: see targets.h. */
#include "targets.h"

#include "base/cleanup.h"
#include "base/grow.h"
#include "choose.h"
#include "cli/message.h"
#include "discover/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TARGETS_MAX = 65535 };

static int add(struct sp_via_targets *t, struct sp_via_host *h, const struct sp_jvm *jvm,
	struct sp_err *err)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->list[i].host == h && t->list[i].jvm == jvm)
			return 0;
	if (t->n == TARGETS_MAX || sp_grow(&t->list, &t->cap, t->n, sizeof(*t->list), 64) < 0)
		return sp_err_set(err, -ENOMEM, "out of memory");
	t->list[t->n++] = (struct sp_via_target){h, jvm};
	return 0;
}

static struct sp_via_member member_of(const struct sp_jvm *j)
{
	return (struct sp_via_member){j->app_id, j->executor_id, j->role, true};
}

/* All of an application on one host, where @word names one or begins its name. */
static int add_members(
	struct sp_via_targets *t, struct sp_via_host *h, const char *word, struct sp_err *err)
{
	int r = 0;

	for (size_t k = 0; r == 0 && k < h->n; k++) {
		struct sp_via_member m = member_of(&h->jvms[k]);

		if (sp_via_word_means(word, &m))
			r = add(t, h, &h->jvms[k], err);
	}
	return r;
}

/* The JVMs of one host that @word means: words for one process mean all of them here. */
static int match_on(
	struct sp_via_targets *t, struct sp_via_host *h, const char *word, struct sp_err *err)
{
	SP_AUTO_TARGETS struct sp_targets found = {0};
	size_t before = t->n;
	int r = add_members(t, h, word, err);

	if (r < 0 || t->n > before)
		return r;
	r = sp_target_match(h->jvms, h->n, word, &found, err);
	if (r == -EINVAL)
		return sp_err_prefix(err, r, "%s", h->name);
	for (size_t i = 0; r == 0 && i < found.n; i++)
		for (size_t k = 0; r == 0 && k < h->n; k++)
			if (h->jvms[k].pid == found.list[i].pid)
				r = add(t, h, &h->jvms[k], err);
	return r == -ESRCH ? 0 : r;
}

static bool is_pid(const char *word)
{
	return *word && word[strspn(word, "0123456789")] == '\0';
}

static int find_word(
	struct sp_via_targets *t, struct sp_via_hosts *hs, const char *word, struct sp_err *err)
{
	size_t before = t->n;
	int r = 0;

	if (is_pid(word))
		return sp_err_set(err, -EINVAL,
			"%s: a pid is of one host; with --via write executor:ID, executors, driver "
			"or an application's id",
			word);
	for (size_t i = 0; r == 0 && i < hs->n; i++)
		if (hs->list[i].state == SP_VIA_READY)
			r = match_on(t, &hs->list[i], word, err);
	if (r == 0 && t->n == before)
		return sp_err_set(err, -ESRCH,
			"no JVM on the hosts that answered is '%.100s'; 'sparkprof ps' with the "
			"same --via lists them",
			word);
	return r;
}

/* --driver=on may want drivers that no word means. */
static int add_drivers(struct sp_via_targets *t, struct sp_via_hosts *hs, struct sp_err *err)
{
	int r = 0;

	for (size_t i = 0; i < hs->n; i++)
		for (size_t k = 0; r == 0 && hs->list[i].state == SP_VIA_READY && k < hs->list[i].n;
			k++)
			if (hs->list[i].jvms[k].role == SP_ROLE_DRIVER)
				r = add(t, &hs->list[i], &hs->list[i].jvms[k], err);
	return r;
}

/* Leaves what --executors and the like choose. */
static int choose(struct sp_via_targets *t, struct sp_via_hosts *hs, const struct sp_call *call,
	struct sp_err *err)
{
	SP_AUTO_FREE struct sp_via_member *members = NULL;
	size_t meant = t->n, kept = 0;
	int r = call->with_driver == SP_WITH_DRIVER_ON ? add_drivers(t, hs, err) : 0;

	if (r < 0)
		return r;
	members = calloc(t->n + 1, sizeof(*members));
	if (!members)
		return sp_err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < t->n; i++) {
		members[i] = member_of(t->list[i].jvm);
		members[i].meant = i < meant;
	}
	for (size_t i = 0; r == 0 && i < call->n_targets; i++)
		r = sp_via_check_word(call->targets[i], members, meant, err);
	if (r == 0)
		r = sp_via_choose(call, members, t->n, err);
	for (size_t i = 0; r == 0 && i < t->n; i++)
		if (members[i].meant)
			t->list[kept++] = t->list[i];
	t->n = kept;
	if (r == 0 && kept == 0)
		return sp_err_set(err, -ESRCH,
			"after --executors or --driver no target is left; 'sparkprof ps' with the "
			"same --via lists them");
	return r;
}

/* Pods that were chosen by their labels: what runs there in the role that they name. */
static int find_in_pods(struct sp_via_targets *t, struct sp_via_hosts *hs, struct sp_err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < hs->n; i++) {
		struct sp_via_host *h = &hs->list[i];
		size_t before = t->n;

		for (size_t k = 0; r == 0 && h->state == SP_VIA_READY && k < h->n; k++)
			if (h->jvms[k].role == h->place->role)
				r = add(t, h, &h->jvms[k], err);
		if (r == 0 && h->state == SP_VIA_READY && t->n == before)
			sp_message_error("%s: no JVM of Spark's %s can be seen there; --container "
					 "names another container",
				h->name, sp_jvm_role_name(h->place->role));
	}
	if (r == 0 && t->n == 0)
		return sp_err_set(err, -ESRCH, "none of the pods has a JVM of Spark's");
	return r;
}

int sp_via_targets_find(struct sp_via_targets *ret, struct sp_via_hosts *hs,
	const struct sp_call *call, struct sp_err *err)
{
	int r = 0;

	*ret = (struct sp_via_targets){0};
	for (size_t i = 0; call->n_targets == 0 && r == 0 && i < hs->n; i++)
		if (hs->list[i].state == SP_VIA_READY)
			r = add(ret, &hs->list[i], NULL, err);
	if (call->n_targets == 0)
		return r;
	if (hs->labelled)
		return find_in_pods(ret, hs, err);
	for (size_t i = 0; r == 0 && i < call->n_targets; i++)
		r = find_word(ret, hs, call->targets[i], err);
	return r < 0 ? r : choose(ret, hs, call, err);
}
