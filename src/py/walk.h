/* Inside of src/py: the room that reading a stack needs. */
#ifndef SP_PY_WALK_H
#define SP_PY_WALK_H

#include "py/reader.h"

enum {
	SP_PY_CHUNK_MAX = 1 << 16,
	SP_PY_LOOSE_MAX = 2 * SP_PY_DEPTH_MAX, /* frames outside of the chunk */
};

struct sp_pylink {
	uint64_t addr, code, instr;
};

/* One of the two copies. */
struct sp_pycopy {
	uint8_t thread[SP_PY_THREAD_MAX];
	uint64_t cframe_frame;
	uint8_t chunk[SP_PY_CHUNK_MAX];
	uint8_t loose[SP_PY_LOOSE_MAX][SP_PY_FRAME_MAX];
	struct sp_pylink chain[SP_PY_DEPTH_MAX];
	size_t count;
	bool ended, full; /* it came to the root; it has more frames than fit */
	uint64_t missing; /* a frame that was not copied; 0: none */
};

struct sp_pywalk {
	struct sp_pycopy copies[2];
	size_t chunk_len;
	struct sp_pyspan spans[2 * (SP_PY_LOOSE_MAX + 3)];
	uint8_t heads[SP_PY_DEPTH_MAX][SP_PY_CODE_MAX];
};

#endif
