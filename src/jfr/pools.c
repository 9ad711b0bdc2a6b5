/* Constant pools of a chunk: see pools.h. Symbols, classes, packages, thread groups and pooled
 * strings all come from the dictionary's strings and take their id; marks beside each string say in
 * which pools it is. */
#include "jfr/pools.h"

#include <errno.h>
#include <string.h>

/* Fixed constants; the dictionary's keys start at 4. */
enum { KEY_EMPTY = 1, KEY_DESCRIPTOR = 2 };

/* Two marks for each kind: it is to be written, it is written. */
enum { CLASS, PACKAGE, GROUP, STRING, GC_NAME, GC_CAUSE, KINDS };
#define NEW(kind)  (uint16_t)(1u << (2 * (kind)))
#define DONE(kind) (uint16_t)(2u << (2 * (kind)))

void sp_jfr_pools_reset(struct sp_jfr_pools *p)
{
	p->strings = p->methods = p->stacks = p->threads = 0;
	p->classes = p->packages = p->groups = p->pending_count = 0;
	p->started = 0;
	p->parity = !p->parity;
	sp_dict_clear_marks(p->dict);
}

/* Marks string @id for a pool. Returns 1 if it is new there. */
static int mark_new(struct sp_jfr_pools *p, int kind, uint32_t id)
{
	uint16_t marks = sp_dict_marks(p->dict, id);

	if (!id || marks & (NEW(kind) | DONE(kind)))
		return 0;
	sp_dict_set_marks(p->dict, id, marks | NEW(kind));
	return 1;
}

/* Returns 1 for a string that is to be written now, once. */
static int take_new(struct sp_jfr_pools *p, int kind, uint32_t id)
{
	uint16_t marks = sp_dict_marks(p->dict, id);

	if (!(marks & NEW(kind)))
		return 0;
	sp_dict_set_marks(p->dict, id, (uint16_t)((marks & ~NEW(kind)) | DONE(kind)));
	return 1;
}

static int kind_of(uint8_t type)
{
	return type == SP_JFR_CLASS	 ? CLASS
	       : type == SP_JFR_GC_NAME	 ? GC_NAME
	       : type == SP_JFR_GC_CAUSE ? GC_CAUSE
					 : STRING;
}

int sp_jfr_pools_refer(struct sp_jfr_pools *p, uint8_t type, uint32_t id)
{
	if (!id || sp_dict_marks(p->dict, id) & (NEW(kind_of(type)) | DONE(kind_of(type))))
		return 0;
	if (p->pending_count == SP_JFR_PENDING)
		return -ENOBUFS;
	mark_new(p, kind_of(type), id);
	p->pending[p->pending_count].id = id;
	p->pending[p->pending_count++].type = type;
	return 0;
}

/* String id of "java/util" for that of "java/util/List", or 0. */
static uint32_t package_of(struct sp_jfr_pools *p, uint32_t class_id)
{
	size_t len;
	const char *name = sp_dict_get_string(p->dict, class_id, &len);
	const char *slash = memrchr(name, '/', len);

	return slash && slash > name ? sp_dict_string(p->dict, name, (size_t)(slash - name)) : 0;
}

static void note_class(struct sp_jfr_pools *p, uint32_t class_id)
{
	p->classes += (uint32_t)mark_new(p, CLASS, class_id);
	p->packages += (uint32_t)mark_new(p, PACKAGE, package_of(p, class_id));
}

/* Finds the classes, packages and groups behind new methods, threads and references. */
static void note_all(struct sp_jfr_pools *p)
{
	p->classes = p->packages = p->groups = 0;
	for (uint32_t id = p->methods + 1; id <= sp_dict_methods(p->dict); id++) {
		const struct sp_method *m = sp_dict_get_method(p->dict, id);

		if (!(sp_dict_marks(p->dict, m->class_id) & (NEW(CLASS) | DONE(CLASS))))
			note_class(p, m->class_id);
	}
	for (uint32_t id = p->threads + 1; id <= sp_dict_threads(p->dict); id++)
		p->groups +=
			(uint32_t)mark_new(p, GROUP, sp_dict_get_thread(p->dict, id)->group_id);
	for (uint32_t i = 0; i < p->pending_count; i++) {
		if (p->pending[i].type != SP_JFR_CLASS)
			continue;
		p->classes++; /* marked when it was referred to */
		p->packages += (uint32_t)mark_new(p, PACKAGE, package_of(p, p->pending[i].id));
	}
}

/* Stacks are most of a first flush: their size is counted, so that it fits where the disk has just
 * that much left. */
static uint64_t size_of_stack(const struct sp_jfr_pools *p, const struct sp_stack *stack)
{
	uint64_t size = 16 + stack->count; /* its head; a byte of type for each frame */

	for (uint32_t i = 0; i < stack->count; i++) {
		const struct sp_frame_ref *f = &stack->frames[i];

		size += sp_jfr_size_long(sp_jfr_key(p, f->method)) +
			sp_jfr_size_long(f->line > 0 ? (uint32_t)f->line : 0) +
			sp_jfr_size_long(f->bci > 0 ? (uint32_t)f->bci : 0);
	}
	return size;
}

uint64_t sp_jfr_pools_bound(struct sp_jfr_pools *p)
{
	uint64_t bound = 2048; /* head of the checkpoint and of the pools, fixed constants */
	size_t len;

	note_all(p);
	for (uint32_t id = p->strings + 1; id <= sp_dict_strings(p->dict); id++) {
		sp_dict_get_string(p->dict, id, &len);
		bound += len + 12;
	}
	for (uint32_t id = p->stacks + 1; id <= sp_dict_stacks(p->dict); id++)
		bound += size_of_stack(p, sp_dict_get_stack(p->dict, id));
	for (uint32_t id = p->threads + 1; id <= sp_dict_threads(p->dict); id++) {
		sp_dict_get_string(p->dict, sp_dict_get_thread(p->dict, id)->name_id, &len);
		bound += 2 * len + 48;
		sp_dict_get_string(p->dict, sp_dict_get_thread(p->dict, id)->group_id, &len);
		bound += len + 16;
	}
	for (uint32_t i = 0; i < p->pending_count; i++) {
		sp_dict_get_string(p->dict, p->pending[i].id, &len);
		bound += len + 32;
	}
	return bound + (sp_dict_methods(p->dict) - p->methods) * 25ull + p->classes * 25ull +
	       p->packages * 16ull;
}

static void put_text(struct sp_jfr_pools *p, struct sp_jfr_sink *s, uint32_t string_id)
{
	size_t len;
	const char *text = sp_dict_get_string(p->dict, string_id, &len);

	sp_jfr_sink_text(s, text, len);
}

static void put_names(struct sp_jfr_sink *s, uint8_t type, const char *const *names, uint32_t count,
	uint32_t first)
{
	sp_jfr_sink_long(s, type);
	sp_jfr_sink_long(s, count);
	for (uint32_t i = 0; i < count; i++) {
		sp_jfr_sink_long(s, first + i);
		sp_jfr_sink_text(s, names[i], strlen(names[i]));
	}
}

static uint32_t put_fixed(struct sp_jfr_pools *p, struct sp_jfr_sink *s)
{
	static const char *const when[] = {"Before GC", "After GC"};

	if (p->started)
		return 0;
	p->started = 1;
	put_names(s, SP_JFR_FRAME_TYPE, sp_jfr_frame_names, SP_JFR_FRAMES, 0);
	put_names(s, SP_JFR_THREAD_STATE, sp_jfr_state_names, SP_STATES, 0);
	put_names(s, SP_JFR_GC_WHEN, when, 2, SP_GC_BEFORE);
	put_names(s, SP_JFR_SYMBOL, (const char *const[]){"", "()L;"}, 2, KEY_EMPTY);
	sp_jfr_sink_long(s, SP_JFR_CLASS);
	sp_jfr_sink_long(s, 1);
	sp_jfr_sink_long(s, KEY_EMPTY);
	sp_jfr_sink_long(s, 0);
	sp_jfr_sink_long(s, KEY_EMPTY);
	sp_jfr_sink_long(s, 0);
	sp_jfr_sink_long(s, 0);
	return 5;
}

static uint32_t put_symbols(struct sp_jfr_pools *p, struct sp_jfr_sink *s)
{
	uint32_t last = sp_dict_strings(p->dict);

	if (p->strings == last)
		return 0;
	sp_jfr_sink_long(s, SP_JFR_SYMBOL);
	sp_jfr_sink_long(s, last - p->strings);
	for (uint32_t id = p->strings + 1; id <= last; id++) {
		sp_jfr_sink_long(s, sp_jfr_key(p, id));
		put_text(p, s, id);
	}
	p->strings = last;
	return 1;
}

static void put_package(struct sp_jfr_pools *p, struct sp_jfr_sink *s, uint32_t class_id)
{
	uint32_t package = package_of(p, class_id);

	if (!take_new(p, PACKAGE, package))
		return;
	sp_jfr_sink_long(s, sp_jfr_key(p, package));
	sp_jfr_sink_long(s, sp_jfr_key(p, package));
}

static void put_class(struct sp_jfr_pools *p, struct sp_jfr_sink *s, uint32_t class_id)
{
	uint32_t package = package_of(p, class_id);

	if (!take_new(p, CLASS, class_id))
		return;
	if (!(sp_dict_marks(p->dict, package) & DONE(PACKAGE)))
		package = 0; /* the dictionary was full when it was to be noted */
	sp_jfr_sink_long(s, sp_jfr_key(p, class_id));
	sp_jfr_sink_long(s, 0); /* class loader */
	sp_jfr_sink_long(s, sp_jfr_key(p, class_id));
	sp_jfr_sink_long(s, sp_jfr_key(p, package));
	sp_jfr_sink_long(s, 0); /* modifiers */
}

/* Calls @put for the class of each new method and reference. */
static void each_class(struct sp_jfr_pools *p, struct sp_jfr_sink *s,
	void (*put)(struct sp_jfr_pools *, struct sp_jfr_sink *, uint32_t))
{
	for (uint32_t id = p->methods + 1; id <= sp_dict_methods(p->dict); id++) {
		uint32_t class_id = sp_dict_get_method(p->dict, id)->class_id;

		if (sp_dict_marks(p->dict, class_id) & NEW(CLASS))
			put(p, s, class_id);
	}
	for (uint32_t i = 0; i < p->pending_count; i++) {
		if (p->pending[i].type == SP_JFR_CLASS)
			put(p, s, p->pending[i].id);
	}
}

static uint32_t put_classes(struct sp_jfr_pools *p, struct sp_jfr_sink *s)
{
	uint32_t pools = 0;

	if (p->packages) {
		sp_jfr_sink_long(s, SP_JFR_PACKAGE);
		sp_jfr_sink_long(s, p->packages);
		each_class(p, s, put_package);
		pools++;
	}
	if (p->classes) {
		sp_jfr_sink_long(s, SP_JFR_CLASS);
		sp_jfr_sink_long(s, p->classes);
		each_class(p, s, put_class);
		pools++;
	}
	return pools;
}

static uint32_t put_methods(struct sp_jfr_pools *p, struct sp_jfr_sink *s)
{
	uint32_t last = sp_dict_methods(p->dict);

	if (p->methods == last)
		return 0;
	sp_jfr_sink_long(s, SP_JFR_METHOD);
	sp_jfr_sink_long(s, last - p->methods);
	for (uint32_t id = p->methods + 1; id <= last; id++) {
		const struct sp_method *m = sp_dict_get_method(p->dict, id);

		sp_jfr_sink_long(s, sp_jfr_key(p, id));
		sp_jfr_sink_long(s, m->class_id ? sp_jfr_key(p, m->class_id) : KEY_EMPTY);
		sp_jfr_sink_long(s, m->name_id ? sp_jfr_key(p, m->name_id) : KEY_EMPTY);
		sp_jfr_sink_long(s, m->sig_id ? sp_jfr_key(p, m->sig_id) : KEY_DESCRIPTOR);
		sp_jfr_sink_long(s, m->native ? 0x100 : m->modifiers);
		sp_jfr_sink_long(s, 0); /* hidden */
	}
	p->methods = last;
	return 1;
}

static uint8_t frame_id(uint8_t type)
{
	static const uint8_t ids[SP_FRAME_TYPES] = {
		[SP_FRAME_INTERPRETED] = SP_JFR_FRAME_INTERPRETED,
		[SP_FRAME_C1] = SP_JFR_FRAME_C1,
		[SP_FRAME_C2] = SP_JFR_FRAME_JIT,
		[SP_FRAME_INLINED] = SP_JFR_FRAME_INLINED,
		[SP_FRAME_NATIVE] = SP_JFR_FRAME_NATIVE,
		[SP_FRAME_CPP] = SP_JFR_FRAME_CPP,
		[SP_FRAME_KERNEL] = SP_JFR_FRAME_KERNEL,
		[SP_FRAME_PYTHON] =
			SP_JFR_FRAME_INTERPRETED, /* others know seven; see SP_NATIVE_PYTHON */
	};

	return type < SP_FRAME_TYPES ? ids[type] : SP_JFR_FRAME_NATIVE;
}

static uint32_t put_stacks(struct sp_jfr_pools *p, struct sp_jfr_sink *s)
{
	uint32_t last = sp_dict_stacks(p->dict);

	if (p->stacks == last)
		return 0;
	sp_jfr_sink_long(s, SP_JFR_STACK_TRACE);
	sp_jfr_sink_long(s, last - p->stacks);
	for (uint32_t id = p->stacks + 1; id <= last; id++) {
		const struct sp_stack *stack = sp_dict_get_stack(p->dict, id);

		sp_jfr_sink_long(s, sp_jfr_key(p, id));
		sp_jfr_sink_long(s, stack->truncated);
		sp_jfr_sink_long(s, stack->count);
		for (uint32_t i = 0; i < stack->count; i++) {
			const struct sp_frame_ref *f = &stack->frames[i];

			sp_jfr_sink_long(s, sp_jfr_key(p, f->method));
			sp_jfr_sink_long(s, f->line > 0 ? (uint32_t)f->line : 0);
			sp_jfr_sink_long(s, f->bci > 0 ? (uint32_t)f->bci : 0);
			sp_jfr_sink_long(s, frame_id(f->type));
		}
	}
	p->stacks = last;
	return 1;
}

static uint32_t put_groups(struct sp_jfr_pools *p, struct sp_jfr_sink *s)
{
	if (!p->groups)
		return 0;
	sp_jfr_sink_long(s, SP_JFR_THREAD_GROUP);
	sp_jfr_sink_long(s, p->groups);
	for (uint32_t id = p->threads + 1; id <= sp_dict_threads(p->dict); id++) {
		uint32_t group = sp_dict_get_thread(p->dict, id)->group_id;

		if (!take_new(p, GROUP, group))
			continue;
		sp_jfr_sink_long(s, sp_jfr_key(p, group));
		sp_jfr_sink_long(s, 0); /* parent */
		put_text(p, s, group);
	}
	return 1;
}

static uint32_t put_threads(struct sp_jfr_pools *p, struct sp_jfr_sink *s)
{
	uint32_t last = sp_dict_threads(p->dict);

	if (p->threads == last)
		return 0;
	sp_jfr_sink_long(s, SP_JFR_THREAD);
	sp_jfr_sink_long(s, last - p->threads);
	for (uint32_t id = p->threads + 1; id <= last; id++) {
		const struct sp_thread *t = sp_dict_get_thread(p->dict, id);

		sp_jfr_sink_long(s, sp_jfr_key(p, id));
		put_text(p, s, t->name_id);
		sp_jfr_sink_long(s, t->tid);
		if (t->java_id)
			put_text(p, s, t->name_id);
		else
			sp_jfr_sink_long(s, SP_JFR_STR_NULL);
		sp_jfr_sink_long(s, t->java_id);
		sp_jfr_sink_long(s, sp_jfr_key(p, t->group_id));
	}
	p->threads = last;
	return 1;
}

static uint32_t put_pending(struct sp_jfr_pools *p, struct sp_jfr_sink *s, uint8_t type)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < p->pending_count; i++)
		count += p->pending[i].type == type;
	if (!count)
		return 0;
	sp_jfr_sink_long(s, type);
	sp_jfr_sink_long(s, count);
	for (uint32_t i = 0; i < p->pending_count; i++) {
		if (p->pending[i].type != type)
			continue;
		take_new(p, kind_of(type), p->pending[i].id);
		sp_jfr_sink_long(s, sp_jfr_key(p, p->pending[i].id));
		put_text(p, s, p->pending[i].id);
	}
	return 1;
}

uint32_t sp_jfr_pools_write(struct sp_jfr_pools *p, struct sp_jfr_sink *s)
{
	uint8_t head[SP_JFR_CHECKPOINT_BYTES];
	uint32_t pools;

	sp_jfr_checkpoint(head, 0, 0, 0);
	sp_jfr_sink_bytes(s, head, sizeof(head));
	pools = put_fixed(p, s);
	pools += put_symbols(p, s);
	pools += put_classes(p, s);
	pools += put_methods(p, s);
	pools += put_stacks(p, s);
	pools += put_groups(p, s);
	pools += put_threads(p, s);
	pools += put_pending(p, s, SP_JFR_STRING);
	pools += put_pending(p, s, SP_JFR_GC_NAME);
	pools += put_pending(p, s, SP_JFR_GC_CAUSE);
	p->pending_count = 0;
	p->classes = p->packages = p->groups = 0;
	return pools;
}
