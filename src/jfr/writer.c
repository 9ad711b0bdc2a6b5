/* The JFR writer: see writer.h. Events are encoded into a buffer as they come, after the table in
 * types.c; a flush writes the new constants (pools.c) and the buffer into the durable file
 * (file.c), or, for a stream, a whole chunk through memory. Runs in the agent's collector. */
#include "jfr/writer.h"

#include "base/buf.h"
#include "base/clock.h"
#include "jfr/event_fields.h"
#include "jfr/file.h"
#include "jfr/meta.h"
#include "jfr/pools.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER	  (256u << 10)
#define STAGING	  (32u << 10)
#define TEXT_MAX  (32u << 10)
#define CONSTANTS (32u << 10) /* of the dictionary's memory in one flush, or a little more */
#define STALL_MS  10000	      /* a pipe nobody reads from for so long is closed to us */

struct sp_jfrw {
	struct sp_jfrw_cfg cfg;
	struct sp_jfr_file file; /* stream: fd and error only */
	struct sp_jfr_pools pools;
	struct sp_buf meta;
	uint8_t *map; /* staging, then events */
	size_t map_len, staging;
	uint8_t *events;
	size_t len, cap;
	size_t dict_used;  /* at the last flush */
	uint64_t streamed; /* bytes of a stream so far */
	uint64_t wall_ns, mono_ns;
	bool over; /* last_words has been there */
};

/* The chunks of a file must add up to its size, all of them finished. */
static int check_chunks(int fd, uint64_t size, struct sp_err *err)
{
	uint64_t at = 0, len;

	for (; at < size; at += len) {
		uint8_t head[SP_JFR_HEADER];

		if (pread(fd, head, sizeof(head), (off_t)at) != sizeof(head) ||
			memcmp(head, "FLR", 4) != 0)
			return sp_err_set(err, -EBADMSG, "the file is not a whole JFR recording");
		len = sp_jfr_take_be64(head + SP_JFR_HEAD_SIZE);
		if (len < sizeof(head) || len > size - at)
			return sp_err_set(err, -EBADMSG,
				"the recording's last chunk is not complete (its writer was "
				"killed)");
	}
	return 0;
}

static int check_fd(int fd, const struct sp_jfrw_cfg *cfg, uint64_t *ret_behind, struct sp_err *err)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fstat(fd, &st) < 0)
		return sp_err_set(err, -errno, "the output is not open: %s", strerror(errno));
	if (cfg->stream)
		return 0;
	if (!S_ISREG(st.st_mode))
		return sp_err_set(err, -EINVAL, "the output is not a regular file");
	if (st.st_size != 0 && !cfg->append)
		return sp_err_set(err, -EEXIST, "the output file is not empty");
	if (flags & O_APPEND || (flags & O_ACCMODE) == O_RDONLY)
		return sp_err_set(err, -EINVAL, "the output file is not open for writing in place");
	*ret_behind = (uint64_t)st.st_size;
	return check_chunks(fd, *ret_behind, err);
}

static void set_defaults(struct sp_jfrw_cfg *cfg)
{
	if (!cfg->buffer)
		cfg->buffer = BUFFER;
	if (cfg->buffer < 2 * TEXT_MAX)
		cfg->buffer = 2 * TEXT_MAX;
	if (!cfg->chunk_size)
		cfg->chunk_size = 64ull << 20;
	if (cfg->chunk_size > 1ull << 30)
		cfg->chunk_size = 1ull << 30; /* readers address a chunk with 31 bits */
	if (!cfg->chunk_time_ns)
		cfg->chunk_time_ns = 3600ull * 1000000000;
}

/* All memory at once. A stream assembles its chunks in the staging part: it must hold what the
 * dictionary can hold (a frame takes up to three times as much there), touched only as used. */
static int map_memory(struct sp_jfrw *w)
{
	w->staging = w->cfg.stream ? 4 * sp_dict_cap(w->pools.dict) + w->cfg.buffer + (64u << 10)
				   : STAGING;
	w->map_len = w->staging + w->cfg.buffer;
	w->map = mmap(NULL, w->map_len, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (w->map == MAP_FAILED) {
		w->map = NULL;
		return -errno;
	}
	w->events = w->map + w->staging;
	w->cap = w->cfg.buffer;
	return 0;
}

static void free_all(struct sp_jfrw *w)
{
	if (w->map)
		munmap(w->map, w->map_len);
	sp_buf_done(&w->meta);
	free(w);
}

static void begin_chunk(struct sp_jfrw *w)
{
	uint64_t wall_ns = sp_clock_wall_ns(), mono_ns = sp_clock_mono_ns();
	uint64_t end_ns = w->wall_ns + (w->mono_ns ? mono_ns - w->mono_ns : 0);

	/* Chunks in a row never start together; and where the clock is set back in between, the
	 * next one goes on where the last one ended, for its events came after. */
	if (end_ns < w->wall_ns + 2)
		end_ns = w->wall_ns + 2;
	w->wall_ns = wall_ns > end_ns ? wall_ns : end_ns;
	w->mono_ns = mono_ns;
	w->dict_used = 0;
	sp_jfr_pools_reset(&w->pools);
}

int sp_jfrw_new(struct sp_jfrw **ret, int fd, struct sp_dict *dict, const struct sp_jfrw_cfg *cfg,
	struct sp_err *err)
{
	struct sp_jfrw *w;
	uint64_t behind = 0;
	int r = check_fd(fd, cfg, &behind, err);

	if (r < 0)
		return r;
	w = calloc(1, sizeof(*w));
	if (!w)
		return sp_err_set(err, -ENOMEM, "no memory for the recording");
	w->cfg = *cfg;
	set_defaults(&w->cfg);
	w->pools.dict = dict;
	sp_buf_init(&w->meta);
	sp_jfr_meta_build(&w->meta);
	r = w->meta.failed ? -ENOMEM : map_memory(w);
	if (r < 0) {
		free_all(w);
		return sp_err_set(err, r, "no memory for the recording");
	}
	begin_chunk(w);
	w->file.fd = fd;
	if (!w->cfg.stream)
		r = sp_jfr_file_begin(&w->file, fd, behind, (const uint8_t *)w->meta.data,
			(uint32_t)w->meta.len, w->wall_ns, w->mono_ns);
	if (r < 0) {
		free_all(w);
		return sp_err_set(err, r, "the output cannot be written: %s", strerror(-r));
	}
	*ret = w;
	return 0;
}

static size_t text_len(const char *s)
{
	size_t len = s ? strnlen(s, TEXT_MAX) : 0;

	if (len == TEXT_MAX)
		while (len && ((uint8_t)s[len] & 0xc0) == 0x80)
			len--;
	return len;
}

/* Upper bound of the encoded fields; moves *v behind the values it has seen. */
static size_t bound_fields(const struct sp_jfr_field *f, const union sp_jfr_val **v)
{
	size_t bound = 0;

	for (; f->name; f++) {
		const struct sp_jfr_type *t = sp_jfr_type(f->type);

		if (t->fields && !(f->flags & SP_JFR_POOL)) {
			bound += bound_fields(t->fields, v);
			continue;
		}
		bound += SP_JFR_MAX_LONG;
		if (f->type == SP_JFR_STRING && !(f->flags & SP_JFR_POOL))
			bound += text_len((*v)->s);
		(*v)++;
	}
	return bound;
}

static uint8_t *put_text(uint8_t *p, const char *s)
{
	size_t len = text_len(s);

	if (!len) {
		*p++ = s ? SP_JFR_STR_EMPTY : SP_JFR_STR_NULL;
		return p;
	}
	*p++ = SP_JFR_STR_UTF8;
	p = sp_jfr_put_long(p, len);
	memcpy(p, s, len);
	return p + len;
}

static uint8_t *put_plain(uint8_t *p, uint8_t type, const union sp_jfr_val *v)
{
	uint32_t bits;
	uint64_t bits64;
	float f;

	switch (type) {
	case SP_JFR_STRING:
		return put_text(p, v->s);
	case SP_JFR_BOOLEAN:
	case SP_JFR_BYTE:
		*p++ = (uint8_t)v->u;
		return p;
	case SP_JFR_FLOAT:
		f = (float)v->f;
		memcpy(&bits, &f, 4);
		return sp_jfr_put_be32(p, bits);
	case SP_JFR_DOUBLE:
		memcpy(&bits64, &v->f, 8);
		return sp_jfr_put_be64(p, bits64);
	case SP_JFR_INT:
		return sp_jfr_put_long(p, (uint32_t)v->u);
	default:
		return sp_jfr_put_long(p, v->u);
	}
}

/* Ids of the fixed pools are written as they are; the others are the dictionary's. */
static uint64_t pool_key(struct sp_jfrw *w, uint8_t type, uint64_t id)
{
	switch (type) {
	case SP_JFR_THREAD_STATE:
	case SP_JFR_FRAME_TYPE:
	case SP_JFR_GC_WHEN:
		return id;
	case SP_JFR_STRING:
	case SP_JFR_CLASS:
	case SP_JFR_GC_NAME:
	case SP_JFR_GC_CAUSE:
		if (sp_jfr_pools_refer(&w->pools, type, (uint32_t)id) < 0)
			return 0; /* cannot happen: sp_jfrw_event made room */
	}
	return sp_jfr_key(&w->pools, (uint32_t)id);
}

static uint8_t *put_fields(
	struct sp_jfrw *w, uint8_t *p, const struct sp_jfr_field *f, const union sp_jfr_val **v)
{
	for (; f->name; f++) {
		const struct sp_jfr_type *t = sp_jfr_type(f->type);

		if (f->flags & SP_JFR_POOL)
			p = sp_jfr_put_long(p, pool_key(w, f->type, (*v)++->u));
		else if (t->fields)
			p = put_fields(w, p, t->fields, v);
		else
			p = put_plain(p, f->type, (*v)++);
	}
	return p;
}

static int flush(struct sp_jfrw *w);
static void last_words(struct sp_jfrw *w, int error);

/* The first seconds bring constants by the megabyte. In pieces they cost no more to write, and a
 * disk that is nearly full keeps all but the last piece. A stream repeats its constants with every
 * flush: there it waits for the second to end. */
static bool many_constants(const struct sp_jfrw *w)
{
	return !w->cfg.stream && sp_dict_used(w->pools.dict) > w->dict_used + CONSTANTS;
}

/* There is room. */
static void append_event(struct sp_jfrw *w, enum sp_jfr_type_id type, const union sp_jfr_val *vals)
{
	uint8_t *at = w->events + w->len, *end;
	uint8_t *body = at + 1; /* most events are shorter than 128 bytes: one byte of size */
	size_t size;

	end = put_fields(w, sp_jfr_put_long(body, type), sp_jfr_type(type)->fields, &vals);
	size = 1 + (size_t)(end - body);
	if (size >= 128) {
		memmove(body + 3, body, (size_t)(end - body));
		size += 3;
		sp_jfr_put_fixed(at, (uint32_t)size);
	} else {
		*at = (uint8_t)size;
	}
	w->len += size;
}

/* The recording itself says why it ends. */
static void last_words(struct sp_jfrw *w, int error)
{
	uint64_t now = sp_clock_mono_ns();
	char text[128];

	snprintf(text, sizeof(text), "the recording ends early: it could not be written (%s)",
		error == -ENOSPC ? "no space left on its disk" : strerror(-error));
	w->over = true;
	append_event(
		w, SP_JFR_EVENT(ACTIVE_SETTING, .startTime.u = now, .id.u = SP_JFR_EXECUTION_SAMPLE,
			   .name.s = "note", .value.s = text));
	sp_jfr_file_last_words(&w->file, w->events, w->len, now);
	w->len = 0;
}

void sp_jfrw_event(struct sp_jfrw *w, enum sp_jfr_type_id type, const union sp_jfr_val *vals)
{
	const struct sp_jfr_type *t = sp_jfr_type(type);
	const union sp_jfr_val *v = vals;
	size_t bound;

	if (!t || t->kind != SP_JFR_KIND_EVENT || w->file.error)
		return;
	bound = bound_fields(t->fields, &v) + SP_JFR_MAX_INT + 2;
	if (bound > w->cap - w->len || w->pools.pending_count + 8 > SP_JFR_PENDING ||
		many_constants(w))
		flush(w);
	if (bound > w->cap - w->len)
		return; /* after an error; no event is larger than an empty buffer */
	append_event(w, type, vals);
}

void sp_jfrw_sample(
	struct sp_jfrw *w, uint64_t time_ns, uint32_t thread, uint32_t stack, enum sp_state state)
{
	sp_jfrw_event(
		w, SP_JFR_EVENT(EXECUTION_SAMPLE, .startTime.u = time_ns, .sampledThread.u = thread,
			   .stackTrace.u = stack, .state.u = state));
}

void sp_jfrw_wall(struct sp_jfrw *w, uint64_t time_ns, uint32_t thread, uint32_t stack,
	enum sp_state state, uint32_t samples, uint64_t span_ns)
{
	sp_jfrw_event(w, SP_JFR_EVENT(WALL_SAMPLE, .startTime.u = time_ns,
				 .sampledThread.u = thread, .stackTrace.u = stack, .state.u = state,
				 .samples.u = samples, .timeSpan.u = span_ns));
}

/* New constants and the events into the file's room, and makes them part of the recording. */
static int flush_file(struct sp_jfrw *w)
{
	struct sp_jfr_sink s = {.buf = w->map, .cap = w->staging, .file = &w->file};
	uint8_t head[SP_JFR_CHECKPOINT_BYTES];
	uint32_t pools, size;
	uint64_t at;

	at = sp_jfr_file_reserve(&w->file, sp_jfr_pools_bound(&w->pools) + w->len);
	if (!at)
		return w->file.error;
	s.base = at;
	pools = sp_jfr_pools_write(&w->pools, &s);
	size = (uint32_t)(sp_jfr_sink_at(&s) - at);
	sp_jfr_checkpoint(
		head, size, (uint32_t)(sp_jfr_file_next(&w->file, size + w->len) - at), pools);
	sp_jfr_sink_patch(&s, at, head, sizeof(head));
	sp_jfr_sink_flush(&s);
	sp_jfr_file_write(&w->file, at + size, w->events, w->len);
	return sp_jfr_file_commit(&w->file, size + w->len, sp_clock_mono_ns());
}

/* Writes all of it to a pipe, waiting for a slow reader. */
static int write_stream(struct sp_jfrw *w, const uint8_t *data, size_t len)
{
	while (len) {
		ssize_t n = write(w->file.fd, data, len);
		struct pollfd p = {.fd = w->file.fd, .events = POLLOUT};

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN && poll(&p, 1, STALL_MS) > 0)
			continue;
		if (n <= 0)
			return -(n < 0 ? errno : EIO);
		data += n;
		len -= (size_t)n;
		w->streamed += (uint64_t)n;
	}
	return 0;
}

/* A whole chunk in memory, then to the pipe. */
static int flush_stream(struct sp_jfrw *w)
{
	struct sp_jfr_sink s = {.buf = w->map, .cap = w->staging};
	uint64_t pool = SP_JFR_HEADER + w->meta.len;
	uint8_t head[SP_JFR_CHECKPOINT_BYTES];
	uint32_t pools;

	sp_jfr_pools_bound(&w->pools); /* notes classes and packages */
	s.len = SP_JFR_HEADER;
	sp_jfr_sink_bytes(&s, w->meta.data, w->meta.len);
	pools = sp_jfr_pools_write(&w->pools, &s);
	sp_jfr_checkpoint(head, (uint32_t)(sp_jfr_sink_at(&s) - pool), 0, pools);
	sp_jfr_sink_patch(&s, pool, head, sizeof(head));
	sp_jfr_sink_bytes(&s, w->events, w->len);
	if (s.error)
		return s.error;
	sp_jfr_header(w->map, s.len, pool, SP_JFR_HEADER, w->wall_ns,
		sp_clock_mono_ns() - w->mono_ns, w->mono_ns);
	return write_stream(w, w->map, s.len);
}

/* Returns 0 or the first error; events that could not be written are dropped. */
static int flush(struct sp_jfrw *w)
{
	int r = w->file.error;

	if (r == 0 && w->cfg.stream) {
		r = flush_stream(w);
		madvise(w->map, w->staging, MADV_DONTNEED);
		begin_chunk(w);
	} else if (r == 0 && (w->len || !w->pools.started)) {
		r = flush_file(w);
	}
	w->len = 0;
	if (r < 0 && !w->cfg.stream && !w->over)
		last_words(w, r);
	w->file.error = r;
	w->dict_used = sp_dict_used(w->pools.dict);
	return r;
}

int sp_jfrw_rotate(struct sp_jfrw *w)
{
	int r = flush(w);

	if (r < 0 || w->cfg.stream)
		return r < 0 ? r : 1;
	begin_chunk(w);
	r = sp_jfr_file_rotate(&w->file, w->wall_ns, w->mono_ns);
	return r < 0 ? r : 1;
}

int sp_jfrw_switch(struct sp_jfrw *w, int fd)
{
	int r = flush(w);

	if (r == 0)
		r = sp_jfr_file_finish(&w->file);
	if (r < 0)
		return r;
	begin_chunk(w);
	r = sp_jfr_file_begin(&w->file, fd, 0, (const uint8_t *)w->meta.data, (uint32_t)w->meta.len,
		w->wall_ns, w->mono_ns);
	return r < 0 ? r : 1;
}

int sp_jfrw_flush(struct sp_jfrw *w)
{
	uint64_t size = w->file.c.pad - w->file.c.start;

	if (w->cfg.stream || size >= w->cfg.chunk_size ||
		sp_clock_mono_ns() - w->mono_ns >= w->cfg.chunk_time_ns)
		return sp_jfrw_rotate(w);
	return flush(w);
}

int sp_jfrw_close(struct sp_jfrw *w)
{
	int r = flush(w);

	if (r == 0 && !w->cfg.stream)
		r = sp_jfr_file_finish(&w->file);
	free_all(w);
	return r;
}

uint64_t sp_jfrw_bytes(const struct sp_jfrw *w)
{
	return (w->cfg.stream ? w->streamed : w->file.c.pad) + w->len;
}

int sp_jfrw_error(const struct sp_jfrw *w)
{
	return w->file.error;
}
