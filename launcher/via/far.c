/* The far side: see far.h. One thread, one poll. */
#include "far.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "cli/progress.h"
#include "discover/jvm.h"
#include "packets.h"
#include "proc/proc.h"
#include "python/py_ps.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RUNS = 256, PIPE_READ = 1 << 16, FULL = 1 << 20 };

#define SILENCE_NS 5000000000ull /* of the launcher: it says something once a second */
#define END_NS	   8000000000ull /* for children to end after that */

struct run {
	pid_t pid; /* 0: none */
	uint16_t id;
	int out, err; /* -1: ended */
	struct sp_buf line;
};

struct far {
	struct sp_packets packets;
	struct run runs[RUNS];
	struct pollfd polls[2 + 2 * RUNS];
	uint64_t heard_ns;
	uint64_t ending_ns; /* children were asked to end then; 0: not yet */
};

static uint64_t real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Removes the file that we were started from, if it is that. */
static void remove_file(const char *path)
{
	struct stat us, it;

	if (stat("/proc/self/exe", &us) == 0 && lstat(path, &it) == 0 && us.st_dev == it.st_dev &&
		us.st_ino == it.st_ino)
		unlink(path);
}

static void say_hello(struct far *f)
{
	SP_AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	SP_AUTO_BUF struct sp_buf all = {0};
	struct sp_hello hello = {0};

	if (fd >= 0 && sp_buf_read_fd(&all, fd, 1u << 30) == 0) {
		hello.size = all.len;
		hello.hash = sp_hash_bytes(all.data, all.len);
	}
	gethostname(hello.host, sizeof(hello.host) - 1);
	sp_packets_send(&f->packets, SP_PACKET_HELLO, 0, &hello, sizeof(hello));
}

static void list(struct far *f)
{
	SP_AUTO_CLOSE int procfd = sp_proc_root();
	SP_AUTO_FREE struct sp_jvm *jvms = NULL;
	size_t n = 0;

	if (procfd >= 0 && sp_jvm_list(procfd, &jvms, &n) < 0)
		n = 0;
	for (size_t i = 0; i < n; i++) {
		sp_pyps_fill(&jvms[i]);
		sp_packets_send(&f->packets, SP_PACKET_JVM, 0, &jvms[i], sizeof(jvms[i]));
	}
	sp_packets_send(&f->packets, SP_PACKET_LISTED, 0, NULL, 0);
}

/* What a child does; it does not return. */
static void become(char **words, int out, int err)
{
	int null = open("/dev/null", O_RDONLY);

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	setpgid(0, 0);
	setenv(SP_PROGRESS_TOLD, "1", 1);
	if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(1);
	execv("/proc/self/exe", words);
	_exit(1);
}

static void end_run(struct far *f, struct run *r, uint32_t code)
{
	sp_packets_send(&f->packets, SP_PACKET_EXIT, r->id, &code, sizeof(code));
	sp_buf_done(&r->line);
	r->pid = 0;
}

static void start(struct far *f, struct run *r, char **words)
{
	int out[2] = {-1, -1}, err[2] = {-1, -1};

	if (pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0)
		r->pid = fork();
	else
		r->pid = -1;
	if (r->pid == 0)
		become(words, out[1], err[1]);
	if (out[1] >= 0)
		close(out[1]);
	if (err[1] >= 0)
		close(err[1]);
	r->out = out[0];
	r->err = err[0];
	if (r->pid > 0)
		return;
	if (r->out >= 0)
		close(r->out);
	if (r->err >= 0)
		close(r->err);
	end_run(f, r, 1);
}

/* Words of a call, each with its NUL. */
static void run(struct far *f, const struct sp_packet *m)
{
	SP_AUTO_FREE char **words = calloc((size_t)m->len + 1, sizeof(*words));
	SP_AUTO_FREE char *text = malloc((size_t)m->len + 1);
	struct run *r = NULL;
	size_t n = 0;

	for (size_t i = 0; i < RUNS && !r; i++)
		r = f->runs[i].pid ? NULL : &f->runs[i];
	if (!words || !text || !r || !m->len || m->data[m->len - 1]) {
		uint32_t code = 1;

		sp_packets_send(&f->packets, SP_PACKET_EXIT, m->id, &code, sizeof(code));
		return;
	}
	memcpy(text, m->data, m->len);
	for (char *w = text; w < text + m->len; w += strlen(w) + 1)
		words[n++] = w;
	*r = (struct run){.id = m->id};
	start(f, r, words);
}

static void signal_all(const struct far *f, int number)
{
	for (size_t i = 0; i < RUNS; i++)
		if (f->runs[i].pid > 0)
			kill(f->runs[i].pid, number);
}

static void answer_ping(struct far *f, const struct sp_packet *m)
{
	uint64_t now = real_ns();

	sp_packets_send(&f->packets, SP_PACKET_PING, m->id, &now, sizeof(now));
}

static void obey(struct far *f)
{
	struct sp_packet m;

	while (sp_packets_next(&f->packets, &m)) {
		f->heard_ns = sp_clock_mono_ns();
		if (m.type == SP_PACKET_LIST)
			list(f);
		else if (m.type == SP_PACKET_RUN)
			run(f, &m);
		else if (m.type == SP_PACKET_INTERRUPT)
			signal_all(f, SIGINT);
		else if (m.type == SP_PACKET_PING)
			answer_ping(f, &m);
	}
}

static void send_lines(struct far *f, struct run *r)
{
	char *end;

	while (r->line.len && (end = memchr(r->line.data, '\n', r->line.len))) {
		size_t len = (size_t)(end - r->line.data);

		sp_packets_send(&f->packets, SP_PACKET_ERR, r->id, r->line.data, len);
		memmove(r->line.data, end + 1, r->line.len - len - 1);
		r->line.len -= len + 1;
	}
}

/* Passes on what a child has written. */
static void pass_on(struct far *f, struct run *r, int *fd, bool is_out)
{
	char data[PIPE_READ];
	ssize_t n = read(*fd, data, sizeof(data));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		close(*fd);
		*fd = -1;
	} else if (is_out) {
		sp_packets_send(&f->packets, SP_PACKET_OUT, r->id, data, (size_t)n);
	} else {
		sp_buf_add(&r->line, data, (size_t)n);
		send_lines(f, r);
	}
}

static void reap(struct far *f, struct run *r)
{
	int status;

	if (r->out >= 0 || r->err >= 0 || waitpid(r->pid, &status, WNOHANG) != r->pid)
		return;
	end_run(f, r, WIFEXITED(status) ? (uint32_t)WEXITSTATUS(status) : 1);
}

static bool any_run(const struct far *f)
{
	for (size_t i = 0; i < RUNS; i++)
		if (f->runs[i].pid > 0)
			return true;
	return false;
}

static void wait_for_something(struct far *f)
{
	nfds_t n = 0;
	/* A launcher that does not read keeps its children waiting, not our memory growing. */
	bool room = sp_packets_waiting(&f->packets) < FULL;

	f->polls[n++] = (struct pollfd){f->packets.in, POLLIN, 0};
	f->polls[n++] =
		(struct pollfd){sp_packets_waiting(&f->packets) ? f->packets.out : -1, POLLOUT, 0};
	for (size_t i = 0; i < RUNS; i++) {
		bool on = f->runs[i].pid > 0 && room;

		f->polls[n++] = (struct pollfd){on ? f->runs[i].out : -1, POLLIN, 0};
		f->polls[n++] = (struct pollfd){on ? f->runs[i].err : -1, POLLIN, 0};
	}
	poll(f->polls, n, 200);
	for (size_t i = 0; i < RUNS; i++) {
		struct run *r = &f->runs[i];

		if (r->pid <= 0)
			continue;
		if (r->out >= 0 && f->polls[2 + 2 * i].revents)
			pass_on(f, r, &r->out, true);
		if (r->err >= 0 && f->polls[3 + 2 * i].revents)
			pass_on(f, r, &r->err, false);
		reap(f, r);
	}
}

static bool is_lonely(const struct far *f)
{
	return f->packets.ended || f->packets.broken || f->packets.out < 0 ||
	       sp_clock_mono_ns() - f->heard_ns > SILENCE_NS;
}

/* Nobody listens any more: what is still written goes nowhere. Children get time to leave their
 * JVMs. */
static void end_all(struct far *f)
{
	uint64_t until = sp_clock_mono_ns() + END_NS;

	signal_all(f, SIGTERM);
	for (size_t i = 0; i < RUNS; i++) {
		if (f->runs[i].pid <= 0)
			continue;
		if (f->runs[i].out >= 0)
			close(f->runs[i].out);
		if (f->runs[i].err >= 0)
			close(f->runs[i].err);
		f->runs[i].out = f->runs[i].err = -1;
	}
	while (any_run(f) && sp_clock_mono_ns() < until) {
		for (size_t i = 0; i < RUNS; i++)
			if (f->runs[i].pid > 0)
				reap(f, &f->runs[i]);
		poll(NULL, 0, 20);
	}
	signal_all(f, SIGKILL);
}

int sp_via_far(int argc, char **argv)
{
	static struct far f;
	SP_AUTO_BUF struct sp_buf marker = {0};

	if (argc != 4)
		return 2;
	remove_file(argv[3]);
	prctl(PR_SET_NAME, "sparkprof"); /* not "8", the descriptor that the shell has run */
	close(8);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN); /* the end of the input says the same, and later */
	sp_packets_init(&f.packets, 0, 1);
	sp_buf_addf(&marker, "%s far\n", argv[2]);
	sp_packets_send_raw(&f.packets, marker.data, marker.len);
	say_hello(&f);
	f.heard_ns = sp_clock_mono_ns();
	while (!is_lonely(&f)) {
		sp_packets_pump(&f.packets);
		obey(&f);
		wait_for_something(&f);
	}
	end_all(&f);
	return 0;
}
