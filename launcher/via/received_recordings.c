/* Recordings from other hosts: see received_recordings.h. */
#include "received_recordings.h"

#include "base/cleanup.h"
#include "base/grow.h"
#include "cli/command.h"
#include "cli/message.h"
#include "jfr/concat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Devices and descriptors, which the shell's redirections name so. */
static bool is_no_file(const char *path)
{
	return strcmp(path, "-") == 0 || strncmp(path, "/dev/", 5) == 0 ||
	       strncmp(path, "/proc/", 6) == 0;
}

/* The directory of the first output that is a file, else that for temporary files. */
static char *make_name(const struct sp_call *call)
{
	const char *tmp = getenv("TMPDIR"), *slash;
	char *name = NULL;
	int n = -1;

	for (size_t i = 0; i < call->n_outputs; i++) {
		const char *path = call->outputs[i].path;

		if (is_no_file(path) && strncmp(path, "/dev/shm/", 9) != 0)
			continue;
		slash = strrchr(path, '/');
		n = asprintf(&name, "%.*ssparkprof-parts-XXXXXX",
			slash ? (int)(slash - path) + 1 : 0, path);
		return n < 0 ? NULL : name;
	}
	n = asprintf(&name, "%s/sparkprof-parts-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	return n < 0 ? NULL : name;
}

int sp_received_recordings_open(
	struct sp_received_recordings *p, const struct sp_call *call, struct sp_err *err)
{
	p->dir = make_name(call);
	if (!p->dir)
		return sp_err_set(err, -ENOMEM, "out of memory");
	if (!mkdtemp(p->dir)) {
		int r = -errno;

		sp_err_set(err, r, "%s: a directory for what arrives cannot be made: %s", p->dir,
			strerror(errno));
		free(p->dir);
		p->dir = NULL;
		return r;
	}
	return 0;
}

int sp_received_recordings_create(struct sp_received_recordings *p, size_t i, struct sp_err *err)
{
	int fd;

	if (sp_grow_zero(&p->paths, &p->cap, i, sizeof(*p->paths), 64) < 0)
		return sp_err_set(err, -ENOMEM, "out of memory");
	p->n = i + 1;
	if (asprintf(&p->paths[i], "%s/%zu.jfr", p->dir, i) < 0) {
		p->paths[i] = NULL;
		return sp_err_set(err, -ENOMEM, "out of memory");
	}
	fd = open(p->paths[i], O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd >= 0 ? fd : sp_err_set(err, -errno, "%s: %s", p->paths[i], strerror(errno));
}

int sp_received_recordings_shift(struct sp_received_recordings *p, size_t i, int64_t ns)
{
	SP_AUTO_CLOSE int fd = open(p->paths[i], O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : sp_jfr_concat_shift(fd, -ns);
}

static void remove_empty(struct sp_received_recordings *p)
{
	struct stat st;

	for (size_t i = 0; i < p->n; i++)
		if (p->paths[i] && stat(p->paths[i], &st) == 0 && !st.st_size)
			unlink(p->paths[i]);
}

int sp_received_recordings_report(struct sp_received_recordings *p, const struct sp_call *call)
{
	static struct sp_call report; /* large */
	struct stat st;
	size_t found = 0;
	int code;

	report = *call;
	report.action = SP_ACTION_REPORT;
	report.n_events = 0;  /* all that was recorded */
	report.thread = NULL; /* chosen there */
	report.n_targets = 0;
	for (size_t i = 0; i < p->n; i++) {
		if (!p->paths[i] || stat(p->paths[i], &st) < 0 || !st.st_size)
			continue;
		found++;
		if (report.n_targets < SP_CALL_MAX_TARGETS)
			report.targets[report.n_targets++] = p->paths[i];
	}
	if (found > report.n_targets) { /* more than a call can name: those of the directory */
		remove_empty(p);
		report.n_targets = 1;
		report.targets[0] = p->dir;
	}
	if (report.n_targets == 0) {
		sp_message_error("nothing was recorded");
		sp_received_recordings_remove(p);
		return SP_EXIT_FAILED;
	}
	code = sp_cmd_report(&report);
	if (code == SP_EXIT_DONE)
		sp_received_recordings_remove(p);
	else
		sp_message_note("the recordings are in %s", p->dir);
	return code;
}

void sp_received_recordings_remove(struct sp_received_recordings *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->paths[i])
			unlink(p->paths[i]);
	if (p->dir)
		rmdir(p->dir);
}

void sp_received_recordings_done(struct sp_received_recordings *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->paths[i]);
	free(p->paths);
	free(p->dir);
	*p = (struct sp_received_recordings){0};
}
