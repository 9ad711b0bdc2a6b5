/* Where the chunks of a file start, read from their headers alone: see reader.h. */
#include "jfr/chunk.h"
#include "jfr/encode.h"
#include "jfr/reader.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static void widen(uint64_t *start_ns, uint64_t *end_ns, const struct sp_jfr_chunk_data *c)
{
	uint64_t end = c->start_ns + c->duration_ns;

	if (!*start_ns || c->start_ns < *start_ns)
		*start_ns = c->start_ns;
	if (end > *end_ns)
		*end_ns = end;
}

size_t sp_jfr_chunks(
	int fd, uint64_t *starts, size_t max, uint64_t *ret_start_ns, uint64_t *ret_end_ns)
{
	uint8_t head[SP_JFR_HEADER];
	uint64_t at = 0, size;
	size_t n = 0;
	struct stat st;
	bool open_end = false;

	*ret_start_ns = *ret_end_ns = 0;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	size = (uint64_t)st.st_size;
	while (n < max && at < size) {
		struct sp_jfr_cursor c = {.p = head + SP_JFR_HEAD_SIZE, .end = head + sizeof(head)};
		struct sp_jfr_chunk_data chunk;
		uint64_t len;

		if (pread(fd, head, sizeof(head), (off_t)at) != sizeof(head) ||
			sp_jfr_chunk_open(&chunk, head, sizeof(head), at, NULL) < 0)
			break;
		starts[n++] = at;
		widen(ret_start_ns, ret_end_ns, &chunk);
		len = sp_jfr_get_be(&c, 8);
		open_end |= head[SP_JFR_HEAD_STATE] != 0 || chunk.duration_ns == 0;
		if (len < SP_JFR_HEADER || len > size - at)
			break;
		at += len;
	}
	if (open_end || at < size)
		*ret_end_ns = 0;
	return n;
}
