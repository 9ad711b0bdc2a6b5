/* The `load` command and its answers: see attach.h.
 * JDK 11 to 20 answer "-1" and a text, or "0" and "return code: N"; JDK 21 and later answer "0"
 * whatever happened: only the text says it (jvmtiAgent.cpp). */
#include "attach.h"
#include "base/buf.h"
#include "base/clock.h"
#include "wire/chan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ANSWER_MAX = 8192 };

/* @text without line ends at its end, other control characters made blanks: it is shown. */
static void make_printable(char *ret, size_t cap, const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < cap; i++) {
		unsigned char c = (unsigned char)text[i];

		ret[n++] = c < 32 || c == 127 ? ' ' : text[i];
	}
	while (n && ret[n - 1] == ' ')
		n--;
	ret[n] = '\0';
}

/* What the agent's entry returns is -errno; JDK 21 and later say -1 of their own where it threw. */
static const char *start_reason(int code)
{
	switch (-code) {
	case EAGAIN:
		return "no thread could be made in it: a limit of threads or tasks is reached";
	case ENOMEM:
		return "it has no memory left";
	case EINVAL:
		return "it did not understand the request";
	default:
		return code < -1 && code > -4096 ? strerror(-code)
						 : "the JVM gives no reason; see its log";
	}
}

int sp_attach_answer(const char *text, size_t len, struct sp_err *err)
{
	char all[512];
	const char *code;
	char *rest;
	long first;

	make_printable(all, sizeof(all), text, len);
	first = strtol(all, &rest, 10);
	if (rest == all)
		return sp_err_set(err, -EPROTO, "the JVM answered '%.80s'", all);
	rest += strspn(rest, " ");
	code = strstr(rest, "return code: ");
	if (code && atoi(code + 13) == 0 && first == 0)
		return 0;
	if (code)
		return sp_err_set(err, -EREMOTEIO, "the agent could not start there: %s (%.80s)",
			start_reason(atoi(code + 13)), code);
	if (strstr(rest, "Dynamic agent loading is not enabled"))
		return sp_err_set(err, -EPERM,
			"agent loading is disabled there: -XX:-EnableDynamicAgentLoading");
	if (strstr(rest, "only permitted in the live phase"))
		return sp_err_set(err, -EAGAIN, "it is still starting: try again in a moment");
	if (strstr(rest, "was not loaded") || strstr(rest, "is not available in"))
		return sp_err_set(err, -ELIBACC, "the JVM could not load the agent: %.400s", rest);
	if (first == 0 && !*rest)
		return sp_err_set(err, -EPROTO, "the JVM answered nothing about the agent");
	return sp_err_set(err, -EPROTO, "the JVM answered %ld: %.400s", first, rest);
}

static int send_all(int fd, const struct sp_buf *b)
{
	/* At most some 2 kB into an empty socket: it fits, or something is wrong. */
	ssize_t n = write(fd, b->data, b->len);

	if (n < 0)
		return -errno;
	return (size_t)n == b->len ? 0 : -EIO;
}

static int read_answer(int fd, struct sp_buf *ret, uint64_t deadline_ns)
{
	for (;;) {
		char part[1024];
		int r = sp_chan_wait(fd, deadline_ns);
		ssize_t n;

		if (r <= 0)
			return r < 0 ? r : -ETIMEDOUT;
		n = read(fd, part, sizeof(part));
		if (n < 0 && errno == EAGAIN)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		if (ret->len + (size_t)n > ANSWER_MAX)
			return -EMSGSIZE;
		sp_buf_add(ret, part, (size_t)n);
	}
}

int sp_attach_load(int fd, struct sp_attach_target *t, const char *path, const char *options,
	uint64_t deadline_ns, struct sp_err *err)
{
	const char *words[] = {"1", "load", path, "true", options};
	SP_AUTO_BUF struct sp_buf out;
	SP_AUTO_BUF struct sp_buf in;
	int r;

	sp_buf_init(&out);
	sp_buf_init(&in);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		sp_buf_add(&out, words[i], strlen(words[i]) + 1);
	r = out.failed ? -ENOMEM : send_all(fd, &out);
	if (r == 0)
		r = read_answer(fd, &in, deadline_ns);
	if (r == -ETIMEDOUT)
		return sp_attach_late(t, "the agent was not loaded", err);
	if (r == -EINTR)
		return sp_err_set(err, r, "interrupted");
	if (r == -EMSGSIZE)
		return sp_err_set(err, -EREMOTEIO,
			"pid %d: its attach socket answers without end: that is no JVM",
			(int)t->pid);
	if (r < 0 || in.len == 0)
		return sp_attach_target_refresh(t) < 0
			       ? sp_err_set(err, -ESRCH, "pid %d: it ended meanwhile", (int)t->pid)
			       : sp_err_set(err, r < 0 ? r : -EPROTO,
					 "pid %d: it closed the attach connection: it does not "
					 "accept user %u",
					 (int)t->pid, (unsigned)t->uid);
	r = sp_attach_answer(sp_buf_str(&in), in.len, err);
	return r < 0 ? sp_err_prefix(err, r, "pid %d", (int)t->pid) : 0;
}
