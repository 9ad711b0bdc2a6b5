/* The dictionary behind samples: strings, methods, stacks and threads, each once, under dense ids
 * that start at 1 and never change. The agent's collector fills one and the JFR writer writes what
 * is new at each flush; the JFR reader fills another and the report writers read it. Id 0 means
 * "none": it is also what an interning call returns when the arena is full, and then the caller
 * counts a dropped sample. */
#ifndef SP_DICT_DICT_H
#define SP_DICT_DICT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum sp_frame_type {
	SP_FRAME_INTERPRETED,
	SP_FRAME_C1,
	SP_FRAME_C2,
	SP_FRAME_INLINED,
	SP_FRAME_NATIVE, /* C: a function of a native library, also a Java native method's wrapper
			  */
	SP_FRAME_CPP,	 /* C++ or Rust: a mangled name */
	SP_FRAME_KERNEL,
	SP_FRAME_PYTHON, /* class is the file ("pyspark/worker.py"), name the function */
	SP_FRAME_TYPES
};

/* sp_method.native of a name that its recorder has made ready to print (async-profiler's). */
#define SP_NATIVE_FINAL 2

/* sp_method.native of a Python function. Recordings mark it by its signature, for async-profiler's
 * converter knows no type of frame beyond its own seven. */
#define SP_NATIVE_PYTHON    3
#define SP_PYTHON_SIGNATURE "()LPython;"

/* The leaf of a stack that lacks its newest frames. */
#define SP_PYTHON_UNREAD "[frames not read]"
/* … and one in the place of native frames that cannot be unwound; older frames may follow it. */
#define SP_NATIVE_GAP "[native frames unknown]"

/* A method or function. Java: class "java/lang/String", name "hashCode", signature "()I".
 * Native: class is the module ("libc.so.6" or empty), name the function or "0x1a2b" (an offset in
 * the module that the launcher resolves later), signature empty or, where the name is unresolved,
 * "()L<build id in hex>;" (the shape of a descriptor, because viewers parse it). */
struct sp_method {
	uint32_t class_id, name_id, sig_id; /* strings */
	uint16_t modifiers;		    /* JVM access flags, 0 for native */
	uint8_t native;			    /* not a Java method; SP_NATIVE_FINAL: see there */
	uint8_t unresolved;		    /* native, name is an offset */
};

struct sp_frame_ref {
	uint32_t method;
	int32_t line; /* -1 or 0: unknown */
	int32_t bci;  /* -1: none */
	uint8_t type; /* enum sp_frame_type */
};

struct sp_stack {
	const struct sp_frame_ref *frames; /* leaf first */
	uint32_t count;
	uint8_t truncated; /* there were more frames below the last one */
};

/* A renamed thread is another entry: readers join samples with names by id. */
struct sp_thread {
	uint32_t tid;	   /* OS thread id as the target's pid namespace has it */
	uint64_t java_id;  /* 0: not a Java thread */
	uint32_t name_id;  /* string */
	uint32_t group_id; /* string: thread group, 0 unknown */
};

struct sp_dict;

/* @cap: bytes of memory it may take in all. Returns 0 or -errno. */
__attribute__((warn_unused_result)) int sp_dict_new(struct sp_dict **ret, size_t cap);
void sp_dict_free(struct sp_dict *d);

/* For one that may become large: entries are found at random (sp_arena_large_pages). */
void sp_dict_large_pages(struct sp_dict *d);

/* One more owner: the last one's sp_dict_free frees it. All of one thread. */
struct sp_dict *sp_dict_share(struct sp_dict *d);

/* Forgets all entries (after a chunk is complete); ids start at 1 again. */
void sp_dict_reset(struct sp_dict *d);

/* Deeper stacks are cut to this and marked truncated. */
#define SP_DICT_MAX_FRAMES 16384

/* Intern: equal contents give the equal id. Stacks are kept packed (about 6 bytes a frame), found
 * by a 64-bit hash and compared byte by byte. */
uint32_t sp_dict_string(struct sp_dict *d, const char *s, size_t len);
uint32_t sp_dict_method(struct sp_dict *d, const struct sp_method *m);
uint32_t sp_dict_stack(
	struct sp_dict *d, const struct sp_frame_ref *frames, uint32_t count, int truncated);
uint32_t sp_dict_thread(struct sp_dict *d, const struct sp_thread *t);

/* The same for a stack with frames packed one by one, leaf first and at most
 * SP_DICT_MAX_FRAMES of them: for readers that meet the same frames again and again.
 * sp_dict_pack_frame returns how many bytes it wrote to @to, which has room for SP_DICT_FRAME. */
#define SP_DICT_FRAME 20
size_t sp_dict_pack_large(const struct sp_frame_ref *frame, uint8_t *to);
static inline size_t sp_dict_pack_frame(const struct sp_frame_ref *frame, uint8_t *to);
uint32_t sp_dict_packed(struct sp_dict *d, const uint8_t *frames, size_t len, int truncated);

/* Look up by id. 1 ≤ id ≤ count; other ids give "" or NULL. Borrowed until reset or free; a stack
 * only until the next sp_dict_get_stack, for it is unpacked into one place. */
const char *sp_dict_get_string(const struct sp_dict *d, uint32_t id, size_t *ret_len);
const struct sp_method *sp_dict_get_method(const struct sp_dict *d, uint32_t id);
const struct sp_stack *sp_dict_get_stack(struct sp_dict *d, uint32_t id);
const struct sp_thread *sp_dict_get_thread(const struct sp_dict *d, uint32_t id);

uint32_t sp_dict_strings(const struct sp_dict *d);
uint32_t sp_dict_methods(const struct sp_dict *d);
uint32_t sp_dict_stacks(const struct sp_dict *d);
uint32_t sp_dict_threads(const struct sp_dict *d);

/* Sixteen bits beside each string, for its one writer to remember what it has written of it; all
 * zero at first, after a reset and after sp_dict_clear_marks. Ids that do not exist read as 0. */
uint16_t sp_dict_marks(const struct sp_dict *d, uint32_t string_id);
void sp_dict_set_marks(struct sp_dict *d, uint32_t string_id, uint16_t marks);
void sp_dict_clear_marks(struct sp_dict *d);

/* Eight bits beside each stack for what readers find out by looking at its frames (profile.h says
 * which), once for all profiles that share the dictionary. */
uint8_t sp_dict_stack_marks(const struct sp_dict *d, uint32_t stack_id);
void sp_dict_add_stack_marks(struct sp_dict *d, uint32_t stack_id, uint8_t marks);

/* Bytes in use, bytes there are, and interning calls that found it full since the last reset. */
size_t sp_dict_used(const struct sp_dict *d);
size_t sp_dict_cap(const struct sp_dict *d);
uint64_t sp_dict_refused(const struct sp_dict *d);

/* A number of at most two bytes as it is written, and how many bits. */
static inline uint64_t sp_dict_two_bytes(uint32_t v, unsigned *ret_bits)
{
	*ret_bits = v < 0x80 ? 8 : 16;
	return v < 0x80 ? v : (v & 0x7f) | 0x80 | (uint64_t)(v >> 7) << 8;
}

/* Most frames have at most eight bytes: written at once, what is read next need not wait. */
static inline size_t sp_dict_pack_frame(const struct sp_frame_ref *frame, uint8_t *to)
{
	uint32_t method = frame->method, line = (uint32_t)frame->line + 1;
	uint32_t bci = (uint32_t)frame->bci + 1;
	unsigned bits, more;
	uint64_t word;

	if ((method >> 7 | line | bci) >= 1u << 14 || frame->type >= 0x80)
		return sp_dict_pack_large(frame, to);
	word = sp_dict_two_bytes(method & 0x3fff, &bits);
	if (method >= 1u << 14) { /* a third byte */
		word = (method & 0x7f) | 0x8080 | (uint64_t)(method >> 7 & 0x7f) << 8 |
		       (uint64_t)(method >> 14) << 16;
		bits = 24;
	}
	word |= sp_dict_two_bytes(line, &more) << bits;
	bits += more;
	word |= sp_dict_two_bytes(bci, &more) << bits;
	bits += more;
	word |= (uint64_t)frame->type << bits;
	memcpy(to, &word, sizeof(word));
	return bits / 8 + 1;
}

#endif
