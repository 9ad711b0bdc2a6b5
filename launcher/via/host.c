/* One other host: see host.h. */
#include "host.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "cli/message.h"
#include "cli/safe_print.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { JVMS_MAX = 4096, CLOCK_ID = 1 };

#define CLOCK_OFF_NS 50000000ll

#define PING_NS	  1000000000ull
#define SILENT_NS 60000000000ull /* of a host that answers every ping, and of one that greets */

static void fail(struct sp_via_host *h, const char *what)
{
	const char *advice = sp_buf_str(&h->advice);

	if (h->state == SP_VIA_FAILED)
		return;
	if (h->advice_alone)
		sp_err_set(&h->err, -EIO, "%s: %s", h->name, advice);
	else
		sp_err_set(&h->err, -EIO, "%s: %s%s%s%s%s", h->name, what, h->last[0] ? ": " : "",
			h->last, advice[0] ? "; " : "", advice);
	h->state = SP_VIA_FAILED;
	h->failed_ns = sp_clock_mono_ns();
}

/* A user who is refused stays so, and some hosts lock him out who is refused several times. */
static bool is_refusal(const char *said)
{
	static const char *const words[] = {"ermission denied", "verification failed",
		"Too many authentication failures", "orbidden", "Unauthorized",
		"must be logged in"};

	for (size_t i = 0; i < SP_COUNT(words); i++)
		if (strstr(said, words[i]))
			return true;
	return false;
}

static void fail_to_reach(struct sp_via_host *h, const char *what)
{
	if (h->state < SP_VIA_READY && !h->refused) {
		h->unreachable = true;
		h->tries++;
	}
	fail(h, what);
}

/* Starts ssh or kubectl with a script that takes @image. */
static void start_child(struct sp_via_host *h, const struct sp_via_image *image)
{
	SP_AUTO_WORDS struct sp_via_words words = {0};
	struct sp_via_child c;

	h->image = image;
	sp_via_place_words(h->place, h->call, h->marker, image, &words);
	if (words.failed || sp_via_child_start(&c, words.list) < 0) {
		fail(h, "no more processes, descriptors or memory here");
		return;
	}
	h->child = c.pid;
	sp_packets_init(&h->packets, c.out, c.in);
	h->errors = c.err;
	fcntl(h->errors, F_SETFL, fcntl(h->errors, F_GETFL) | O_NONBLOCK);
}

void sp_via_host_connect(struct sp_via_host *h, const struct sp_via_place *place,
	const struct sp_call *call, const struct sp_via_image *image)
{
	unsigned char bytes[8];

	*h = (struct sp_via_host){.place = place,
		.name = place->name,
		.call = call,
		.errors = -1,
		.moved_ns = sp_clock_mono_ns()};
	sp_packets_init(&h->packets, -1, -1);
	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) {
		fail(h, "no random numbers");
		return;
	}
	snprintf(h->marker, sizeof(h->marker), "sparkprof-%02x%02x%02x%02x%02x%02x%02x%02x",
		bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]);
	start_child(h, image);
}

/* A line of ssh's, kubectl's or of the shell there; the last one is the reason where it fails. */
static void take_error_line(struct sp_via_host *h, char *text)
{
	SP_AUTO_BUF struct sp_buf safe = {0};

	text[strcspn(text, "\r")] = '\0';
	h->refused |= is_refusal(text);
	sp_safe_print_text(&safe, text, sizeof(h->last) / 2);
	if (safe.len)
		snprintf(h->last, sizeof(h->last), "%s", sp_buf_str(&safe));
	if (h->call->via == SP_VIA_KUBECTL && !h->advice.len)
		sp_via_kubectl_advice(h->call, h->place, text, &h->advice, &h->advice_alone);
}

static void read_errors(struct sp_via_host *h)
{
	char data[4096], *end;
	ssize_t n;

	while (h->errors >= 0 && (n = read(h->errors, data, sizeof(data))) != 0) {
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n < 0)
			break;
		sp_buf_add(&h->line, data, (size_t)n);
		if (h->line.len > sizeof(data) * 4)
			sp_buf_clear(&h->line);
		while (h->line.len && (end = memchr(h->line.data, '\n', h->line.len))) {
			*end = '\0';
			take_error_line(h, h->line.data);
			h->line.len -= (size_t)(end - h->line.data) + 1;
			memmove(h->line.data, end + 1, h->line.len);
		}
	}
}

/* Another machine than the program was meant for: the launcher of that machine, if there is one. */
static void take_machine(struct sp_via_host *h, const char *machine, struct sp_via_images *images)
{
	SP_AUTO_BUF struct sp_buf safe = {0};
	struct sp_err err;

	if (h->state == SP_VIA_GREETING && h->image == &images->ours)
		h->other = sp_via_images_find(images, machine, &err);
	else
		sp_err_set(&err, -ENOTSUP, "this sparkprof cannot run there");
	if (h->other)
		return; /* as soon as the shell there has ended */
	sp_safe_print_text(&safe, machine, 60);
	h->last[0] = '\0';
	sp_err_set(&h->err, -ENOTSUP, "%s: is a %s; %s", h->name, sp_buf_str(&safe), err.text);
	h->state = SP_VIA_FAILED;
}

static void close_child(struct sp_via_host *h)
{
	if (h->errors >= 0)
		close(h->errors);
	h->errors = -1;
	sp_buf_done(&h->line);
	sp_packets_done(&h->packets);
}

/* Connects once more, with the program of that machine. */
static void start_other(struct sp_via_host *h)
{
	const struct sp_via_image *image = h->other;

	if (h->child > 0 && waitpid(h->child, NULL, WNOHANG) == 0) {
		kill(h->child, SIGTERM); /* it has closed its output */
		return;
	}
	h->child = 0;
	h->other = NULL;
	h->last[0] = '\0';
	close_child(h);
	sp_packets_init(&h->packets, -1, -1);
	start_child(h, image);
}

static int64_t real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* What the shell there says before our copy speaks. */
static void take_line(struct sp_via_host *h, const char *line, struct sp_via_images *images)
{
	size_t len = strlen(h->marker);

	if (strncmp(line, h->marker, len) != 0 || line[len] != ' ')
		return; /* of a startup file */
	line += len + 1;
	if (strcmp(line, "send") == 0 && h->state == SP_VIA_GREETING) {
		sp_packets_lend(&h->packets, h->image->data, h->image->len);
		h->state = SP_VIA_SENDING;
	} else if (strcmp(line, "far") == 0 && h->state == SP_VIA_SENDING) {
		h->state = SP_VIA_LISTING;
		h->asked_ns = real_ns();
		sp_packets_send(&h->packets, SP_PACKET_PING, CLOCK_ID, NULL, 0);
		sp_packets_send(&h->packets, SP_PACKET_LIST, 0, NULL, 0);
	} else if (strncmp(line, "machine ", 8) == 0) {
		take_machine(h, line + 8, images);
	} else if (strcmp(line, "sudo") == 0) {
		fail(h, "sudo does not make this user root there without a password; log in as "
			"root by --user, or omit --sudo and see JVMs of your own");
	} else if (strcmp(line, "cut") == 0) {
		fail(h, "this program did not arrive whole; is the disk there full?");
	} else if (strcmp(line, "nowhere") == 0) {
		fail(h, "found no directory there (/tmp, /var/tmp, /dev/shm, the home, Spark's "
			"first local one) in which a program can be written and run");
	}
}

static void take_hello(struct sp_via_host *h, const struct sp_packet *m)
{
	if (m->len != sizeof(h->hello)) {
		fail(h, "answers with nonsense");
		return;
	}
	memcpy(&h->hello, m->data, sizeof(h->hello));
	h->hello.host[sizeof(h->hello.host) - 1] = '\0';
	if (h->hello.size != h->image->len || h->hello.hash != h->image->hash)
		fail(h, "what runs there is not what was sent");
}

void sp_via_host_again(struct sp_via_host *h, const struct sp_via_image *image)
{
	unsigned tries = h->tries;

	if (h->child > 0 && waitpid(h->child, NULL, WNOHANG) == 0) {
		kill(h->child, SIGTERM);
		return;
	}
	h->child = 0;
	sp_via_host_done(h, 0);
	sp_via_host_connect(h, h->place, h->call, image);
	h->tries = tries;
}

int64_t sp_via_host_clock(int64_t asked_ns, int64_t far_ns, int64_t heard_ns)
{
	int64_t middle = asked_ns + (heard_ns - asked_ns) / 2;

	if (far_ns < heard_ns + CLOCK_OFF_NS && far_ns > asked_ns - CLOCK_OFF_NS)
		return 0;
	return far_ns - middle;
}

/* Of a clock beyond a hundred years from ours nothing is believed. */
static void take_clock(struct sp_via_host *h, const struct sp_packet *m)
{
	const int64_t most = 100ll * 366 * 86400 * 1000000000;
	int64_t now = real_ns(), far;

	if (m->id != CLOCK_ID || m->len != sizeof(far))
		return;
	memcpy(&far, m->data, sizeof(far));
	if (far > now - most && far < now + most)
		h->clock_ns = sp_via_host_clock(h->asked_ns, far, now);
}

/* Text of a stranger ends within its field. */
static void close_texts(struct sp_jvm *j)
{
	char *const ends[] = {&j->user[sizeof(j->user) - 1],
		&j->jdk_version[sizeof(j->jdk_version) - 1], &j->libjvm[sizeof(j->libjvm) - 1],
		&j->exe[sizeof(j->exe) - 1], &j->main_class[sizeof(j->main_class) - 1],
		&j->app_id[sizeof(j->app_id) - 1], &j->app_name[sizeof(j->app_name) - 1],
		&j->executor_id[sizeof(j->executor_id) - 1],
		&j->container_id[sizeof(j->container_id) - 1], &j->pod[sizeof(j->pod) - 1],
		&j->hostname[sizeof(j->hostname) - 1], &j->driver_url[sizeof(j->driver_url) - 1],
		&j->spark_version[sizeof(j->spark_version) - 1],
		&j->scala_version[sizeof(j->scala_version) - 1], &j->cgroup[sizeof(j->cgroup) - 1],
		&j->reason[sizeof(j->reason) - 1]};

	for (size_t i = 0; i < SP_COUNT(ends); i++)
		*ends[i] = '\0';
	if (j->python_worker_count > SP_COUNT(j->python_workers))
		j->python_worker_count = SP_COUNT(j->python_workers);
}

/* What the labels of its pod say and its command line does not. */
static void add_labels(const struct sp_via_host *h, struct sp_jvm *j)
{
	if (h->call->via == SP_VIA_KUBECTL)
		snprintf(j->pod, sizeof(j->pod), "%s", h->name);
	if (h->place->role == SP_ROLE_OTHER || j->role != h->place->role)
		return;
	if (!j->app_id[0])
		snprintf(j->app_id, sizeof(j->app_id), "%s", h->place->app);
	if (!j->executor_id[0])
		snprintf(j->executor_id, sizeof(j->executor_id), "%s", h->place->id);
}

static bool is_jvm(const struct sp_jvm *j)
{
	return j->pid > 0 && (unsigned)j->kind <= SP_JVM_UNSEEN &&
	       (unsigned)j->libc <= SP_LIBC_MUSL && (unsigned)j->role <= SP_ROLE_EXECUTOR &&
	       (unsigned)j->attach <= SP_ATTACH_NO && (unsigned)j->block <= SP_BLOCK_STARTING;
}

bool sp_via_host_read_jvm(
	const struct sp_via_host *h, const struct sp_packet *m, struct sp_jvm *ret)
{
	if (m->len != sizeof(*ret))
		return false;
	memcpy(ret, m->data, sizeof(*ret));
	close_texts(ret);
	add_labels(h, ret);
	return is_jvm(ret);
}

static void take_jvm(struct sp_via_host *h, const struct sp_packet *m)
{
	if (m->len != sizeof(*h->jvms) || h->n == JVMS_MAX) {
		fail(h, "answers with nonsense");
		return;
	}
	if (sp_grow_one(&h->jvms, h->n, sizeof(*h->jvms)) < 0) {
		fail(h, "out of memory");
		return;
	}
	h->n += sp_via_host_read_jvm(h, m, &h->jvms[h->n]);
}

static void take_listing(struct sp_via_host *h)
{
	struct sp_packet m;

	while (h->state == SP_VIA_LISTING && sp_packets_next(&h->packets, &m)) {
		if (m.type == SP_PACKET_HELLO)
			take_hello(h, &m);
		else if (m.type == SP_PACKET_PING)
			take_clock(h, &m);
		else if (m.type == SP_PACKET_JVM)
			take_jvm(h, &m);
		else if (m.type == SP_PACKET_LISTED)
			h->state = SP_VIA_READY;
	}
}

/* A connection that is there and carries nothing, as where packets are dropped on the way. */
static void watch_silence(struct sp_via_host *h, uint64_t now)
{
	uint64_t moved =
		h->packets.received + (h->state == SP_VIA_SENDING ? h->packets.written : 0);

	if (moved != h->moved || sp_packets_full(&h->packets)) { /* we do not read what is full */
		h->moved = moved;
		h->moved_ns = now;
	} else if (now - h->moved_ns > SILENT_NS && !h->packets.ended) {
		fail_to_reach(h, "nothing came for 60 s");
	}
}

void sp_via_host_step(struct sp_via_host *h, struct sp_via_images *images)
{
	uint64_t now = sp_clock_mono_ns();
	const char *line;

	if (h->state == SP_VIA_FAILED)
		return;
	if (h->state >= SP_VIA_LISTING && now - h->pinged_ns > PING_NS) {
		sp_packets_send(&h->packets, SP_PACKET_PING, 0, NULL, 0);
		h->pinged_ns = now;
	}
	sp_packets_pump(&h->packets);
	read_errors(h);
	while (h->state < SP_VIA_LISTING && !h->other && (line = sp_packets_line(&h->packets)))
		take_line(h, line, images);
	if (h->state == SP_VIA_LISTING)
		take_listing(h);
	if (h->other && h->packets.ended)
		start_other(h);
	else if (h->packets.broken)
		fail(h, "answers with nonsense");
	else if (h->packets.ended && h->state < SP_VIA_READY)
		fail_to_reach(h, "cannot be reached");
	else
		watch_silence(h, now);
}

bool sp_via_host_packet(struct sp_via_host *h, struct sp_packet *ret)
{
	return h->state == SP_VIA_READY && sp_packets_next(&h->packets, ret);
}

bool sp_via_host_ended(const struct sp_via_host *h)
{
	return h->state == SP_VIA_FAILED || h->packets.ended;
}

void sp_via_host_close(struct sp_via_host *h)
{
	if (h->packets.out >= 0)
		close(h->packets.out);
	h->packets.out = -1;
}

void sp_via_host_done(struct sp_via_host *h, uint64_t until_ns)
{
	bool ended = h->child <= 0;
	char drop[4096];

	sp_via_host_close(h);
	/* The copy there ends its runs first; its last words go nowhere. */
	while (!ended && !(ended = waitpid(h->child, NULL, WNOHANG) != 0) &&
		sp_clock_mono_ns() < until_ns) {
		while (h->packets.in >= 0 && read(h->packets.in, drop, sizeof(drop)) > 0)
			;
		while (h->errors >= 0 && read(h->errors, drop, sizeof(drop)) > 0)
			;
		usleep(5000);
	}
	if (!ended)
		kill(h->child, SIGTERM);
	h->child = 0;
	close_child(h);
	sp_buf_done(&h->advice);
	free(h->jvms);
	h->jvms = NULL;
}
