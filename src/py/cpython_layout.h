/* Where CPython keeps what the reader looks at, by version. 3.13 and later say most of it
 * themselves (_Py_DebugOffsets at the start of _PyRuntime); before that, tables made of each
 * version's own headers. x86-64 and aarch64 agree: all of them are 64-bit, with the same
 * alignment. */
#ifndef SP_PY_CPYTHON_LAYOUT_H
#define SP_PY_CPYTHON_LAYOUT_H

#include "py/target_mem.h"

#define SP_PY_OLDEST 8
#define SP_PY_NEWEST 14

/* Most bytes of a thread state, a frame and a code object that a layout may ask for. */
#define SP_PY_THREAD_MAX 512
#define SP_PY_FRAME_MAX	 128
#define SP_PY_CODE_MAX	 256

/* Offsets in bytes. ts_size and fr_size: how much of a thread state and a frame is read. */
struct sp_pylayout {
	uint16_t minor; /* 11: Python 3.11 */
	bool free_threaded;
	uint16_t rt_interp, rt_current; /* _PyRuntime; rt_current: before 3.12 */
	uint16_t in_next, in_threads, in_modules, in_gil;
	uint16_t gil_holder, gil_locked;
	uint16_t ts_next, ts_interp, ts_thread, ts_native, ts_frame, ts_chunk, ts_top, ts_size;
	bool ts_cframe;	       /* 3.11, 3.12: ts_frame points to a cframe … */
	uint16_t cframe_frame; /* … which has the frame here */
	uint16_t fr_code, fr_back, fr_instr, fr_size;
	/* from 3.11 on: depth of the operands (a pointer in 3.14); whether C code called it (3.11),
	 * or what owns it (3.12, 3.13) */
	uint16_t fr_top, fr_entry, fr_owner;
	uint16_t fr_func, fr_slots; /* its function; its locals and operands. fr_slots 0: none */
	/* co_framesize is known from 3.12 on; in 3.11 it is the sum of two others and the frame's
	 * head */
	uint16_t co_framesize, co_stacksize, co_nlocalsplus, co_flags;
	uint16_t co_file, co_name, co_qualname, co_lines, co_first, co_bytecode, co_size;
	uint16_t ob_type, tp_name, tp_dict, tp_basicsize, tp_dictoffset, ht_keys;
	uint16_t str_length, str_state, str_ascii, str_compact;
	uint8_t str_kind_shift, str_compact_bit, str_ascii_bit;
	uint16_t bytes_size, bytes_data;
	uint16_t md_keys, md_values, dk_nentries, dk_indices;
	uint16_t long_tag, long_digits;
};

/* The layout of Python 3.@minor with its _PyRuntime at @runtime (read from 3.13 on).
 * Returns 0; -ENOTSUP for a version that is not known, or a build without GIL; -EBADMSG where
 * _PyRuntime does not look as it should. */
int sp_pylayout_get(
	const struct sp_pymem *m, uint64_t runtime, unsigned minor, struct sp_pylayout *ret);

/* Whether everything that is looked for lies inside of what is read. */
bool sp_pylayout_sane(const struct sp_pylayout *l);

#endif
