/* The durable file: file.h has the protocol. Called by the writer only. Every function leaves the
 * file valid, also when a write in it fails. */
#include "jfr/file.h"

#include "jfr/encode.h"
#include "jfr/types.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define STUB   8u /* a committed pad */
#define LINK   8u /* E */
#define HEAD   (STUB + LINK)
#define BRIDGE 12u /* the event behind a chunk's header; a pad for the outer chunk inside of it */
#define OUTER  70u /* 'F': where the outer chunk goes on reading */
#define LOW    14u /* P covers 8 + n * 16 KB … */
#define HIGH   21u /* … or 8 + n * 2 MB */
#define GROW   65536u
#define FIRST  65536u
#define EMPTY  512u /* more than an empty chunk has before its pad */

static int fail(struct sp_jfr_file *f, int error)
{
	if (!f->error)
		f->error = error;
	return f->error;
}

int sp_jfr_file_write(struct sp_jfr_file *f, uint64_t offset, const void *data, size_t len)
{
	const char *from = data;

	while (len && !f->error) {
		ssize_t n = pwrite(f->fd, from, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(f, n < 0 ? -errno : -EIO);
		from += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return f->error;
}

/* Rewrites a header field, only the bytes that differ: mostly one. */
static int change_field(struct sp_jfr_file *f, uint64_t offset, uint64_t from, uint64_t to)
{
	uint8_t old[8], new[8];
	size_t a = 0, b = 8;

	sp_jfr_put_be64(old, from);
	sp_jfr_put_be64(new, to);
	while (a < 8 && old[a] == new[a])
		a++;
	while (b > a && old[b - 1] == new[b - 1])
		b--;
	return b > a ? sp_jfr_file_write(f, offset + a, new + a, b - a) : f->error;
}

void sp_jfr_header(uint8_t *to, uint64_t size, uint64_t pool, uint64_t meta, uint64_t wall_ns,
	uint64_t duration_ns, uint64_t mono_ns)
{
	memcpy(to, "FLR\0", 4);
	to = sp_jfr_put_be32(to + 4, 0x00020001);
	to = sp_jfr_put_be64(to, size);
	to = sp_jfr_put_be64(to, pool);
	to = sp_jfr_put_be64(to, meta);
	to = sp_jfr_put_be64(to, wall_ns);
	to = sp_jfr_put_be64(to, duration_ns);
	to = sp_jfr_put_be64(to, mono_ns);
	to = sp_jfr_put_be64(to, 1000000000);
	sp_jfr_put_be32(to, 1); /* integers are compressed; state 0: the chunk is finished */
}

void sp_jfr_checkpoint(uint8_t *to, uint32_t size, uint32_t link, uint32_t pools)
{
	to = sp_jfr_put_fixed(to, size);
	*to++ = SP_JFR_CHECKPOINT;
	*to++ = 0; /* start */
	*to++ = 0; /* duration */
	to = sp_jfr_put_fixed(to, link);
	*to++ = 0; /* kind: generic */
	sp_jfr_put_fixed(to, pools);
}

static void put_pad(uint8_t *to, uint64_t len)
{
	to = sp_jfr_put_fixed(to, (uint32_t)len);
	*to = SP_JFR_METADATA;
}

#define PAD 5u

/* P and E as they are before a flush. */
static void put_head(uint8_t *to, uint64_t len)
{
	static const uint8_t link[LINK] = {0x80 | LINK, 0, SP_JFR_CHECKPOINT, 0, 0, 0, 0, 0};

	memset(to, 0, HEAD);
	put_pad(to, len);
	memcpy(to + STUB, link, LINK);
}

#define LINK_BYTE 5u /* of E: what its link is */

/* Header and bridge of a chunk of @size bytes. */
static void put_front(uint8_t *to, uint64_t size, uint64_t pool, uint64_t wall_ns, uint64_t mono_ns)
{
	sp_jfr_header(to, size, pool, SP_JFR_HEADER + BRIDGE, wall_ns, 0, mono_ns);
	memset(to + SP_JFR_HEADER, 0, BRIDGE);
	to[SP_JFR_HEADER] = BRIDGE;
	to[SP_JFR_HEADER + 1] = SP_JFR_METADATA;
	put_pad(to + OUTER, size - OUTER);
}

/* An empty chunk: what it takes before its pad is written to @to, the pad's head included.
 * Its metadata declares one type, for Mission Control wants one; its start differs from its
 * neighbours', for it takes chunks that start together for copies. Returns the bytes written, at
 * most EMPTY. */
static size_t put_empty(uint8_t *to, uint64_t size, uint64_t wall_ns, uint64_t mono_ns)
{
	static const char *const words[] = {"root", "metadata", "region", "locale", "en_US",
		"gmtOffset", "0", "class", "name", "boolean", "id", "4"};
	static const uint8_t tree[] = {
		0, 0, 2, 1, 0, 1, 7, 2, 8, 9, 10, 11, 0, 2, 2, 3, 4, 5, 6, 0};
	uint8_t *meta = to + SP_JFR_HEADER + BRIDGE, *p = meta + 4;
	size_t link;

	*p++ = SP_JFR_METADATA;
	*p++ = 0; /* start */
	*p++ = 0; /* duration */
	p = sp_jfr_put_long(
		p, 0x5350454d); /* an id of its own: readers keep what they know by it */
	*p++ = sizeof(words) / sizeof(words[0]);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		*p++ = SP_JFR_STR_UTF8;
		*p++ = (uint8_t)strlen(words[i]);
		memcpy(p, words[i], strlen(words[i]));
		p += strlen(words[i]);
	}
	memcpy(p, tree, sizeof(tree));
	p += sizeof(tree);
	sp_jfr_put_fixed(meta, (uint32_t)(p - meta));
	link = (size_t)(p - to) + STUB;
	put_head(p, STUB); /* a stub, then the checkpoint in the open */
	p += HEAD;
	put_pad(p, size - (uint64_t)(p - to));
	put_front(to, size, link, wall_ns, mono_ns);
	return (size_t)(p - to) + PAD;
}

/* How much a pad at @pad may cover in a chunk that ends at @end: most by 16 KB steps, unless @need
 * asks for the large ones. Returns the end of the cover, or 0 if there is no room for a step. */
static uint64_t choose_cover(uint64_t pad, uint64_t end, uint64_t need, uint8_t *ret_shift)
{
	uint8_t shift = need > 126ull << LOW ? HIGH : LOW;
	uint64_t steps;

	if (pad + STUB + PAD + 3 > end)
		return 0;
	steps = (end - pad - STUB - PAD - 3) >> shift;
	if (!steps)
		return 0;
	*ret_shift = shift;
	return pad + STUB + ((steps < 127 ? steps : 127) << shift);
}

/* The distance from the end of @len bytes of a flush to the next P: none, or enough for an event.
 */
static uint64_t gap_of(const struct sp_jfr_file *f, uint64_t len)
{
	uint64_t gap = -(f->c.pad + HEAD + len) & 15;

	return gap == 1 ? 17 : gap;
}

uint64_t sp_jfr_file_next(const struct sp_jfr_file *f, uint64_t len)
{
	return f->c.pad + HEAD + len + gap_of(f, len) + STUB;
}

/* Flips the two bytes that make what is behind E part of the recording. */
static int flip(struct sp_jfr_file *f, uint64_t now_ns)
{
	uint8_t link = LINK, zero[2] = {0x80, 0}, duration[8];
	uint64_t pad = f->c.pad;

	f->now_ns = now_ns > f->c.mono_ns ? now_ns : f->c.mono_ns;
	sp_jfr_put_be64(duration, f->now_ns - f->c.mono_ns);
	sp_jfr_file_write(f, f->c.start + 40, duration, 8);
	sp_jfr_file_write(f, pad + STUB + LINK_BYTE, &link, 1);
	if (f->c.shift == LOW)
		return sp_jfr_file_write(f, pad + 2, &zero[0], 1);
	return sp_jfr_file_write(f, pad + 3, &zero[1], 1);
}

/* Writes the next P, E and Q behind @len bytes and commits; @skip more bytes are left out before P.
 */
static int commit(
	struct sp_jfr_file *f, uint64_t len, uint64_t skip, uint64_t need, uint64_t now_ns)
{
	uint64_t at = f->c.pad + HEAD + len, gap = gap_of(f, len) + skip, pad = at + gap, cover;
	uint8_t head[17 + HEAD] = {0}, *p = head, q[PAD], shift;

	cover = choose_cover(pad, f->end, need, &shift);
	if (!cover)
		return fail(f, -ENOSPC); /* reserve saw to it: cannot happen */
	if (skip) {
		put_pad(q, gap);
		sp_jfr_file_write(f, at, q, PAD);
		at = pad;
	} else if (gap) {
		*p = (uint8_t)gap; /* and a zero: type metadata */
		p += gap;
	}
	put_head(p, cover - pad);
	sp_jfr_file_write(f, at, head, (size_t)(p - head) + HEAD);
	if (cover != f->c.cover) {
		put_pad(q, f->end - cover);
		sp_jfr_file_write(f, cover, q, PAD);
	}
	if (flip(f, now_ns) < 0)
		return f->error;
	f->c.pad = pad;
	f->c.cover = cover;
	f->c.shift = shift;
	return 0;
}

int sp_jfr_file_commit(struct sp_jfr_file *f, uint64_t len, uint64_t now_ns)
{
	return commit(f, len, 0, 0, now_ns);
}

/* A flush of nothing: moves P and E on, so that P covers @need. @skip as for commit. */
static int commit_nothing(struct sp_jfr_file *f, uint64_t skip, uint64_t need)
{
	uint8_t c[SP_JFR_CHECKPOINT_BYTES];
	uint64_t at = f->c.pad + HEAD;
	uint64_t next = sp_jfr_file_next(f, sizeof(c)) + skip;

	sp_jfr_checkpoint(c, sizeof(c), (uint32_t)(next - at), 0);
	sp_jfr_file_write(f, at, c, sizeof(c));
	return commit(f, sizeof(c), skip, need, f->now_ns);
}

/* Appends @pages empty chunks; all or none. Returns 0 or -errno, which is not yet the file's: fewer
 * may do. */
static int append_pages(struct sp_jfr_file *f, uint64_t pages)
{
	for (uint64_t i = 0; i < pages; i++) {
		ssize_t n;

		do
			n = pwrite(f->fd, f->empty, SP_JFR_PAGE, (off_t)(f->end + i * SP_JFR_PAGE));
		while (n < 0 && errno == EINTR);
		if (n != SP_JFR_PAGE) {
			int error = n < 0 ? -errno : -ENOSPC;

			if (ftruncate(f->fd, (off_t)f->end) < 0)
				return fail(f, -errno);
			return error;
		}
	}
	return 0;
}

/* Makes the chunk at least @more bytes longer, and P cover @need. */
static int grow(struct sp_jfr_file *f, uint64_t more, uint64_t need)
{
	uint64_t least = (more + SP_JFR_PAGE - 1) / SP_JFR_PAGE;
	uint64_t pages = more > GROW ? least : GROW / SP_JFR_PAGE;
	uint64_t old_end = f->end, skip = 0, pad, cover;
	uint8_t shift;
	int r = append_pages(f, pages);

	if (r == -ENOSPC && !f->error && least < pages)
		r = append_pages(f, pages = least); /* the last of the disk */
	if (r < 0)
		return fail(f, r);
	f->end += pages * SP_JFR_PAGE;
	if (change_field(f, f->c.start + 8, old_end - f->c.start, f->end - f->c.start) < 0)
		return f->error;
	/* Q' must not fall on what a reader that goes from chunk head to chunk head still reads. */
	pad = sp_jfr_file_next(f, SP_JFR_CHECKPOINT_BYTES) - STUB;
	cover = choose_cover(pad, f->end, need, &shift);
	if (cover >= old_end && cover % SP_JFR_PAGE < EMPTY)
		skip = (EMPTY - cover % SP_JFR_PAGE + 15) & ~15ull;
	return commit_nothing(f, skip, need);
}

/* After a flush there must be room for the next P to cover one step. */
#define SPARE ((1u << LOW) + 128 + SP_JFR_LAST_WORDS)

uint64_t sp_jfr_file_reserve(struct sp_jfr_file *f, uint64_t len)
{
	uint64_t need = len + 17 + HEAD;

	if (need >> 27)
		fail(f, -EFBIG);
	while (!f->error &&
		(f->c.pad + HEAD + need > f->c.cover || f->c.pad + HEAD + need + SPARE > f->end)) {
		uint64_t step = need > 126ull << LOW ? 1ull << HIGH : 1ull << LOW;
		uint64_t want =
			f->c.pad + EMPTY + 4 * HEAD + ((need + STUB) / step + 1) * step + SPARE;

		if (want > f->end)
			grow(f, want + 128 - f->end, need);
		else
			commit_nothing(f, 0, need);
	}
	return f->error ? 0 : f->c.pad + HEAD;
}

void sp_jfr_file_last_words(
	struct sp_jfr_file *f, const uint8_t *events, size_t len, uint64_t now_ns)
{
	uint8_t c[SP_JFR_CHECKPOINT_BYTES];
	uint64_t at = f->c.pad + HEAD, all = sizeof(c) + len;
	int error = f->error;

	if (all + 17 + HEAD > SP_JFR_LAST_WORDS || at + all + 17 + HEAD > f->c.cover)
		return;
	f->error = 0;
	sp_jfr_checkpoint(c, sizeof(c), (uint32_t)(sp_jfr_file_next(f, all) - at), 0);
	sp_jfr_file_write(f, at, c, sizeof(c));
	sp_jfr_file_write(f, at + sizeof(c), events, len);
	commit(f, all, 0, 0, now_ns);
	f->error = error;
}

/* Writes header, metadata, P, E and Q of a chunk from c->start to the file's end; c->start,
 * c->wall_ns and c->mono_ns are given, the rest is set. The header comes last. */
static void write_chunk(struct sp_jfr_file *f, struct sp_jfr_chunk *c)
{
	uint64_t meta = c->start + SP_JFR_HEADER + BRIDGE, at = meta + f->meta_len, gap = -at & 15;
	uint8_t front[SP_JFR_HEADER + BRIDGE], head[17 + HEAD] = {0}, q[PAD];

	gap = gap == 1 ? 17 : gap;
	head[0] = (uint8_t)gap;
	c->pad = at + gap;
	c->cover = choose_cover(c->pad, f->end, 0, &c->shift);
	put_head(head + gap, c->cover - c->pad);
	put_pad(q, f->end - c->cover);
	put_front(front, f->end - c->start, c->pad + STUB - c->start, c->wall_ns, c->mono_ns);
	sp_jfr_file_write(f, c->cover, q, sizeof(q));
	sp_jfr_file_write(f, at, head, gap + HEAD);
	sp_jfr_file_write(f, meta, f->meta, f->meta_len);
	sp_jfr_file_write(f, c->start, front, sizeof(front));
}

static void enter_chunk(struct sp_jfr_file *f, const struct sp_jfr_chunk *c)
{
	f->c = *c;
	f->now_ns = c->mono_ns;
	put_empty(f->empty, SP_JFR_PAGE, c->wall_ns + 1, c->mono_ns);
}

/* Chunks of ours start where a page does: an empty one leads there from the end of the others. */
static uint64_t align(struct sp_jfr_file *f, uint64_t behind, uint64_t wall_ns, uint64_t mono_ns)
{
	uint64_t start = (behind + EMPTY + SP_JFR_PAGE - 1) / SP_JFR_PAGE * SP_JFR_PAGE;
	uint8_t empty[EMPTY];

	if (!behind)
		return 0;
	sp_jfr_file_write(f, behind, empty, put_empty(empty, start - behind, wall_ns - 1, mono_ns));
	return start;
}

int sp_jfr_file_begin(struct sp_jfr_file *f, int fd, uint64_t behind, const uint8_t *meta,
	uint32_t meta_len, uint64_t wall_ns, uint64_t mono_ns)
{
	struct sp_jfr_chunk c = {.wall_ns = wall_ns, .mono_ns = mono_ns};

	memset(f, 0, sizeof(*f));
	f->fd = fd;
	f->meta = meta;
	f->meta_len = meta_len;
	c.start = align(f, behind, wall_ns, mono_ns);
	f->end = c.start + FIRST;
	/* The header is written last. */
	if (f->error || ftruncate(fd, (off_t)f->end) < 0)
		return fail(f, -errno);
	write_chunk(f, &c);
	enter_chunk(f, &c);
	return f->error;
}

/* Makes room for a chunk that takes @len bytes and closes the gap up to it. Returns where it is to
 * start, or 0 after an error. */
static uint64_t before_next(struct sp_jfr_file *f, uint64_t len)
{
	uint8_t c[SP_JFR_CHECKPOINT_BYTES + PAD];
	uint64_t at = sp_jfr_file_reserve(f, len + 64), start = (at + sizeof(c) + 15) & ~15ull;

	if (!at)
		return 0;
	sp_jfr_checkpoint(c, SP_JFR_CHECKPOINT_BYTES, 0, 0); /* the end of the chain */
	put_pad(c + SP_JFR_CHECKPOINT_BYTES, start - at - SP_JFR_CHECKPOINT_BYTES);
	sp_jfr_file_write(f, at, c, sizeof(c));
	return start;
}

/* Lets the chunk end where the next one, complete by now, starts. */
static int cut(struct sp_jfr_file *f, uint64_t next)
{
	if (flip(f, f->now_ns) < 0)
		return f->error;
	return change_field(f, f->c.start + 8, f->end - f->c.start, next - f->c.start);
}

int sp_jfr_file_rotate(struct sp_jfr_file *f, uint64_t wall_ns, uint64_t mono_ns)
{
	struct sp_jfr_chunk c = {.wall_ns = wall_ns, .mono_ns = mono_ns};

	if (c.wall_ns < f->c.wall_ns + 2)
		c.wall_ns = f->c.wall_ns + 2;
	c.start = before_next(f, SP_JFR_HEADER + BRIDGE + f->meta_len + HEAD + 17);
	if (!c.start)
		return f->error;
	write_chunk(f, &c);
	if (cut(f, c.start) == 0)
		enter_chunk(f, &c);
	return f->error;
}

int sp_jfr_file_finish(struct sp_jfr_file *f)
{
	uint64_t start = before_next(f, EMPTY);
	uint8_t empty[EMPTY];

	if (!start)
		return f->error;
	sp_jfr_file_write(
		f, start, empty, put_empty(empty, f->end - start, f->c.wall_ns + 1, f->c.mono_ns));
	if (cut(f, start) == 0 && ftruncate(f->fd, (off_t)start) < 0)
		return fail(f, -errno);
	if (!f->error)
		f->end = start;
	return f->error;
}
