/* Offsets by version: see cpython_layout.h. The numbers come from offsetof() over each version's
 * own internal headers (3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1, 3.13.0, 3.14.10); a minor version
 * keeps them for its life. */
#include "py/cpython_layout.h"

#include "base/cleanup.h"

#include <errno.h>
#include <string.h>

/* What has never changed. */
#define COMMON                                                                           \
	.ts_next = 8, .ts_interp = 16, .ob_type = 8, .tp_name = 24, .tp_dict = 264,      \
	.tp_basicsize = 32, .tp_dictoffset = 288, .str_length = 16, .str_state = 32,     \
	.str_kind_shift = 2, .str_compact_bit = 5, .str_ascii_bit = 6, .bytes_size = 16, \
	.bytes_data = 32, .md_keys = 32, .md_values = 40, .long_tag = 16, .long_digits = 24
/* Frames are objects on the heap, and the code object has no qualified name. */
#define HEAP_FRAMES                                                                         \
	.co_flags = 36, .rt_interp = 32, .in_threads = 8, .ts_thread = 176, .ts_frame = 24, \
	.ts_size = 184, .fr_code = 32, .fr_back = 24, .co_file = 104, .co_name = 112,       \
	.co_lines = 120, .co_first = 40, .co_size = 128, .dk_nentries = 32, .dk_indices = 40
/* Frames lie on a stack of their own. */
#define STACK_FRAMES                                                                  \
	.co_flags = 48, .fr_instr = 56, .fr_top = 64, .co_file = 112, .co_name = 120, \
	.co_qualname = 128, .co_lines = 136, .co_size = 144, .dk_nentries = 24, .dk_indices = 32
#define LONG_STRINGS  .str_ascii = 48, .str_compact = 72
#define SHORT_STRINGS .str_ascii = 40, .str_compact = 56

static const struct sp_pylayout layouts[] = {
	{.minor = 8,
		COMMON,
		HEAP_FRAMES,
		LONG_STRINGS,
		.rt_current = 1368,
		.in_modules = 56,
		.fr_instr = 104,
		.fr_size = 112,
		.ht_keys = 872},
	{.minor = 9,
		COMMON,
		HEAP_FRAMES,
		LONG_STRINGS,
		.rt_current = 568,
		.in_modules = 856,
		.fr_instr = 104,
		.fr_size = 112,
		.ht_keys = 864},
	{.minor = 10,
		COMMON,
		HEAP_FRAMES,
		LONG_STRINGS,
		.rt_current = 568,
		.in_modules = 856,
		.fr_instr = 96,
		.fr_size = 104,
		.ht_keys = 872},
	{.minor = 11,
		COMMON,
		STACK_FRAMES,
		LONG_STRINGS,
		.rt_interp = 40,
		.rt_current = 576,
		.in_threads = 16,
		.in_modules = 888,
		.ts_thread = 152,
		.ts_native = 160,
		.ts_frame = 56,
		.ts_cframe = true,
		.cframe_frame = 8,
		.ts_chunk = 296,
		.ts_top = 304,
		.ts_size = 312,
		.fr_code = 32,
		.fr_back = 48,
		.fr_entry = 68,
		.fr_slots = 72,
		.fr_size = 72,
		.co_first = 72,
		.co_bytecode = 184,
		.co_stacksize = 68,
		.co_nlocalsplus = 76,
		.ht_keys = 872},
	{.minor = 12,
		COMMON,
		STACK_FRAMES,
		SHORT_STRINGS,
		.rt_interp = 40,
		.in_threads = 72,
		.in_modules = 944,
		.in_gil = 384,
		.gil_holder = 8,
		.gil_locked = 16,
		.ts_thread = 136,
		.ts_native = 144,
		.ts_frame = 56,
		.ts_cframe = true,
		.ts_chunk = 232,
		.ts_top = 240,
		.ts_size = 248,
		.fr_back = 8,
		.fr_func = 16,
		.fr_slots = 72,
		.fr_size = 72,
		.fr_owner = 70,
		.co_first = 68,
		.co_bytecode = 192,
		.co_framesize = 76,
		.ht_keys = 880},
	/* What _Py_DebugOffsets does not say; the rest is overwritten with what it does. */
	{.minor = 13,
		.co_framesize = 76,
		.fr_func = 16,
		.fr_slots = 72,
		.fr_size = 72,
		.fr_owner = 70,
		COMMON,
		STACK_FRAMES,
		SHORT_STRINGS,
		.gil_holder = 8,
		.gil_locked = 16,
		.ht_keys = 880},
	{.minor = 14,
		.co_framesize = 76,
		COMMON,
		STACK_FRAMES,
		.fr_func = 16,
		.fr_slots = 80,
		.fr_size = 80,
		.fr_owner = 74,
		SHORT_STRINGS,
		.gil_holder = 8,
		.gil_locked = 16,
		.ht_keys = 880},
};

/* Words of _Py_DebugOffsets behind the cookie, by their number, in 3.13; 3.14 has one more
 * (threads_main) from the fifth of the interpreter on, two more at its end, and two more at the
 * end of the frame and one of the code. */
enum {
	D_VERSION = 1,
	D_FREE_THREADED = 2,
	D_RT_INTERP = 5,
	D_INTERP = 6,	    /* size, id, next, threads_head */
	D_INTERP_REST = 10, /* gc, imports_modules, sysdict, builtins, ceval_gil, … */
	D_THREAD = 19,
	D_FRAME = 28,
	D_CODE = 34,
	D_WORDS = 64,
};

static void take_offsets(uint16_t *to, const uint64_t *words, size_t n, bool *bad)
{
	if (words[n] > 60000)
		*bad = true;
	*to = (uint16_t)words[n];
}

static int from_debug_offsets(const struct sp_pymem *m, uint64_t runtime, struct sp_pylayout *l)
{
	uint64_t w[D_WORDS];
	bool bad = false, newer = l->minor >= 14;
	size_t rest = D_INTERP_REST + newer, thread = D_THREAD + 3u * newer;
	size_t frame = D_FRAME + 3u * newer, code = D_CODE + 5u * newer;

	if (!sp_pymem_get(m, runtime, w, sizeof(w)) || memcmp(w, "xdebugpy", 8) != 0 ||
		w[D_VERSION] >> 16 != 0x0300u + l->minor)
		return -EBADMSG;
	l->free_threaded = w[D_FREE_THREADED] != 0;
	take_offsets(&l->rt_interp, w, D_RT_INTERP, &bad);
	take_offsets(&l->in_next, w, D_INTERP + 2, &bad);
	take_offsets(&l->in_threads, w, D_INTERP + 3, &bad);
	take_offsets(&l->in_modules, w, rest + 1, &bad);
	take_offsets(&l->in_gil, w, rest + 4, &bad);
	take_offsets(&l->ts_next, w, thread + 2, &bad);
	take_offsets(&l->ts_interp, w, thread + 3, &bad);
	take_offsets(&l->ts_frame, w, thread + 4, &bad);
	take_offsets(&l->ts_thread, w, thread + 5, &bad);
	take_offsets(&l->ts_native, w, thread + 6, &bad);
	take_offsets(&l->ts_chunk, w, thread + 7, &bad);
	take_offsets(&l->fr_back, w, frame + 1, &bad);
	take_offsets(&l->fr_code, w, frame + 2, &bad);
	take_offsets(&l->fr_instr, w, frame + 3, &bad);
	take_offsets(&l->co_file, w, code + 1, &bad);
	take_offsets(&l->co_name, w, code + 2, &bad);
	take_offsets(&l->co_qualname, w, code + 3, &bad);
	take_offsets(&l->co_lines, w, code + 4, &bad);
	take_offsets(&l->co_first, w, code + 5, &bad);
	take_offsets(&l->co_bytecode, w, code + 9, &bad);
	l->ts_top = (uint16_t)(l->ts_chunk + 8);
	l->ts_size = (uint16_t)(l->ts_top + 8);
	return bad ? -EBADMSG : 0;
}

static bool below(uint16_t offset, uint16_t size)
{
	return offset + 8u <= size && offset % 4 == 0;
}

bool sp_pylayout_sane(const struct sp_pylayout *l)
{
	return l->ts_size <= SP_PY_THREAD_MAX && l->fr_size <= SP_PY_FRAME_MAX &&
	       l->co_size <= SP_PY_CODE_MAX && below(l->ts_next, l->ts_size) &&
	       below(l->ts_thread, l->ts_size) && below(l->ts_native, l->ts_size) &&
	       below(l->ts_frame, l->ts_size) && below(l->ts_interp, l->ts_size) &&
	       below(l->fr_code, l->fr_size) && below(l->fr_back, l->fr_size) &&
	       below(l->fr_instr, l->fr_size) && below(l->co_file, l->co_size) &&
	       below(l->co_name, l->co_size) && below(l->co_qualname, l->co_size) &&
	       below(l->co_lines, l->co_size) && below(l->co_first, l->co_size);
}

int sp_pylayout_get(
	const struct sp_pymem *m, uint64_t runtime, unsigned minor, struct sp_pylayout *ret)
{
	int r = 0;

	if (minor < SP_PY_OLDEST || minor > SP_PY_NEWEST)
		return -ENOTSUP;
	*ret = layouts[minor - SP_PY_OLDEST];
	if (minor >= 13)
		r = from_debug_offsets(m, runtime, ret);
	if (r == 0 && ret->free_threaded)
		return -ENOTSUP;
	return r == 0 && !sp_pylayout_sane(ret) ? -EBADMSG : r;
}
