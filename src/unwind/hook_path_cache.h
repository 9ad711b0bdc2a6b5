/* Ways down from a hook: a hook in the JVM is called from the same place of our own code each time,
 * below it lie a dozen frames of the JVM's, and these are the same ones again for each allocation
 * of a kind. How far below the stack pointer each return address lies follows from those return
 * addresses alone (CFI gives the frame's size by a constant from the stack pointer, or from a frame
 * pointer that was saved there). So a walk that went down once is kept as the words that it
 * depended on, and where they are what they were the next one begins at the first frame of
 * generated code. Context: the unwinder only. */
#ifndef SP_UNWIND_HOOK_PATH_CACHE_H
#define SP_UNWIND_HOOK_PATH_CACHE_H

#include "unwind/cfi.h"
#include "unwind/unwind.h"

#define SP_WAY_FRAMES 24
#define SP_WAY_WORDS  (2 * SP_WAY_FRAMES)

struct sp_walk;

/* @offset from the stack pointer where the walk began. */
struct sp_hook_path_word {
	uint64_t value;
	uint32_t offset;
	bool relative; /* @value too: a saved frame pointer */
};

struct sp_hook_path {
	uint64_t pc, depth; /* where it begins, and how far above its last Java frame; 0: empty */
	uint64_t end_pc;
	uint32_t epoch; /* of the modules */
	uint32_t end_offset, fp_offset;
	uint64_t fp_distance; /* of the frame pointer in the beginning, where fp_used */
	bool fp_used, fp_saved;
	uint8_t frame_count, word_count;
	struct sp_frame frames[SP_WAY_FRAMES];
	struct sp_hook_path_word words[SP_WAY_WORDS];
};

/* At the beginning of a walk: true where a known way was gone. Else one is drafted, if the snapshot
 * is a hook's. */
bool sp_hook_path_take(struct sp_walk *w);

/* Before each step by @row; and where a step was made by anything else. */
void sp_hook_path_note(struct sp_walk *w, const struct sp_cfi_row *row);
void sp_hook_path_lose(struct sp_walk *w);

/* At the first frame of generated code: keeps the draft. */
void sp_hook_path_keep(struct sp_walk *w);

#endif
