/* Spark's pods: see pods.h. */
#include "pods.h"

#include "base/cleanup.h"
#include "base/grow.h"
#include "choose.h"
#include "cli/message.h"
#include "cli/safe_print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Label values and names hold no blanks; one line for each pod. */
#define COLUMNS                                                                                \
	"jsonpath={range .items[*]}{.metadata.name}{\"\\t\"}{.status.phase}{\"\\t\"}"          \
	"{.metadata.deletionTimestamp}{\"\\t\"}{.metadata.labels.spark-app-selector}{\"\\t\"}" \
	"{.metadata.labels.spark-role}{\"\\t\"}{.metadata.labels.spark-exec-id}{\"\\t\"}"      \
	"{.spec.containers[*].name}{\"\\n\"}{end}"

enum { NAME, PHASE, DELETED, APP, ROLE, ID, CONTAINERS, FIELDS };

struct pods {
	struct sp_via_place *list;     /* owned */
	struct sp_via_member *members; /* owned: the same ones */
	size_t n, cap, members_cap;
	struct sp_buf apps; /* "spark-1, spark-2" */
	size_t waiting;	    /* pods that are meant and do not run yet */
	char waiting_name[256];
};

static enum sp_jvm_role read_role(const char *word)
{
	if (strcmp(word, "executor") == 0)
		return SP_ROLE_EXECUTOR;
	return strcmp(word, "driver") == 0 ? SP_ROLE_DRIVER : SP_ROLE_OTHER;
}

/* Spark's own container, where the pod has one of its name. */
static const char *choose_container(char *containers)
{
	char *save = NULL;

	for (char *w = strtok_r(containers, " ", &save); w; w = strtok_r(NULL, " ", &save))
		if (strcmp(w, "spark-kubernetes-executor") == 0 ||
			strcmp(w, "spark-kubernetes-driver") == 0)
			return w;
	return NULL;
}

static bool is_meant(const struct sp_call *call, const struct sp_via_member *m)
{
	bool meant = call->n_targets == 0;

	for (size_t i = 0; i < call->n_targets; i++)
		meant |= sp_via_word_means(call->targets[i], m);
	return meant;
}

/* For the sentence that says what there is instead. */
static void remember_app(struct pods *p, const char *app)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->list[i].app, app) == 0)
			return;
	if (p->n && p->apps.len < 200)
		sp_buf_adds(&p->apps, ", ");
	if (p->apps.len < 200)
		sp_safe_print_text(&p->apps, app, 63);
}

static int add(struct pods *p, const struct sp_call *call, char *const field[FIELDS])
{
	struct sp_via_member m = {field[APP], field[ID], read_role(field[ROLE]), false};
	struct sp_via_place place = {
		field[NAME], choose_container(field[CONTAINERS]), m.app, m.id, m.role};

	if (m.role == SP_ROLE_OTHER || !sp_via_is_pod(field[NAME]) || field[DELETED][0])
		return 0;
	m.meant = is_meant(call, &m);
	if (strcmp(field[PHASE], "Running") != 0) {
		if (m.meant && strcmp(field[PHASE], "Pending") == 0 && !p->waiting++)
			snprintf(p->waiting_name, sizeof(p->waiting_name), "%s", field[NAME]);
		return 0;
	}
	remember_app(p, m.app);
	if (sp_grow(&p->list, &p->cap, p->n, sizeof(*p->list), 64) < 0 ||
		sp_grow(&p->members, &p->members_cap, p->n, sizeof(*p->members), 64) < 0)
		return -ENOMEM;
	p->list[p->n] = place;
	p->members[p->n++] = m;
	return 0;
}

static int read_lines(struct pods *p, const struct sp_call *call, char *text)
{
	int r = 0;

	for (char *line = text, *next; r == 0 && *line; line = next) {
		char *field[FIELDS], *end = line + strcspn(line, "\n");
		size_t n = 0;

		next = *end ? end + 1 : end;
		*end = '\0';
		for (char *at = line; n < FIELDS; at += strlen(at) + 1) {
			char *tab = strchr(at, '\t');

			field[n++] = at;
			if (!tab)
				break;
			*tab = '\0';
		}
		if (n == FIELDS)
			r = add(p, call, field);
	}
	return r;
}

/* Moves those that are meant to the front. */
static size_t keep_meant(struct pods *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->n; i++)
		if (p->members[i].meant)
			p->list[kept++] = p->list[i];
	return kept;
}

/* "in namespace x" for sentences. */
static void name_namespace(const struct sp_call *call, struct sp_buf *b)
{
	if (call->kube_namespace)
		sp_buf_addf(b, "in namespace %s", call->kube_namespace);
	else
		sp_buf_adds(b, "in kubectl's namespace");
}

static int say_none(const struct pods *p, const struct sp_call *call, struct sp_err *err)
{
	SP_AUTO_BUF struct sp_buf where = {0};
	struct sp_buf apps = p->apps;

	name_namespace(call, &where);
	if (p->waiting)
		return sp_err_set(err, -ESRCH,
			"%s does not run yet; 'kubectl describe pod' says what it waits for",
			p->waiting_name);
	if (p->n == 0)
		return sp_err_set(err, -ESRCH,
			"no pod of Spark's (label spark-role) runs %s; --namespace and --context "
			"choose others, --hosts names pods",
			sp_buf_str(&where));
	return sp_err_set(err, -ESRCH,
		"no Spark pod %s matches '%.60s' and the other words; there are executors or "
		"drivers of %s; 'sparkprof ps' with the same --via lists them",
		sp_buf_str(&where), call->n_targets ? call->targets[0] : "", sp_buf_str(&apps));
}

static int ask(const struct sp_call *call, struct sp_buf *ret, struct sp_err *err)
{
	SP_AUTO_WORDS struct sp_via_words words = {0};
	SP_AUTO_BUF struct sp_buf advice = {0};
	bool alone;
	int r;

	sp_via_kubectl_words(call, &words);
	sp_via_words_add(&words, "get");
	sp_via_words_add(&words, "pods");
	sp_via_words_add(&words, "--request-timeout=30s");
	sp_via_words_add(&words, "--selector=spark-role,spark-exec-inactive!=true");
	sp_via_words_add(&words, "-o");
	sp_via_words_add(&words, COLUMNS);
	if (words.failed)
		return sp_err_set(err, -ENOMEM, "out of memory");
	r = sp_via_child_ask(words.list, ret, err);
	sp_buf_addc(ret, '\0');
	if (r == 0 && ret->failed)
		return sp_err_set(err, -ENOMEM, "out of memory");
	if (r == -EIO && sp_via_kubectl_advice(call, NULL, err->text, &advice, &alone)) {
		struct sp_err said = *err;

		return sp_err_set(
			err, r, "kubectl get pods: %.400s; %s", said.text, sp_buf_str(&advice));
	}
	return r == -EIO ? sp_err_prefix(err, r, "kubectl get pods") : r;
}

int sp_via_pods_find(const struct sp_call *call, char **ret_text, struct sp_via_place **ret_list,
	size_t *ret_n, struct sp_err *err)
{
	struct sp_buf text = {0};
	struct pods p = {0};
	int r = ask(call, &text, err);

	if (r == 0 && read_lines(&p, call, text.data) < 0)
		r = sp_err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; r == 0 && i < call->n_targets; i++)
		r = sp_via_check_word(call->targets[i], p.members, p.n, err);
	if (r == 0)
		r = sp_via_choose(call, p.members, p.n, err);
	if (r == 0) {
		*ret_n = keep_meant(&p);
		if (*ret_n == 0)
			r = say_none(&p, call, err);
		else if (p.waiting && !call->follow)
			sp_message_warn("%s%s: not yet running, left out", p.waiting_name,
				p.waiting > 1 ? " and others" : "");
	}
	free(p.members);
	sp_buf_done(&p.apps);
	*ret_list = r == 0 ? p.list : NULL;
	*ret_text = r == 0 ? text.data : NULL;
	if (r < 0) {
		free(p.list);
		sp_buf_done(&text);
	}
	return r;
}
