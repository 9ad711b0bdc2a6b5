/* A recording's bytes: see source.h. Read by pieces and never mapped, because a recording that is
 * still being written may become shorter. */
#include "jfr/source.h"

#include "jfr/cursor.h"
#include "jfr/put.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIPE_MAX (1ull << 32)

int sp_jfr_source_open(struct sp_jfr_source *s, int fd, struct sp_err *err)
{
	struct stat st;
	int r;

	memset(s, 0, sizeof(*s));
	s->fd = fd;
	sp_buf_init(&s->all);
	if (fstat(fd, &st) < 0)
		return sp_err_set(err, -errno, "the recording cannot be read: %s", strerror(errno));
	s->size = (uint64_t)st.st_size;
	if (S_ISREG(st.st_mode))
		return 0;
	s->whole = true;
	r = sp_buf_read_fd(&s->all, fd, PIPE_MAX);
	s->size = s->all.len;
	return r < 0 ? sp_err_set(err, r, "the recording cannot be read: %s", strerror(-r)) : 0;
}

void sp_jfr_source_done(struct sp_jfr_source *s)
{
	sp_buf_done(&s->all);
	free(s->piece);
}

/* @len bytes at @offset, fewer if the file has become shorter. Returns how many, or -errno. */
static int64_t source_get(
	struct sp_jfr_source *s, uint64_t offset, uint64_t len, const uint8_t **ret)
{
	uint64_t got = 0;

	if (s->whole) {
		*ret = (const uint8_t *)s->all.data + offset;
		return (int64_t)len;
	}
	if (len > s->cap) {
		free(s->piece);
		s->cap = 0;
		s->piece = malloc(len);
		if (!s->piece)
			return -ENOMEM;
		s->cap = len;
	}
	while (got < len) {
		ssize_t n = pread(s->fd, s->piece + got, len - got, (off_t)(offset + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (uint64_t)n;
	}
	*ret = s->piece;
	return (int64_t)got;
}

int64_t sp_jfr_source_find(struct sp_jfr_source *s, uint64_t at)
{
	const uint8_t *p = NULL, *hit;

	while (at + SP_JFR_HEADER <= s->size) {
		uint64_t len = s->size - at < 1 << 20 ? s->size - at : 1 << 20;
		int64_t got = source_get(s, at, len, &p);

		if (got < 6)
			return got < 0 ? got : (int64_t)s->size;
		hit = memmem(p, (size_t)got, "FLR\0\0", 5);
		if (hit)
			return (int64_t)(at + (uint64_t)(hit - p));
		at += (uint64_t)got - 4;
		if ((uint64_t)got < len || at + 5 > s->size)
			break;
	}
	return (int64_t)s->size;
}

int64_t sp_jfr_source_chunk(struct sp_jfr_source *s, uint64_t at, const uint8_t **ret)
{
	struct sp_jfr_cursor h;
	int64_t got =
		source_get(s, at, SP_JFR_HEADER < s->size - at ? SP_JFR_HEADER : s->size - at, ret);
	uint64_t size;

	if (got < SP_JFR_HEADER)
		return got;
	h = (struct sp_jfr_cursor){.p = *ret + 8, .end = *ret + SP_JFR_HEADER};
	size = sp_jfr_get_be(&h, 8);
	if (size < SP_JFR_HEADER || size > s->size - at)
		size = s->size - at;
	return source_get(s, at, size, ret);
}
