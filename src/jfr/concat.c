/* Concatenation of recordings: see concat.h. */
#include "jfr/concat.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "jfr/encode.h"
#include "jfr/writer.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { COPY = 1 << 16, DICT = 1 << 20 };

int sp_jfr_concat_append(int from, int to)
{
	char buf[COPY];
	off_t at = 0;

	for (;;) {
		ssize_t n = pread(from, buf, sizeof(buf), at);
		int r = n > 0 ? sp_io_write_all(to, buf, (size_t)n) : 0;

		if (n == 0 || r < 0)
			return r;
		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? n : 0;
	}
}

/* It has the time of what comes behind it, and takes none. Its metadata gets an id of its own:
 * readers keep what they know from chunk to chunk by it. */
static int set_apart(int fd, int next)
{
	enum { ID_AT = 7 }; /* in the metadata event, after size, type, start, duration */
	uint8_t place[8], when[16] = {0}, id; /* start and duration */
	off_t at;

	if (pread(next, when, 8, SP_JFR_HEAD_START) != 8 ||
		pwrite(fd, when, sizeof(when), SP_JFR_HEAD_START) != sizeof(when) ||
		pread(fd, place, sizeof(place), SP_JFR_HEAD_METADATA) != sizeof(place))
		return -EIO;
	at = (off_t)sp_jfr_take_be64(place) + ID_AT;
	if (pread(fd, &id, 1, at) != 1)
		return -EIO;
	id ^= 1;
	return pwrite(fd, &id, 1, at) == 1 ? 0 : -EIO;
}

int sp_jfr_concat_separator(int to, int next)
{
	/* glibc has it since 2.27 */
	SP_AUTO_CLOSE int fd = (int)syscall(SYS_memfd_create, "sparkprof", MFD_CLOEXEC);
	struct sp_jfrw_cfg cfg = {.buffer = 1 << 16};
	struct sp_dict *dict = NULL;
	struct sp_jfrw *w;
	int r = fd < 0 ? -errno : sp_dict_new(&dict, DICT);

	if (r == 0)
		r = sp_jfrw_new(&w, fd, dict, &cfg, NULL);
	if (r == 0)
		r = sp_jfrw_close(w);
	if (r == 0)
		r = set_apart(fd, next);
	sp_dict_free(dict);
	return r < 0 ? r : sp_jfr_concat_append(fd, to);
}

int sp_jfr_concat_zero_durations(int fd)
{
	static const uint8_t none[8];
	uint8_t head[SP_JFR_HEADER];
	uint64_t size;

	for (off_t at = 0; pread(fd, head, SP_JFR_HEADER, at) == SP_JFR_HEADER; at += (off_t)size) {
		size = sp_jfr_take_be64(head + SP_JFR_HEAD_SIZE);
		if (memcmp(head, "FLR", 4) != 0 || size < SP_JFR_HEADER || size > INT64_MAX / 2)
			return -EBADMSG;
		if (pwrite(fd, none, sizeof(none), at + SP_JFR_HEAD_DURATION) != sizeof(none))
			return -errno;
	}
	return 0;
}

int sp_jfr_concat_join(int from, int to)
{
	struct stat st;
	int r = fstat(from, &st) < 0 ? -errno : 0;

	if (r < 0 || st.st_size == 0)
		return r;
	r = sp_jfr_concat_zero_durations(from);
	if (r == 0 && lseek(to, 0, SEEK_END) < 0 && errno != ESPIPE)
		r = -errno;
	if (r == 0)
		r = sp_jfr_concat_separator(to, from);
	if (r == 0)
		r = sp_jfr_concat_append(from, to);
	return r == 0 && ftruncate(from, 0) < 0 ? -errno : r;
}

int sp_jfr_concat_shift(int fd, int64_t ns)
{
	uint8_t head[SP_JFR_HEADER], start[8];
	uint64_t size;

	for (off_t at = 0; pread(fd, head, SP_JFR_HEADER, at) == SP_JFR_HEADER; at += (off_t)size) {
		size = sp_jfr_take_be64(head + SP_JFR_HEAD_SIZE);
		if (memcmp(head, "FLR", 4) != 0)
			return -EBADMSG;
		sp_jfr_put_be64(start, sp_jfr_take_be64(head + SP_JFR_HEAD_START) + (uint64_t)ns);
		if (pwrite(fd, start, sizeof(start), at + SP_JFR_HEAD_START) != sizeof(start))
			return -errno;
		if (size < SP_JFR_HEADER || size > INT64_MAX / 2)
			return 0; /* the last one, of a writer that was killed */
	}
	return 0;
}
