/* A recording's bytes: see chunk_source.h. A chunk that its writer has finished is mapped, so that
 * memory does not grow with it. One that may still be written to is read instead: its file may
 * become shorter, and a mapping would then kill the reader. */
#include "jfr/chunk_source.h"

#include "jfr/cursor.h"
#include "jfr/encode.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PIPE_MAX (1ull << 32)
#define PAGE	 4096u
#define QUIET_S	 10
#define MAP_FROM (1u << 20) /* smaller chunks are read: that is quicker */
#define SMALL	 (8u << 20) /* chunks that are kept mapped until they are read */
#define HOLE	 (1l << 20)
#define READ_MAX (512ull << 20) /* no chunk is as large: its header is damaged */

int sp_jfr_chunk_source_open(struct sp_jfr_chunk_source *s, int fd, struct sp_err *err)
{
	struct stat st;
	int r;

	memset(s, 0, sizeof(*s));
	s->fd = fd;
	sp_buf_init(&s->all);
	if (fstat(fd, &st) < 0)
		return sp_err_set(err, -errno, "the recording cannot be read: %s", strerror(errno));
	s->size = (uint64_t)st.st_size;
	/* writers flush once a second; a recording's last chunk says nothing about its end */
	s->quiet = st.st_mtime + QUIET_S < time(NULL);
	if (S_ISREG(st.st_mode))
		return 0;
	s->whole = true;
	r = sp_buf_read_fd(&s->all, fd, PIPE_MAX);
	s->size = s->all.len;
	return r < 0 ? sp_err_set(err, r, "the recording cannot be read: %s", strerror(-r)) : 0;
}

static void unmap(struct sp_jfr_chunk_source *s)
{
	if (s->map)
		munmap(s->map, s->map_len);
	s->map = NULL;
}

void sp_jfr_chunk_source_relax(struct sp_jfr_chunk_source *s)
{
	if (s->map && s->map_len > SMALL)
		madvise(s->map, s->map_len, MADV_DONTNEED);
}

/* Maps @len bytes at @offset. Returns NULL where that cannot be. */
static const uint8_t *map(struct sp_jfr_chunk_source *s, uint64_t offset, uint64_t len)
{
	uint64_t start = offset & ~(uint64_t)(PAGE - 1);
	void *p = mmap(NULL, len + (offset - start), PROT_READ, MAP_PRIVATE, s->fd, (off_t)start);

	if (p == MAP_FAILED)
		return NULL;
	s->map = p;
	s->map_len = len + (offset - start);
	return (const uint8_t *)p + (offset - start);
}

void sp_jfr_chunk_source_done(struct sp_jfr_chunk_source *s)
{
	unmap(s);
	sp_buf_done(&s->all);
	free(s->piece);
}

/* Where the first long hole behind @at begins, or the file's end. Copies may have short ones, where
 * a chunk has zeros. */
static uint64_t hole_from(const struct sp_jfr_chunk_source *s, uint64_t at)
{
	off_t hole, data = (off_t)at;

	do {
		hole = s->whole ? -1 : lseek(s->fd, data, SEEK_HOLE);
		if (hole < data || (uint64_t)hole >= s->size)
			return s->size;
		data = lseek(s->fd, hole, SEEK_DATA);
	} while (data > hole && data - hole < HOLE);
	return (uint64_t)hole;
}

/* @len bytes at @offset, fewer if the file has become shorter. Returns how many, or -errno. */
static int64_t source_get(
	struct sp_jfr_chunk_source *s, uint64_t offset, uint64_t len, const uint8_t **ret)
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

int64_t sp_jfr_chunk_source_find(struct sp_jfr_chunk_source *s, uint64_t at)
{
	const uint8_t *p = NULL, *hit;

	while (at + SP_JFR_HEADER <= s->size) {
		off_t data = s->whole ? (off_t)at : lseek(s->fd, (off_t)at, SEEK_DATA);
		uint64_t len;
		int64_t got;

		if (data < 0 && errno == ENXIO)
			break; /* nothing but a hole to the end */
		at = data > (off_t)at ? (uint64_t)data : at;
		len = s->size - at < 1 << 20 ? s->size - at : 1 << 20;
		got = source_get(s, at, len, &p);

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

int64_t sp_jfr_chunk_source_chunk(struct sp_jfr_chunk_source *s, uint64_t at, const uint8_t **ret)
{
	struct sp_jfr_cursor h;
	int64_t got;
	const uint8_t *mapped;
	uint64_t size, hole;
	bool finished;

	unmap(s);
	got = source_get(s, at, SP_JFR_HEADER < s->size - at ? SP_JFR_HEADER : s->size - at, ret);
	if (got < SP_JFR_HEADER || memcmp(*ret, "FLR", 4) != 0)
		return got;
	h = (struct sp_jfr_cursor){.p = *ret + 8, .end = *ret + SP_JFR_HEADER};
	size = sp_jfr_get_be(&h, 8);
	finished = (*ret)[64] == 0 && size >= MAP_FROM &&
		   (size < s->size - at || (s->quiet && size == s->size - at));
	if (size < SP_JFR_HEADER || size > s->size - at)
		size = s->size - at;
	mapped = finished && !s->whole ? map(s, at, size) : NULL;
	if (mapped) {
		*ret = mapped;
		return (int64_t)size;
	}
	hole = hole_from(s, at) - at;
	size = size < hole ? size : hole;
	return source_get(s, at, size < READ_MAX ? size : READ_MAX, ret);
}
