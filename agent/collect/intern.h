/* Turns the unwinder's frames into dictionary entries while their methods still exist: names are
 * read now, milliseconds after the sample, so that nothing must be kept from unloading.
 * Context: the collector only. */
#ifndef SP_AGENT_COLLECT_INTERN_H
#define SP_AGENT_COLLECT_INTERN_H

#include "capture/engine.h"
#include "dict/dict.h"
#include "unwind/method_names.h"
#include "unwind/unwind.h"

struct sp_intern;

/* Everything is borrowed for life; @names may be NULL (no Java names). Returns 0 or -ENOMEM. */
int sp_intern_new(struct sp_intern **ret, struct sp_dict *dict, struct sp_modules *modules,
	struct sp_unwinder *unwinder, struct sp_method_names *names, uint32_t depth);
void sp_intern_free(struct sp_intern *in);

/* From now on also asks the modules' files for names, and, with @kernel_memory bytes for them, the
 * kernel for its own: there is no launcher that will. Returns 0 or -errno. */
int sp_intern_ask_files(struct sp_intern *in, size_t kernel_memory);

/* From now on asks the kernel for its names, with @memory bytes for them; reads them before it
 * returns. The modules' files stay, also where the process is gone; its kernel's names do not.
 * Returns 0 or -errno. */
int sp_intern_ask_kernel(struct sp_intern *in, size_t memory);

/* @fn hears of each module once a chunk, when a frame of it is first interned. */
void sp_intern_on_module(
	struct sp_intern *in, void (*fn)(void *ctx, const struct sp_module *m), void *ctx);

/* The dictionary was reset: what was cached is void. */
void sp_intern_reset(struct sp_intern *in);

/* The stack of @frames, as @u describes them, under @kernel's addresses. *ret_unknown counts frames
 * without a name. Returns a stack id, or 0 when the dictionary is full. */
uint32_t sp_intern_stack(struct sp_intern *in, const uint64_t *kernel, uint32_t kernel_count,
	const struct sp_frame *frames, const struct sp_unwind_result *u, bool truncated,
	uint32_t *ret_unknown);

/* The state of a thread blocked in @stack: separates Thread.sleep from other waits in a futex.
 * @by_call: @state comes from the system call; else, where that was not to be had, it is what
 * others in the same Java method waited for, if any were seen. */
enum sp_state sp_intern_state(
	struct sp_intern *in, uint32_t stack, enum sp_state state, bool by_call);

/* The thread under @name. @version: of the name, where it is @t's present one; 0: it was another.
 * @t may be NULL. 0 when full. */
uint32_t sp_intern_thread(
	struct sp_intern *in, struct sp_tinfo *t, uint32_t tid, const char *name, uint32_t version);

/* The virtual thread with @continuation, which thread @tid carries. 0 where it cannot be read any
 * more, has no name (its carrier's then serves), or when full. */
uint32_t sp_intern_vthread(
	struct sp_intern *in, struct sp_hotspot *h, uint64_t continuation, uint32_t tid);

/* A virtual thread known by number and name. 0 where that is empty, or when full. */
uint32_t sp_intern_virtual(
	struct sp_intern *in, uint64_t id, const char *name, size_t len, uint32_t tid);

/* Changes with every reset: stack ids of an older one are void. */
uint32_t sp_intern_epoch(const struct sp_intern *in);

#endif
