/* What the last walk of a thread's stack found. The lower part of a stack stays as it is from one
 * sample to the next: a walk that comes to the same frame in the same state, and would read the
 * same words from there on, ends with the same frames and need not be made again.
 * Context: the unwinder only. */
#ifndef SP_UNWIND_STACK_MEMO_H
#define SP_UNWIND_STACK_MEMO_H

#include "unwind/unwind.h"

#define SP_MEMO_FRAMES 256
#define SP_MEMO_WORDS  640
#define SP_MEMO_MARKS  192

struct sp_walk;

struct sp_stack_memo_word {
	uint64_t addr, value;
};

/* Generated code that the walk came through: its registers there and what followed. */
struct sp_stack_memo_mark {
	uint64_t pc, sp, fp, blob;
	uint32_t known, compile_id;
	uint16_t frames, words; /* how many lay behind, to the stack's end */
	bool java_above;
};

/* Filled from their ends, so that what stays the same stays in place. */
struct sp_stack_memo {
	uint32_t epoch, unloads;
	uint64_t batch, born_ns; /* born: when the sample was taken that its oldest part is of */
	uint64_t stop_pc, stop_sp;
	uint16_t frame_count, word_count, mark_count;
	struct sp_kept_refs kept;
	struct sp_frame frames[SP_MEMO_FRAMES];
	struct sp_frame_ref refs[SP_MEMO_FRAMES];
	struct sp_stack_memo_word words[SP_MEMO_WORDS];
	struct sp_stack_memo_mark marks[SP_MEMO_MARKS];
};

/* Whose a memo is, beside them all: found at a glance. */
struct sp_stack_memo_owner {
	uint32_t tid; /* 0: nobody's */
	uint32_t used;
};

struct sp_stack_memos {
	struct sp_stack_memo *memo;
	struct sp_stack_memo_owner *owner;
	uint32_t count, uses;
};

/* What the walk in hand has seen so far, from the top. */
struct sp_stack_memo_trail {
	uint32_t slot;		     /* the thread's, or the one that was not used for longest */
	struct sp_stack_memo *last;  /* NULL: nothing is known of this thread */
	uint32_t words, marks, next; /* next: mark of @last that may be met */
	bool lost;		     /* cannot be kept: too long, or a word could not be read */
	bool met;
	struct sp_stack_memo_mark at; /* where it met @last */
	struct sp_stack_memo_word word[SP_MEMO_WORDS];
	struct sp_stack_memo_mark mark[SP_MEMO_MARKS];
};

/* Before a walk of w->snap. */
void sp_stack_memo_begin(struct sp_walk *w);

/* At a frame that words of the stack did not lead to: the walk is known from here on only. */
static inline void sp_stack_memo_restart(struct sp_stack_memo_trail *t)
{
	t->words = t->marks = 0;
	t->lost = false;
}

/* At each frame of generated code: true where the rest is known, and was appended. */
bool sp_stack_memo_meet(struct sp_walk *w);

/* After a walk: keeps what it found, if it is whole. */
void sp_stack_memo_end(struct sp_walk *w);

static inline void sp_stack_memo_note(struct sp_stack_memo_trail *t, uint64_t addr, uint64_t value)
{
	if (t->words < SP_MEMO_WORDS)
		t->word[t->words++] = (struct sp_stack_memo_word){addr, value};
	else
		t->lost = true;
}

#endif
