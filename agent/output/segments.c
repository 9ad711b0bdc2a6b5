/* See segments.h. A segment is known by its round and time; its name is made anew when it is
 * needed, so that ids which come late change nothing but names. */
#include "segments_internal.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/name_template.h"
#include "options/arg_values.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

#define SHARE	 4 /* of maxdisk=: what one segment takes at most */
#define RETRY_NS 10000000000ull
#define ROOM	 (1u << 20)   /* on a disk that has less no file is begun */
#define WAITING	 (1ull << 30) /* bytes that wait for the cluster, where maxdisk= says nothing */

/* Makes the directories above @path. What cannot be made is reported when the file is opened. */
static void make_directories(char *path)
{
	for (char *s = strchr(path + 1, '/'); s; s = strchr(s + 1, '/')) {
		*s = 0;
		mkdir(path, 0777);
		*s = '/';
	}
}

/* A file that is begun on a full disk holds nothing, and one on a disk that has a little room again
 * and again many. @own: what it holds itself. */
static bool has_room(int fd, uint64_t own)
{
	struct statvfs st;

	if (fstatvfs(fd, &st) < 0 || !st.f_blocks)
		return true;
	return (uint64_t)(geteuid() == 0 ? st.f_bfree : st.f_bavail) * st.f_frsize + own >= ROOM;
}

/* A link may have been made there by another user: what it leads to is left alone as what is no
 * recording is, and what could never be one is reported. */
static int refuse_link(const char *path)
{
	struct stat st;

	if (strncmp(path, "/dev/", 5) == 0) /* /dev/stdout, whatever that is just now */
		return -EINVAL;
	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) ? -EINVAL : -EEXIST;
}

/* Made here, or made here before: what another user owns there he may read and change, and may
 * have made for us, with a name that can be guessed in a directory of all. The recording
 * holds the command line: not for all to read, but for the group, as which YARN collects logs. */
static int open_own(const char *path)
{
	int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	SP_AUTO_CLOSE int fd = open(path, flags | O_CREAT | O_EXCL, 0640);
	struct stat st;

	if (fd >= 0 || errno != EEXIST)
		return fd < 0 ? -errno : sp_steal_fd(&fd);
	fd = open(path, flags);
	if (fd < 0 && errno == ELOOP)
		return refuse_link(path);
	if (fd < 0)
		return errno == EACCES ? -EEXIST : -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid != geteuid())
		return -EEXIST;
	return sp_steal_fd(&fd);
}

/* A file that nobody else writes to, and that is no more than an older recording: a wrong word in
 * file= costs nobody his data. */
static int open_alone(const char *path)
{
	SP_AUTO_CLOSE int fd = open_own(path);
	struct stat st;
	char magic[4];

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return -EWOULDBLOCK;
	if (st.st_size &&
		(pread(fd, magic, sizeof(magic), 0) != sizeof(magic) || memcmp(magic, "FLR", 4)))
		return -EEXIST;
	/* An older recording is not given up for one that cannot be made. */
	if (!has_room(fd, (uint64_t)st.st_size)) {
		if (!st.st_size)
			unlink(path);
		return -ENOSPC;
	}
	if (ftruncate(fd, 0) < 0)
		return -errno;
	return sp_steal_fd(&fd);
}

static void keep_path(struct sp_segments *p)
{
	char path[SP_SEGMENTS_PATH], whole[PATH_MAX] = "";

	if (sp_segments_name(p, &p->id, &p->now, path, NULL) < 0 || !realpath(path, whole))
		whole[0] = '\0';
	snprintf(p->path, sizeof(p->path), "%s", whole);
}

static int open_segment(struct sp_segments *p, struct sp_segment *x, struct sp_err *err)
{
	char path[SP_SEGMENTS_PATH];
	int fd = -EWOULDBLOCK;

	x->clash = p->shared;
	for (int i = 0; i < 2 && (fd == -EWOULDBLOCK || fd == -EEXIST); i++) {
		int r = sp_segments_name(p, &p->id, x, path, err);

		if (r < 0)
			return r;
		make_directories(path);
		fd = open_alone(path);
		x->clash |= fd == -EWOULDBLOCK || fd == -EEXIST;
	}
	if (fd == -EINVAL)
		return sp_err_set(err, fd, "file: %s: is not a regular file", path);
	return fd < 0 ? sp_err_set(err, fd, "file: %s: %s", path, strerror(-fd)) : fd;
}

/* Where segments wait: in the JVM's own directory, which YARN removes with the container, or where
 * that cannot be written in /tmp. */
static void set_patterns(struct sp_segments *p, const struct sp_args *args)
{
	const char *dir = args->localdir[0]	   ? args->localdir
			  : access(".", W_OK) == 0 ? "."
						   : "/tmp";

	p->loop = args->loop;
	p->maxdisk = args->maxdisk;
	if (args->report[0])
		snprintf(p->end, sizeof(p->end), "%s.jfr", args->report_ext);
	if (!sp_segments_is_remote(args->file)) {
		memcpy(p->pattern, args->file, sizeof(p->pattern));
		return;
	}
	memcpy(p->remote, args->file, sizeof(p->remote));
	snprintf(p->pattern, sizeof(p->pattern), "%s/sparkprof-%%p.%%n.jfr", dir);
	p->loop = args->dfs_ns;
	p->turn = args->loop;
	if (!p->maxdisk)
		p->maxdisk = WAITING;
}

/* A loop may end at a time of day. */
static void begin_segment(struct sp_segments *p, uint64_t now_ns)
{
	p->began_ns = now_ns;
	p->loop_ns = sp_arg_value_left(p->loop, time(NULL));
}

static void begin_turn(struct sp_segments *p, uint64_t now_ns)
{
	p->turn_began_ns = now_ns;
	p->turn_ns = sp_arg_value_left(p->turn, time(NULL));
}

static void init_cond(pthread_cond_t *c)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(c, &attr);
	pthread_condattr_destroy(&attr);
}

/* A JVM that this one is a child of may have the same options. */
static void claim_names(struct sp_segments *p)
{
	char path[SP_SEGMENTS_PATH];

	if (sp_segments_name(p, &p->id, &p->now, path, NULL) < 0)
		return;
	make_directories(path);
	p->shared = !sp_segments_claim(p, path);
}

int sp_segments_new(struct sp_segments **ret, const struct sp_args *args,
	const struct sp_spark_identity *id, int *ret_fd, struct sp_err *err)
{
	struct sp_segments *p = calloc(1, sizeof(*p));
	char host[256] = "";
	int fd;

	if (!p)
		return sp_err_set(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&p->lock, NULL);
	init_cond(&p->came);
	p->holders = 1;
	p->claim_fd = -1;
	set_patterns(p, args);
	p->numbered = (p->loop || p->maxdisk) && !sp_name_template_has_round(p->pattern);
	p->id = *id;
	gethostname(host, sizeof(host) - 1);
	snprintf(p->stand_in, sizeof(p->stand_in), "jvm-%s-%d", host, (int)getpid());
	p->started = time(NULL);
	p->now = (struct sp_segment){
		.round = 1, .time = p->started, .turn = 1, .turn_time = p->started};
	begin_turn(p, sp_clock_mono_ns());
	begin_segment(p, p->turn_began_ns);
	claim_names(p);
	fd = open_segment(p, &p->now, err);
	if (fd < 0) {
		sp_segments_free(p);
		return fd;
	}
	keep_path(p);
	*ret_fd = fd;
	*ret = p;
	return 0;
}

struct sp_segments *sp_segments_ref(struct sp_segments *p)
{
	atomic_fetch_add(&p->holders, 1);
	return p;
}

void sp_segments_free(struct sp_segments *p)
{
	if (!p || atomic_fetch_sub(&p->holders, 1) > 1)
		return;
	if (p->claim_fd >= 0)
		close(p->claim_fd);
	pthread_cond_destroy(&p->came);
	pthread_mutex_destroy(&p->lock);
	free(p->done);
	free(p);
}

/* A directory that was made for a name that is gone. */
static void remove_directories(const struct sp_segments *p, char *path)
{
	for (char *s; (s = strrchr(path, '/'));) {
		*s = 0;
		if (!strstr(path, p->stand_in) || rmdir(path) < 0)
			return;
	}
}

/* Nothing that is there is replaced: executors may have been given the same names. */
static int rename_beside(const char *from, const char *to)
{
	int r = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);

	if (r < 0 && (errno == EINVAL || errno == ENOSYS)) /* not every file system can */
		r = access(to, F_OK) == 0 ? (errno = EEXIST, -1) : rename(from, to);
	return r < 0 ? -errno : 0;
}

static void rename_segment(
	struct sp_segments *p, struct sp_segment *x, const struct sp_spark_identity *id)
{
	char from[SP_SEGMENTS_PATH], to[SP_SEGMENTS_PATH];
	int r = -EEXIST;

	if (sp_segments_name(p, &p->id, x, from, NULL) < 0)
		return;
	for (int i = 0; i < 2 && r == -EEXIST; i++) {
		if (sp_segments_name(p, id, x, to, NULL) < 0 || strcmp(from, to) == 0)
			return;
		make_directories(to);
		r = rename_beside(from, to);
		x->clash |= r == -EEXIST;
	}
	if (r == 0)
		remove_directories(p, from);
}

void sp_segments_identify(struct sp_segments *p, const struct sp_spark_identity *id)
{
	struct sp_spark_identity next = p->id;

	/* Once known an id stays: later segments lie beside the earlier ones. */
	if (!next.app_id[0])
		memcpy(next.app_id, id->app_id, sizeof(next.app_id));
	if (!next.executor_id[0])
		memcpy(next.executor_id, id->executor_id, sizeof(next.executor_id));
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->n_done; i++)
		rename_segment(p, &p->done[i], &next);
	rename_segment(p, &p->now, &next);
	p->id = next;
	keep_path(p);
	pthread_mutex_unlock(&p->lock);
}

static bool turn_over(const struct sp_segments *p, uint64_t now_ns)
{
	return p->turn_ns && now_ns - p->turn_began_ns >= p->turn_ns;
}

bool sp_segments_due(const struct sp_segments *p, uint64_t now_ns, uint64_t bytes)
{
	if (now_ns < p->retry_ns)
		return false;
	return atomic_load(&p->hurry) || turn_over(p, now_ns) ||
	       (p->loop_ns && now_ns - p->began_ns >= p->loop_ns) ||
	       (p->maxdisk && bytes >= p->maxdisk / SHARE);
}

static int make_place(struct sp_segments *p)
{
	return sp_grow(&p->done, &p->cap, p->n_done, sizeof(*p->done), 16);
}

/* @turn: it goes to another file in the cluster. */
static int open_next(struct sp_segments *p, bool turn, struct sp_segment *next, struct sp_err *err)
{
	char mine[SP_SEGMENTS_PATH], other[SP_SEGMENTS_PATH];
	struct sp_segment first = p->now;

	*next = (struct sp_segment){.round = p->now.round + 1,
		.time = time(NULL),
		.turn = p->now.turn + turn,
		.turn_time = p->now.turn_time};
	if (turn)
		next->turn_time = next->time;
	first.marked = false;
	/* A name like %t may come out the same within its second, and one without rounds always. */
	if (sp_segments_name(p, &p->id, &first, mine, err) == 0 &&
		sp_segments_name(p, &p->id, next, other, err) == 0 && strcmp(mine, other) == 0)
		next->marked = true;
	return open_segment(p, next, err);
}

/* The segment that had the name of the one in hand, after %n{MAX} rounds, is no more. */
static void forget_overwritten(struct sp_segments *p)
{
	char mine[SP_SEGMENTS_PATH], other[SP_SEGMENTS_PATH];

	if (sp_segments_name(p, &p->id, &p->now, mine, NULL) < 0)
		return;
	for (size_t i = 0; i < p->n_done; i++)
		if (sp_segments_name(p, &p->id, &p->done[i], other, NULL) == 0 &&
			strcmp(mine, other) == 0) {
			p->done_bytes -= p->done[i].bytes;
			memmove(p->done + i, p->done + i + 1, (--p->n_done - i) * sizeof(*p->done));
			return;
		}
}

int sp_segments_again(struct sp_segments *p, int *ret_fd, struct sp_err *err)
{
	struct sp_segment next;
	int fd = open_next(p, false, &next, err);

	if (fd < 0)
		return fd;
	pthread_mutex_lock(&p->lock);
	p->now = next;
	p->over = false;
	begin_segment(p, sp_clock_mono_ns());
	p->retry_ns = 0;
	forget_overwritten(p);
	keep_path(p);
	pthread_mutex_unlock(&p->lock);
	*ret_fd = fd;
	return 0;
}

void sp_segments_on_failure(struct sp_segments *p, void (*failed)(struct sp_segments *p))
{
	p->failed = failed;
}

void sp_segments_failed(struct sp_segments *p)
{
	if (p->failed)
		p->failed(p);
}

int sp_segments_next(struct sp_segments *p, uint64_t now_ns, struct sp_err *err)
{
	bool turn = turn_over(p, now_ns);
	struct sp_segment next;
	int fd = make_place(p);

	if (fd < 0)
		return sp_err_set(err, fd, "out of memory");
	fd = open_next(p, turn, &next, err);
	if (fd < 0) {
		p->retry_ns = now_ns + RETRY_NS;
		return fd;
	}
	pthread_mutex_lock(&p->lock);
	p->done[p->n_done++] = p->now;
	p->now = next;
	atomic_store(&p->hurry, false);
	begin_segment(p, now_ns);
	if (turn)
		begin_turn(p, now_ns);
	keep_path(p);
	pthread_mutex_unlock(&p->lock);
	return fd;
}

static void complete_locked(struct sp_segments *p, uint64_t bytes, uint64_t samples)
{
	struct sp_segment *x = &p->done[p->n_done - 1];

	x->bytes = bytes;
	x->samples = samples;
	x->complete = true;
	p->done_bytes += bytes;
	pthread_cond_broadcast(&p->came);
}

void sp_segments_ended(struct sp_segments *p, uint64_t bytes, uint64_t samples)
{
	pthread_mutex_lock(&p->lock);
	complete_locked(p, bytes, samples);
	forget_overwritten(p);
	pthread_mutex_unlock(&p->lock);
}

void sp_segments_finish(struct sp_segments *p, uint64_t bytes, uint64_t samples)
{
	pthread_mutex_lock(&p->lock);
	if (!p->over && make_place(p) == 0) {
		p->done[p->n_done++] = p->now;
		complete_locked(p, bytes, samples);
	}
	p->over = true;
	pthread_mutex_unlock(&p->lock);
}

uint64_t sp_segments_fit(struct sp_segments *p, uint64_t bytes)
{
	uint64_t samples = 0, n;

	pthread_mutex_lock(&p->lock);
	while (p->maxdisk && p->n_done > p->taken && p->done_bytes + bytes > p->maxdisk) {
		n = p->done[p->taken].samples;
		samples += sp_segments_remove(p, p->taken) ? n : 0;
	}
	pthread_mutex_unlock(&p->lock);
	return samples;
}

const char *sp_segments_outputs(struct sp_segments *p, char *buf, size_t size)
{
	buf[0] = 0;
	pthread_mutex_lock(&p->lock);
	if (p->path[0] && !p->remote[0] && !p->end[0] && !strchr(p->path, '\n') &&
		strlen(p->path) + 8 < size)
		snprintf(buf, size, "jfr %s\n", p->path);
	pthread_mutex_unlock(&p->lock);
	return buf;
}

void sp_segments_discard(struct sp_segments *p)
{
	char path[SP_SEGMENTS_PATH];

	if (sp_segments_name(p, &p->id, &p->now, path, NULL) == 0 && unlink(path) == 0)
		remove_directories(p, path);
}
