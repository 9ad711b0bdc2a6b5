/* See join_jfr.h. */
#include "join_jfr.h"

#include "base/cleanup.h"
#include "jfr/encode.h"
#include "jfr/writer.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COPY = 1 << 16, DICT = 1 << 20 };

int sp_join_append(int from, int to)
{
	char buf[COPY];
	off_t at = 0;

	for (;;) {
		ssize_t n = pread(from, buf, sizeof(buf), at), done = 0;

		if (n == 0)
			return 0;
		while (n > 0 && done < n) {
			ssize_t w = write(to, buf + done, (size_t)(n - done));

			if (w < 0 && errno != EINTR)
				return -errno;
			done += w > 0 ? w : 0;
		}
		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? n : 0;
	}
}

/* It has the time of what comes behind it, and takes none. Its metadata gets an id of its own:
 * readers keep what they know from chunk to chunk by it. */
static int set_apart(int fd, int next)
{
	enum { META_AT = 24, START_AT = 32, ID_AT = 7 }; /* behind size, type, start, duration */
	uint8_t place[8], when[16] = {0}, id;		 /* start and duration */
	off_t at;

	if (pread(next, when, 8, START_AT) != 8 ||
		pwrite(fd, when, sizeof(when), START_AT) != sizeof(when) ||
		pread(fd, place, sizeof(place), META_AT) != sizeof(place))
		return -EIO;
	at = (off_t)sp_jfr_take_be64(place) + ID_AT;
	if (pread(fd, &id, 1, at) != 1)
		return -EIO;
	id ^= 1;
	return pwrite(fd, &id, 1, at) == 1 ? 0 : -EIO;
}

int sp_join_write_separator(int to, int next)
{
	SP_AUTO_CLOSE int fd = memfd_create("sparkprof", MFD_CLOEXEC);
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
	return r < 0 ? r : sp_join_append(fd, to);
}

int sp_join_zero_durations(int fd)
{
	enum { HEADER = 68, SIZE_AT = 8, DURATION_AT = 40 };
	static const uint8_t none[8];
	uint8_t head[HEADER];
	uint64_t size;

	for (off_t at = 0; pread(fd, head, HEADER, at) == HEADER; at += (off_t)size) {
		size = sp_jfr_take_be64(head + SIZE_AT);
		if (memcmp(head, "FLR", 4) != 0 || size < HEADER || size > INT64_MAX / 2)
			return -EBADMSG;
		if (pwrite(fd, none, sizeof(none), at + DURATION_AT) != sizeof(none))
			return -errno;
	}
	return 0;
}
