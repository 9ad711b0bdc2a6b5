/* Reading one stack: see stack_reader.h.
 *
 * From 3.11 on frames lie in a chunk of memory that is used again at once, and those of generators
 * elsewhere; before, every frame is an object. So what is copied is the thread state, the chunk as
 * far as it is used, and all frames elsewhere that the last stack had, and then all of it again, in
 * one call. A frame that is in none of these is looked for, and the copies are made once more. */
#include "py/stack_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	TRIES = 6,    /* of a stack that changed meanwhile */
	LATE = 10,    /* more of them, in which a part of it will do */
	MOVES = 24,   /* of one that was not where it was expected */
	AHEAD = 1024, /* bytes of the chunk that are copied beyond its end: it grows */
};

/* Forgets the frame that could not be copied, or what else is not there any more. */
static int drop(struct sp_pythread *t, const struct sp_pywalk *w, size_t failed, size_t half)
{
	size_t n = failed % half, first = 1 + (t->cframe != 0) + (w->chunk_len != 0);

	if (n == 0)
		return -ESRCH;
	if (n < first) {
		t->cframe = t->chunk = 0;
		return 0;
	}
	n -= first;
	t->frame_count--;
	memmove(t->frames + n, t->frames + n + 1, (t->frame_count - n) * sizeof(*t->frames));
	return 0;
}

/* Up to where the chunk is copied: as the last time, where that will do, so that the same is asked
 * for again (read_ahead.h). */
static uint64_t end_of_copy(struct sp_pythread *t)
{
	uint64_t end = t->top + AHEAD;

	if (t->copied_end < t->top + AHEAD / 2 || t->copied_end > t->top + 4 * AHEAD)
		t->copied_end = end;
	return t->copied_end < t->chunk_end ? t->copied_end : t->chunk_end;
}

/* Copies everything twice. Returns 0; 1 where something was not there and is left out next time;
 * -errno. */
static int copy(struct sp_pyreader *r, struct sp_pythread *t)
{
	struct sp_pywalk *w = r->walk;
	const struct sp_pylayout *l = &r->heap.layout;
	uint64_t end = end_of_copy(t);
	size_t n = 0, half = 0;
	int got;

	w->chunk_len = t->chunk && end > t->chunk ? end - t->chunk : 0;
	if (w->chunk_len > SP_PY_CHUNK_MAX)
		w->chunk_len = SP_PY_CHUNK_MAX;
	for (int i = 0; i < 2; i++) {
		struct sp_pycopy *c = &w->copies[i];

		w->spans[n++] = (struct sp_pyspan){t->addr, c->thread, l->ts_size};
		if (t->cframe)
			w->spans[n++] = (struct sp_pyspan){
				t->cframe + l->cframe_frame, &c->cframe_frame, 8};
		if (w->chunk_len)
			w->spans[n++] = (struct sp_pyspan){t->chunk, c->chunk, w->chunk_len};
		for (size_t k = 0; k < t->frame_count; k++)
			w->spans[n++] = (struct sp_pyspan){t->frames[k], c->loose[k], l->fr_size};
		half = i == 0 ? n : half;
	}
	got = r->heap.mem.read(r->heap.mem.ctx, w->spans, n);
	if (got < 0)
		return got;
	if ((size_t)got == n)
		return 0;
	got = drop(t, w, (size_t)got, half);
	return got < 0 ? got : 1;
}

/* Where the thread's frames are to be found. Returns true if it is where the copies were made. */
static bool settle_thread(struct sp_pyreader *r, struct sp_pythread *t)
{
	const struct sp_pylayout *l = &r->heap.layout;
	const uint8_t *state = r->walk->copies[0].thread;
	bool same = true;

	if (l->ts_cframe && sp_pyword(state + l->ts_frame) != t->cframe) {
		t->cframe = sp_pyword(state + l->ts_frame);
		same = t->cframe == 0;
	}
	if (l->ts_chunk) {
		uint64_t chunk = sp_pyword(state + l->ts_chunk);
		uint64_t top = sp_pyword(state + l->ts_top), words[2];

		if (chunk != t->chunk) {
			bool known = chunk && sp_pymem_get(&r->heap.mem, chunk, words, 16);

			/* a chunk begins with the previous one and its own size */
			t->chunk = known && words[1] < 1ull << 32 ? chunk : 0;
			t->chunk_end = t->chunk ? chunk + words[1] : 0;
			t->top = top;
			same = same && !t->chunk;
		}
		if (t->chunk && top > t->chunk + r->walk->chunk_len &&
			r->walk->chunk_len < SP_PY_CHUNK_MAX && top <= t->chunk_end)
			same = false;
		t->top = top;
	}
	return same;
}

/* *ret_room: how many bytes from the frame on were copied. */
static const uint8_t *frame_at(const struct sp_pyreader *r, struct sp_pythread *t, int which,
	uint64_t addr, size_t *hint, size_t *ret_room)
{
	const struct sp_pywalk *w = r->walk;
	const struct sp_pycopy *c = &w->copies[which];

	*ret_room = w->chunk_len - (addr - t->chunk);
	if (w->chunk_len && addr >= t->chunk && addr - t->chunk < w->chunk_len &&
		*ret_room >= r->heap.layout.fr_size)
		return c->chunk + (addr - t->chunk);
	*ret_room = r->heap.layout.fr_size;
	for (size_t i = 0, k = *hint; i < t->frame_count; i++, k++) {
		k = k >= t->frame_count ? 0 : k;
		if (t->frames[k] == addr) {
			*hint = k + 1;
			t->used[k] = 1;
			return c->loose[k];
		}
	}
	return NULL;
}

static uint64_t newest_frame(const struct sp_pyreader *r, const struct sp_pythread *t, int which)
{
	const struct sp_pycopy *c = &r->walk->copies[which];
	const struct sp_pylayout *l = &r->heap.layout;

	if (!l->ts_cframe)
		return sp_pyword(c->thread + l->ts_frame);
	return t->cframe ? c->cframe_frame : 0;
}

/* Whether a frame is before its first instruction: it is made with a depth as one that waits has,
 * and has none once it executes. */
static bool begins(const struct sp_pylayout *l, const struct sp_pylink *k)
{
	uint64_t first = k->code + l->co_bytecode;

	return !k->bare && (l->minor >= 13 ? k->instr == first : k->instr + 2 == first);
}

static struct sp_pylink link_of(const struct sp_pylayout *l, uint64_t addr, const uint8_t *frame)
{
	enum { OWNED_BY_C = 3 };
	struct sp_pylink k = {.addr = addr,
		.code = sp_pyword(frame + l->fr_code),
		.func = sp_pyword(frame + l->fr_func)};
	int32_t top;

	memcpy(&top, frame + l->fr_top, sizeof(top));
	k.runs = l->minor >= 14 ? sp_pyword(frame + l->fr_top) == 0 : l->fr_top && top == -1;
	k.bare = l->fr_owner && frame[l->fr_owner] >= OWNED_BY_C;
	/* 3.14 keeps the depth of the operands around calls of C code too: it says that there
	 */
	k.entry = (l->fr_entry && frame[l->fr_entry]) || (k.bare && l->minor <= 13);

	if (l->minor >= 14) { /* tagged references */
		k.code &= ~7ull;
		k.func &= ~7ull;
	}
	if (l->minor <= 10) {
		int32_t at;

		memcpy(&at, frame + l->fr_instr, sizeof(at));
		k.instr = (uint64_t)(int64_t)at;
	} else {
		k.instr = sp_pyword(frame + l->fr_instr);
		k.begins = begins(l, &k);
	}
	return k;
}

/* Whether a chain goes in a circle: its @n th frame is one that it has passed (Brent). */
static bool comes_back(uint64_t addr, size_t n, uint64_t *mark)
{
	if (n && addr == *mark)
		return true;
	if ((n & (n - 1)) == 0)
		*mark = addr;
	return false;
}

static void follow(struct sp_pyreader *r, struct sp_pythread *t, int which)
{
	const struct sp_pylayout *l = &r->heap.layout;
	struct sp_pycopy *c = &r->walk->copies[which];
	uint64_t addr = newest_frame(r, t, which), mark = 0;
	size_t hint = 0, room;

	c->count = 0;
	c->missing = 0;
	for (; addr && c->count < SP_PY_DEPTH_MAX; c->count++) {
		const uint8_t *frame = frame_at(r, t, which, addr, &hint, &room);
		struct sp_pylink *k = &c->chain[c->count];

		if (!frame)
			c->missing = addr;
		if (!frame || comes_back(addr, c->count, &mark))
			break;
		*k = link_of(l, addr, frame);
		if (c->count && room > l->fr_slots)
			k[-1].called = k[-1].entry || sp_pycall_fits(l, k - 1, addr, frame, room);
		k->called = true; /* unless the next one says otherwise */
		addr = sp_pyword(frame + l->fr_back);
	}
	c->ended = addr == 0;
	c->full = c->count == SP_PY_DEPTH_MAX && addr;
}

static bool add_frame(struct sp_pythread *t, uint64_t addr)
{
	if (t->frame_count == SP_PY_LOOSE_MAX)
		return false;
	if (t->frame_count == t->frame_cap) {
		size_t cap = t->frame_cap ? t->frame_cap * 2 : 64;
		uint64_t *frames = realloc(t->frames, cap * sizeof(*frames));
		uint8_t *used = frames ? realloc(t->used, cap) : NULL;

		t->frames = frames ? frames : t->frames;
		t->used = used ? used : t->used;
		if (!used)
			return false;
		t->frame_cap = cap;
	}
	t->used[t->frame_count] = 1;
	t->frames[t->frame_count++] = addr;
	return true;
}

/* Follows the frames from @addr on one by one, only to learn where they are. */
static void explore(struct sp_pyreader *r, struct sp_pythread *t, uint64_t addr)
{
	uint8_t frame[SP_PY_FRAME_MAX];
	uint64_t mark = 0;
	size_t hint = 0, room;

	for (size_t i = 0; i < SP_PY_DEPTH_MAX && addr && !comes_back(addr, i, &mark); i++) {
		if (frame_at(r, t, 0, addr, &hint, &room) == NULL && !add_frame(t, addr))
			return;
		if (!sp_pymem_get(&r->heap.mem, addr, frame, r->heap.layout.fr_size))
			return;
		addr = sp_pyword(frame + r->heap.layout.fr_back);
	}
}

/* Frames that nothing points to any more are kept for a while: calls come back to them. */
static void tidy(struct sp_pythread *t, size_t depth)
{
	size_t n = 0;

	if (t->frame_count > 2 * depth + 64) {
		for (size_t i = 0; i < t->frame_count; i++)
			if (t->used[i])
				t->frames[n++] = t->frames[i];
		t->frame_count = n;
	}
	if (t->frame_count)
		memset(t->used, 0, t->frame_count);
}

/* Frames of the first chain that the second has too, counted from the root; one that is at another
 * instruction now has called the next one anew. */
static size_t in_common(const struct sp_pycopy *a, const struct sp_pycopy *b)
{
	size_t n = 0;

	while (n < a->count && n < b->count) {
		const struct sp_pylink *x = &a->chain[a->count - 1 - n];
		const struct sp_pylink *y = &b->chain[b->count - 1 - n];

		if (x->addr != y->addr || x->code != y->code)
			break;
		n++;
		if (x->instr != y->instr)
			break;
	}
	return n;
}

/* Whether C code that begins or ends a call has no frame in its place for one, though the thread
 * runs Python: only the place in the thread's own state may be without. */
static bool between_frames(
	const struct sp_pylayout *l, const struct sp_pythread *t, const struct sp_pycopy *c)
{
	return l->ts_cframe && c->count == 0 && t->cframe - t->addr >= SP_PY_THREAD_MAX;
}

enum verdict { CLEAN, TORN, MOVED };

static enum verdict read_once(struct sp_pyreader *r, struct sp_pythread *t, size_t *ret_common)
{
	struct sp_pycopy *a = &r->walk->copies[0], *b = &r->walk->copies[1];
	const struct sp_pylayout *l = &r->heap.layout;

	*ret_common = 0;
	if (!settle_thread(r, t))
		return MOVED;
	follow(r, t, 0);
	follow(r, t, 1);
	if (a->missing || b->missing) {
		explore(r, t, a->missing ? a->missing : b->missing);
		return MOVED;
	}
	if (!(a->ended || a->full) || !(b->ended || b->full) || between_frames(l, t, a))
		return TORN;
	*ret_common = in_common(a, b);
	if (l->ts_cframe && sp_pyword(b->thread + l->ts_frame) != t->cframe)
		return TORN;
	if (*ret_common != a->count || a->count != b->count)
		return TORN;
	return CLEAN;
}

/* The first bytes of the chain's code objects as they are now; zeroes where there are none. */
static void read_heads(struct sp_pyreader *r, const struct sp_pylink *chain, size_t n)
{
	const struct sp_pylayout *l = &r->heap.layout;
	struct sp_pywalk *w = r->walk;

	for (size_t done = 0; done < n;) {
		int got;

		for (size_t i = done; i < n; i++)
			w->spans[i - done] =
				(struct sp_pyspan){chain[i].code, w->heads[i], l->co_size};
		got = r->heap.mem.read(r->heap.mem.ctx, w->spans, n - done);
		got = got < 0 ? 0 : got;
		if (done + (size_t)got < n)
			memset(w->heads[done + (size_t)got], 0, l->co_size);
		done += (size_t)got + 1;
	}
}

/* Functions and lines of a chain whose code was read. Returns false where a frame's code is not
 * there any more: the process has ended meanwhile. */
static bool name_frames(
	struct sp_pyreader *r, const struct sp_pylink *chain, size_t n, struct sp_pystack *ret)
{
	const struct sp_pylayout *l = &r->heap.layout;

	for (size_t i = 0; i < n; i++) {
		struct sp_pycode *code =
			sp_pycodes_get(&r->codes, &r->heap, chain[i].code, r->walk->heads[i]);
		int64_t at = (int64_t)chain[i].instr;
		uint8_t byte;

		if (!code && !chain[i].bare && !sp_pymem_get(&r->heap.mem, chain[i].code, &byte, 1))
			return false;
		/* what C code made for itself runs no Python; in 3.12 it has code of its own */
		if (!code || strcmp(code->file, "<shim>") == 0) {
			if (ret->count)
				ret->frames[ret->count - 1].entry = true;
			continue;
		}
		if (l->minor >= 11)
			at -= (int64_t)(chain[i].code + l->co_bytecode);
		else if (l->minor == 10)
			at *= 2; /* counted in instructions */
		ret->frames[ret->count++] =
			(struct sp_pyframe){code, sp_pycode_line(code, l->minor, at),
				l->minor <= 10 || (l->fr_entry && chain[i].entry)};
	}
	return true;
}

/* The last @n frames of the chain as far as they are in use. Returns false where they never were a
 * stack, or with @all where the newest may be missing. */
static bool give(
	struct sp_pyreader *r, struct sp_pythread *t, size_t n, bool all, struct sp_pystack *ret)
{
	const struct sp_pycopy *a = &r->walk->copies[0];
	const struct sp_pylink *chain;
	bool sure;
	size_t live = sp_pyframes_in_use(&r->heap.layout, a->chain, a->count, &sure);

	n = live < n ? live : n;
	chain = a->chain + (a->count - n);
	if (all && !sure)
		return false;
	read_heads(r, chain, n);
	if (!sp_pychain_check(r, t, chain, n))
		return false;
	ret->count = 0;
	if (!name_frames(r, chain, n, ret))
		return false;
	if (ret->count == 0 && a->count) /* what is left runs no Python: it begins or was freed */
		return false;
	ret->partial = !all;
	ret->truncated = a->full;
	r->partial += ret->partial;
	tidy(t, a->count);
	return true;
}

int sp_pyreader_stack(struct sp_pyreader *r, size_t thread, struct sp_pystack *ret)
{
	struct sp_pythread *t = &r->threads[thread];
	size_t common = 0;

	ret->count = 0;
	ret->partial = ret->truncated = false;
	if (!r->walk)
		r->walk = sp_pywalk_new();
	if (!r->walk)
		return -ENOMEM;
	sp_pycodes_trim(&r->codes);
	r->reads++;
	for (int tries = 0, moves = 0; tries < TRIES + LATE && moves < MOVES;) {
		int got = copy(r, t);
		bool late = tries >= TRIES || moves >= MOVES / 2;
		enum verdict v;

		if (got < 0)
			return got;
		v = got ? MOVED : read_once(r, t, &common);
		if (v == CLEAN && give(r, t, r->walk->copies[0].count, true, ret))
			return 0;
		/* what both copies have in common, without the frames that do not fit below */
		for (; late && v != MOVED && common; common--)
			if (give(r, t, common, false, ret))
				return 0;
		moves += v == MOVED;
		tries += v != MOVED;
		r->retries++;
	}
	r->failed++;
	return -EAGAIN;
}
