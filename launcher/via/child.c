/* Programs of the user's as children: see child.h. */
#include "child.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "cli/interrupt.h"
#include "cli/safe_print.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READ_SIZE = 1 << 16, ANSWER_MAX = 64 << 20, LINE_WIDTH = 400, FILES_MOST = 1 << 16 };

#define ASK_NS 60000000000ull

void sp_via_words_done(struct sp_via_words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->list[i]);
	free(w->list);
	*w = (struct sp_via_words){.failed = w->failed};
}

void sp_via_words_add(struct sp_via_words *w, const char *word)
{
	char *own = w->failed || !word ? NULL : strdup(word);

	if (!own || sp_grow(&w->list, &w->cap, w->n + 1, sizeof(*w->list), 32) < 0) {
		free(own);
		w->failed = true;
		sp_via_words_done(w);
		return;
	}
	w->list[w->n++] = own;
	w->list[w->n] = NULL;
}

void sp_via_words_option(struct sp_via_words *w, const char *name, const char *value)
{
	char *word = NULL;

	if (!value)
		return;
	if (asprintf(&word, "--%s=%s", name, value) < 0)
		word = NULL;
	sp_via_words_add(w, word);
	free(word);
}

static void (*meanwhile)(void *ctx);
static void *meanwhile_ctx;
static struct rlimit files; /* as it was, where it was raised */

void sp_via_child_meanwhile(void (*step)(void *ctx), void *ctx)
{
	meanwhile = step;
	meanwhile_ctx = ctx;
}

void sp_via_child_more_files(void)
{
	struct rlimit more;

	if (getrlimit(RLIMIT_NOFILE, &more) < 0 || more.rlim_cur >= more.rlim_max)
		return;
	files = more;
	more.rlim_cur = more.rlim_max < FILES_MOST ? more.rlim_max : FILES_MOST;
	if (more.rlim_cur <= files.rlim_cur || setrlimit(RLIMIT_NOFILE, &more) < 0)
		files.rlim_cur = 0;
}

/* What a child does; it does not return. */
static void become(char *const *words, int in, int out, int err)
{
	if (dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(err, 2) >= 0) {
		setpgid(0, 0);
		if (files.rlim_cur)
			setrlimit(RLIMIT_NOFILE, &files);
		signal(SIGPIPE, SIG_DFL);
		execvp(words[0], words);
	}
	dprintf(2, "%s cannot be run: %s\n", words[0], strerror(errno));
	_exit(127);
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

int sp_via_child_start(struct sp_via_child *ret, char *const *words)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1}, r = 0;
	pid_t pid = -1;

	if (pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0)
		pid = fork();
	if (pid < 0)
		r = -errno;
	if (pid == 0)
		become(words, in[0], out[1], err[1]);
	close_if_open(in[0]);
	close_if_open(out[1]);
	close_if_open(err[1]);
	if (pid < 0) {
		close_if_open(in[1]);
		close_if_open(out[0]);
		close_if_open(err[0]);
		return r;
	}
	*ret = (struct sp_via_child){pid, in[1], out[0], err[0]};
	return 0;
}

/* Appends what comes. False: nothing more will. */
static bool take(struct sp_buf *to, int fd)
{
	char *at = sp_buf_reserve(to, READ_SIZE);
	ssize_t n = at && to->len < ANSWER_MAX ? read(fd, at, READ_SIZE) : -1;

	if (n < 0 && errno == EINTR && at)
		return true;
	if (n > 0)
		to->len += (size_t)n;
	return n > 0;
}

/* Both of its outputs until they end. */
static int listen_to(const struct sp_via_child *c, struct sp_buf *out, struct sp_buf *said)
{
	uint64_t until = sp_clock_mono_ns() + ASK_NS;
	struct pollfd polls[] = {{c->out, POLLIN, 0}, {c->err, POLLIN, 0}};

	while (polls[0].fd >= 0 || polls[1].fd >= 0) {
		if (sp_interrupted())
			return -EINTR;
		if (sp_clock_mono_ns() > until)
			return -ETIMEDOUT;
		if (meanwhile)
			meanwhile(meanwhile_ctx);
		if (poll(polls, 2, 200) <= 0)
			continue;
		if (polls[0].revents && !take(out, c->out))
			polls[0].fd = -1;
		if (polls[1].revents && !take(said, c->err))
			polls[1].fd = -1;
	}
	return 0;
}

/* The last line that is not empty. */
static void keep_last_line(struct sp_buf *said, struct sp_err *err)
{
	SP_AUTO_BUF struct sp_buf safe = {0};
	char *save = NULL, *last = NULL, *text = said->len ? said->data : NULL;

	sp_buf_addc(said, '\0');
	if (text && !said->failed)
		for (char *w = strtok_r(said->data, "\r\n", &save); w;
			w = strtok_r(NULL, "\r\n", &save))
			last = w;
	if (last)
		sp_safe_print_text(&safe, last, LINE_WIDTH);
	sp_err_set(err, 0, "%s", safe.len ? sp_buf_str(&safe) : "it said nothing");
}

int sp_via_child_ask(char *const *words, struct sp_buf *ret, struct sp_err *err)
{
	SP_AUTO_BUF struct sp_buf said = {0};
	struct sp_via_child c;
	int status = -1, r = sp_via_child_start(&c, words);

	if (r < 0)
		return sp_err_set(err, -EIO, "%s", strerror(-r));
	close(c.in);
	r = listen_to(&c, ret, &said);
	close(c.out);
	close(c.err);
	if (r < 0)
		kill(c.pid, SIGTERM);
	while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r == -ETIMEDOUT)
		return sp_err_set(err, -EIO, "%s did not answer within 60 s", words[0]);
	if (r < 0)
		return r;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !ret->failed)
		return 0;
	keep_last_line(&said, err);
	return -EIO;
}
