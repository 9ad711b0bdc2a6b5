/* The hosts of a call: see hosts.h. */
#include "hosts.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "cli/interrupt.h"
#include "child.h"
#include "cluster.h"
#include "pods.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOSTS_MAX = 4096, FILE_MAX = 1 << 20 };

#define AGAIN_NS      5000000000ull
#define AGAIN_MOST_NS 60000000000ull

#define END_NS 10000000000ull /* for all copies together to end their runs */

static int read_text(struct sp_via_hosts *hs, const char *text, struct sp_err *err)
{
	SP_AUTO_CLOSE int fd = -1;
	struct sp_buf all;
	int r;

	if (text[0] != '@') {
		hs->text = strdup(text);
		return hs->text ? 0 : sp_err_set(err, -ENOMEM, "out of memory");
	}
	fd = open(text + 1, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	sp_buf_init(&all);
	r = fd < 0 ? -errno : sp_buf_read_fd(&all, fd, FILE_MAX);
	if (r == 0)
		sp_buf_str(&all);
	if (r < 0 || all.failed) {
		sp_buf_done(&all);
		return sp_err_set(err, r < 0 ? r : -ENOMEM, "--hosts: %s: %s", text + 1,
			strerror(r < 0 ? -r : ENOMEM));
	}
	hs->text = all.data;
	return 0;
}

static bool is_known(const struct sp_via_hosts *hs, const char *name)
{
	for (size_t i = 0; i < hs->n; i++)
		if (strcmp(hs->places[i].name, name) == 0)
			return true;
	return false;
}

/* Blanks out comments of a file. */
static void drop_comments(char *text)
{
	for (char *at = strchr(text, '#'); at; at = strchr(at, '#'))
		for (; *at && *at != '\n'; at++)
			*at = ' ';
}

static int split(struct sp_via_hosts *hs, bool pods, struct sp_err *err)
{
	char *save = NULL;

	for (char *w = strtok_r(hs->text, ", \t\r\n", &save); w;
		w = strtok_r(NULL, ", \t\r\n", &save)) {
		if (!(pods ? sp_via_is_pod(w) : sp_via_is_host(w)))
			return sp_err_set(err, -EINVAL, "--hosts: '%.60s' is no name of a %s", w,
				pods ? "pod" : "host");
		if (is_known(hs, w))
			continue;
		if (hs->n == HOSTS_MAX)
			return sp_err_set(err, -EINVAL, "--hosts: at most %d hosts", HOSTS_MAX);
		hs->places[hs->n++] = (struct sp_via_place){.name = w, .app = "", .id = ""};
	}
	return hs->n ? 0 : sp_err_set(err, -EINVAL, "--hosts: names no host; write n1,n2 or @FILE");
}

/* What the cluster says, in the form of --hosts. */
static int ask_cluster(struct sp_via_hosts *hs, const struct sp_call *call, struct sp_err *err)
{
	struct sp_buf names = {0};
	int r = sp_via_cluster_hosts(call, &names, err);

	sp_buf_addc(&names, '\0');
	if (r == 0 && names.failed)
		r = sp_err_set(err, -ENOMEM, "out of memory");
	if (r < 0)
		sp_buf_done(&names);
	else
		hs->text = names.data;
	return r;
}

static int read_names(struct sp_via_hosts *hs, const struct sp_call *call, struct sp_err *err)
{
	int r = call->hosts ? read_text(hs, call->hosts, err) : ask_cluster(hs, call, err);

	if (r < 0)
		return r;
	if (call->hosts && call->hosts[0] == '@')
		drop_comments(hs->text);
	hs->places = calloc(HOSTS_MAX, sizeof(*hs->places));
	if (!hs->places)
		return sp_err_set(err, -ENOMEM, "out of memory");
	return split(hs, call->via == SP_VIA_KUBECTL, err);
}

int sp_via_hosts_find(struct sp_via_hosts *ret, const struct sp_call *call, struct sp_err *err)
{
	struct sp_via_hosts hs = {.labelled = call->via == SP_VIA_KUBECTL && !call->hosts};
	int r = hs.labelled ? sp_via_pods_find(call, &hs.text, &hs.places, &hs.n, err)
			    : read_names(&hs, call, err);

	hs.cap = call->follow && hs.n < HOSTS_MAX ? HOSTS_MAX : hs.n;
	hs.list = r == 0 ? calloc(hs.cap, sizeof(*hs.list)) : NULL;
	hs.polls = r == 0 ? calloc(3 * hs.cap, sizeof(*hs.polls)) : NULL;
	if (r == 0 && (!hs.list || !hs.polls))
		r = sp_err_set(err, -ENOMEM, "out of memory");
	if (r < 0)
		sp_via_hosts_done(&hs);
	else
		*ret = hs;
	return r;
}

static bool is_listed(const struct sp_via_hosts *hs, const char *name)
{
	for (size_t i = 0; i < hs->connected; i++)
		if (strcmp(hs->list[i].name, name) == 0)
			return true;
	return false;
}

/* Begins to connect to those of @found that are new. Returns how many. */
static size_t connect_new(
	struct sp_via_hosts *hs, const struct sp_via_hosts *found, const struct sp_call *call)
{
	size_t before = hs->connected;

	for (size_t i = 0; i < found->n && hs->connected < hs->cap; i++)
		if (!is_listed(hs, found->places[i].name))
			sp_via_host_connect(&hs->list[hs->connected++], &found->places[i], call,
				&hs->images.ours);
	hs->n = hs->connected;
	return hs->connected - before;
}

int sp_via_hosts_more(struct sp_via_hosts *hs, const struct sp_call *call, struct sp_err *err)
{
	struct sp_via_hosts found = {0};
	int r;

	if (call->hosts || sp_grow_one(&hs->later, hs->n_later, sizeof(*hs->later)) < 0)
		return 0;
	r = sp_via_hosts_find(&found, call, err);
	if (r < 0)
		return r == -EINTR ? 0 : r;
	if (connect_new(hs, &found, call)) { /* their names lie there */
		hs->later[hs->n_later++] = (struct sp_via_found){found.text, found.places};
		found.text = NULL;
		found.places = NULL;
	}
	free(found.text);
	free(found.places);
	free(found.list);
	free(found.polls);
	return 0;
}

void sp_via_hosts_step(struct sp_via_hosts *hs, int ms)
{
	nfds_t n = 0;

	for (size_t i = 0; i < hs->connected; i++) {
		const struct sp_packets *f = &hs->list[i].packets;
		bool on = hs->list[i].state != SP_VIA_FAILED;

		hs->polls[n++] = (struct pollfd){on && !sp_packets_full(f) ? f->in : -1, POLLIN, 0};
		hs->polls[n++] =
			(struct pollfd){on && sp_packets_waiting(f) ? f->out : -1, POLLOUT, 0};
		hs->polls[n++] = (struct pollfd){on ? hs->list[i].errors : -1, POLLIN, 0};
	}
	poll(hs->polls, n, ms);
	for (size_t i = 0; i < hs->connected; i++)
		sp_via_host_step(&hs->list[i], &hs->images);
}

/* While somebody else is asked, hosts that are connected hear of us all the same: one that does not
 * hear of us for five seconds ends. */
static void step_meanwhile(void *ctx)
{
	sp_via_hosts_step(ctx, 0);
}

static size_t still_connecting(const struct sp_via_hosts *hs)
{
	size_t n = 0;

	for (size_t i = 0; i < hs->connected; i++)
		n += hs->list[i].state < SP_VIA_READY;
	return n;
}

static bool is_due(const struct sp_via_host *h, uint64_t now)
{
	uint64_t wait = AGAIN_NS << (h->tries < 5 ? h->tries - 1 : 4);

	return h->state == SP_VIA_FAILED && h->unreachable &&
	       now - h->failed_ns >= (wait < AGAIN_MOST_NS ? wait : AGAIN_MOST_NS);
}

void sp_via_hosts_again(struct sp_via_hosts *hs, const struct sp_call *call)
{
	uint64_t now = sp_clock_mono_ns();

	for (size_t i = 0; i < hs->connected && still_connecting(hs) < call->parallel; i++)
		if (is_due(&hs->list[i], now))
			sp_via_host_again(&hs->list[i], &hs->images.ours);
}

int sp_via_hosts_connect(struct sp_via_hosts *hs, const struct sp_call *call, struct sp_err *err)
{
	int r = sp_via_images_read(&hs->images, err);

	for (; r == 0 && (hs->connected < hs->n || still_connecting(hs));) {
		if (sp_interrupted())
			return sp_err_set(err, -EINTR, "interrupted");
		if (hs->connected < hs->n && still_connecting(hs) < call->parallel) {
			sp_via_host_connect(&hs->list[hs->connected], &hs->places[hs->connected],
				call, &hs->images.ours);
			hs->connected++;
		} else {
			sp_via_hosts_step(hs, 200);
		}
	}
	if (r == 0)
		sp_via_child_meanwhile(step_meanwhile, hs);
	return r;
}

void sp_via_hosts_done(struct sp_via_hosts *hs)
{
	uint64_t until = sp_clock_mono_ns() + END_NS;

	if (hs->connected) /* a search that failed has none: others go on */
		sp_via_child_meanwhile(NULL, NULL);
	for (size_t i = 0; i < hs->connected; i++)
		sp_via_host_close(&hs->list[i]);
	for (size_t i = 0; i < hs->connected; i++)
		sp_via_host_done(&hs->list[i], until);
	sp_via_images_done(&hs->images);
	free(hs->list);
	free(hs->polls);
	free(hs->places);
	free(hs->text);
	for (size_t i = 0; i < hs->n_later; i++) {
		free(hs->later[i].places);
		free(hs->later[i].text);
	}
	free(hs->later);
	memset(hs, 0, sizeof(*hs));
}
