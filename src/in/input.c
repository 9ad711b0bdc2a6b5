/* Inputs of reports: see input.h. */
#include "in/input.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "in/gzip.h"
#include "in/proto.h"
#include "in/tmpfile.h"

enum { HEAD = 64 << 10, GZIP_DEPTH = 2 };

static ssize_t read_head(int fd, char *buf)
{
	ssize_t n = pread(fd, buf, HEAD, 0);

	return n < 0 ? -errno : n;
}

static bool is_gzip(const char *s, ssize_t n)
{
	return n > 2 && (uint8_t)s[0] == 0x1f && (uint8_t)s[1] == 0x8b;
}

static int copy_stdin(int from, int to)
{
	SP_AUTO_FREE char *buf = malloc(HEAD);
	ssize_t n;

	if (!buf)
		return -ENOMEM;
	while ((n = read(from, buf, HEAD)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || write(to, buf, (size_t)n) != n)
			return errno ? -errno : -EIO;
	}
	return 0;
}

/* Devices have no end, but for the empty one and terminals. */
static bool is_endless(int fd, const struct stat *st)
{
	return S_ISBLK(st->st_mode) ||
	       (S_ISCHR(st->st_mode) && st->st_rdev != makedev(1, 3) && !isatty(fd));
}

/* Makes *fd a regular file of its own at its start. */
static int make_regular(int fd, int *ret, struct sp_err *err)
{
	struct stat st;
	int r = 0;

	if (fstat(fd, &st) < 0)
		return sp_err_set(err, -errno, "cannot be read: %s", strerror(errno));
	if (S_ISREG(st.st_mode)) {
		*ret = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		return *ret < 0 ? sp_err_set(err, -errno, "cannot be read: %s", strerror(errno))
				: 0;
	}
	if (is_endless(fd, &st))
		return sp_err_set(err, -EINVAL, "is a device, not a recording; give a file");
	*ret = sp_tmpfile_open();
	r = *ret < 0 ? -errno : copy_stdin(fd, *ret);
	return r < 0 ? sp_err_set(err, r, "cannot be read: %s", strerror(-r)) : 0;
}

/* Whether the first fields are those of a profile.proto. */
static bool is_pprof(const char *s, ssize_t n)
{
	struct sp_proto m = {.p = (const uint8_t *)s, .end = (const uint8_t *)s + n};
	struct sp_proto_field f;
	int fields = 0;

	while (sp_proto_next(&m, &f)) {
		bool message = f.number <= 6 || f.number == 11;

		if (f.number > 15 || (message && f.wire != 2) ||
			(!message && f.wire != 0 && f.wire != 2))
			return false;
		fields++;
	}
	return fields > 0 && (!m.bad || n == HEAD || fields > 3);
}

static bool is_text(const char *s, ssize_t n)
{
	for (ssize_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < ' ' && !strchr("\n\r\t\f", s[i]))
			return false;
	return n > 0;
}

/* "… 1234.567890: …" in the first lines that are neither comments nor empty. */
static bool is_perf(const char *s, ssize_t n)
{
	for (ssize_t i = 0; i < n;) {
		const char *nl = memchr(s + i, '\n', (size_t)(n - i));
		ssize_t end = nl ? nl - s : n;

		for (ssize_t k = i + 1; s[i] != '#' && k + 1 < end; k++) {
			ssize_t from = k;

			while (from > i && isdigit((unsigned char)s[from - 1]))
				from--;
			if (s[k] == ':' && s[k + 1] == ' ' && k - from >= 3 && from > i &&
				s[from - 1] == '.')
				return true;
		}
		if (end > i && s[i] != '#')
			return false;
		i = end + 1;
	}
	return false;
}

/* Lines that end in a blank and a number, no fewer of them than others: sources and logs have some.
 */
static bool is_collapsed(const char *s, ssize_t n)
{
	size_t stacks = 0, others = 0;

	for (ssize_t i = 0; i < n;) {
		const char *nl = memchr(s + i, '\n', (size_t)(n - i));
		ssize_t end = nl ? nl - s : n, at = end;

		if (!nl && n == HEAD) /* cut off; or a very long line */
			return (stacks && stacks >= others) ||
			       (stacks + others == 0 && memchr(s + i, ';', (size_t)(n - i)));
		while (at > i && strchr("0123456789.\r", s[at - 1]))
			at--;
		if (at < end && at > i + 1 && s[at - 1] == ' ')
			stacks++;
		else if (end > i + (end > i && s[end - 1] == '\r'))
			others++;
		i = end + 1;
	}
	return stacks && stacks >= others;
}

static enum sp_input_kind kind_of(const char *s, ssize_t n)
{
	if (n >= 4 && memcmp(s, "FLR", 4) == 0)
		return SP_INPUT_JFR;
	if (is_text(s, n))
		return is_perf(s, n)	    ? SP_INPUT_PERF
		       : is_collapsed(s, n) ? SP_INPUT_COLLAPSED
					    : SP_INPUT_UNKNOWN;
	if (is_pprof(s, n))
		return SP_INPUT_PPROF;
	/* a damaged start: the reader finds the next chunk, or says that there is none */
	return n >= 4 && memmem(s, (size_t)n, "FLR\0\0", 5) ? SP_INPUT_JFR : SP_INPUT_UNKNOWN;
}

static int unpack(int *fd, struct sp_err *note, struct sp_err *err)
{
	int to = sp_tmpfile_open(), r;
	struct stat st;

	if (to < 0)
		return sp_err_set(err, -errno, "cannot be unpacked: %s", strerror(errno));
	lseek(*fd, 0, SEEK_SET);
	r = sp_gunzip(*fd, to, err);
	if (r == -EBADMSG && fstat(to, &st) == 0 && st.st_size > 0) {
		if (note)
			*note = *err;
		r = 0;
	}
	if (r < 0) {
		close(to);
		return r;
	}
	close(*fd);
	*fd = to;
	return 0;
}

int sp_input_open(int fd, int *ret_fd, enum sp_input_kind *ret_kind, struct sp_err *ret_note,
	struct sp_err *err)
{
	SP_AUTO_FREE char *head = malloc(HEAD);
	SP_AUTO_CLOSE int own = -1;
	ssize_t n = 0;
	int r;

	if (!head)
		return sp_err_set(err, -ENOMEM, "not enough memory");
	r = make_regular(fd, &own, err);
	for (int depth = 0; r == 0; depth++) {
		n = read_head(own, head);
		if (n < 0)
			r = sp_err_set(err, (int)n, "cannot be read: %s", strerror((int)-n));
		if (r < 0 || !is_gzip(head, n) || depth == GZIP_DEPTH)
			break;
		r = unpack(&own, ret_note, err);
	}
	if (r < 0)
		return r;
	*ret_kind = kind_of(head, n);
	if (*ret_kind == SP_INPUT_UNKNOWN)
		return sp_err_set(err, -EBADMSG,
			n == 0 ? "is empty; record or copy it again"
			       : "is neither a JFR recording nor collapsed text, pprof or perf "
				 "script; give a file that a profiler wrote");
	lseek(own, 0, SEEK_SET);
	*ret_fd = sp_steal_fd(&own);
	return 0;
}

static void note_filters(
	struct sp_profile *p, enum sp_input_kind kind, const struct sp_load_opts *o)
{
	if (o->from_ns || o->to_ns)
		sp_profile_note(p, "--from and --to leave this input whole: only recordings have "
				   "times that can be compared");
	if (o->states && kind != SP_INPUT_PPROF)
		sp_profile_note(p, "--state leaves this input whole: it has no thread states");
	if (o->min_duration_ns)
		sp_profile_note(p, "--min-duration leaves this input whole: it has no durations");
	if (o->event_count && kind == SP_INPUT_COLLAPSED)
		sp_profile_note(p, "-e leaves this input whole: collapsed text does not say what "
				   "was sampled");
	if (o->by == SP_BY_STAGE || o->by == SP_BY_TASK)
		sp_profile_note(p, "no stage or task is known here: only recordings have them; try "
				   "--by thread");
}

static void set_executor(struct sp_profile *p, const struct sp_load_opts *o)
{
	uint32_t root;

	if (o->by != SP_BY_EXECUTOR || !o->executor)
		return;
	root = sp_dict_string(p->dict, o->executor, strlen(o->executor));
	for (size_t i = 0; i < p->row_count; i++)
		p->rows[i].root = root;
	sp_profile_reindex(p);
}

int sp_input_read(int fd, enum sp_input_kind kind, const struct sp_load_opts *opts,
	struct sp_symbols *symbols, struct sp_profile **ret, struct sp_err *err)
{
	struct sp_profile *p;
	int r;

	if (kind == SP_INPUT_JFR)
		return sp_load_with(fd, opts, symbols, ret, err);
	r = sp_profile_new(&p, opts->dict_cap ? opts->dict_cap : SP_LOAD_DICT_CAP);
	if (r < 0)
		return sp_err_set(err, r, "not enough memory");
	r = kind == SP_INPUT_PPROF  ? sp_input_pprof(fd, p, opts, err)
	    : kind == SP_INPUT_PERF ? sp_input_perf(fd, p, opts, err)
				    : sp_input_collapsed(fd, p, opts, err);
	if (r == -EBADMSG && p->samples > 0) {
		sp_profile_note(p, err->text);
		r = 0;
	}
	if (r < 0) {
		sp_profile_free(p);
		return r;
	}
	note_filters(p, kind, opts);
	set_executor(p, opts);
	*ret = p;
	return 0;
}
