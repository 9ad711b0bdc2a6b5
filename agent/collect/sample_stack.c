/* See sample_stack.h. */
#include "sample_stack.h"

#include "base/clock.h"
#include "feature_frames.h"
#include "frame_filter.h"
#include "threads/threads_proc.h"
#include "unwind/code_cache.h"
#include "vm/hotspot_counters.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_NS   1000000000ull
#define STUB_BYTES (256u << 10) /* 3,900 routines; a JVM has some 300 to 700 */
#define SETTLED_NS 10000000000ull

struct sp_sample_stack {
	struct sp_mem_live *live;
	struct sp_modules *modules;
	struct sp_hotspot *hotspot;
	struct sp_unwinder *unwinder;
	struct sp_method_names *names;
	struct sp_intern *intern;
	struct sp_frame *frames;
	uint32_t depth, depth_left; /* frames of a stack, and of one that has more */
	enum sp_cstack cstack;
	struct sp_feature_frames *features;			    /* NULL: none */
	bool kernel;						    /* its frames are wanted */
	const volatile uint64_t *classes_loaded, *classes_unloaded; /* NULL: not counted here */
	uint64_t loaded, checked_ns;
	uint64_t unloaded, unloaded_ns; /* as it was, and when it changed */
};

/* The JVM's own library and the C library stay as long as the process: what the unwinder reads most
 * (unwind tables, symbols, names of stubs) needs no system call there. */
static int library_stays(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const struct sp_mem *mem = ctx;
	const char *base = strrchr(info->dlpi_name, '/');

	if (!base || (strcmp(base, "/libjvm.so") != 0 && strcmp(base, "/libc.so.6") != 0))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && p->p_flags & PF_R)
			mem->stable(mem->ctx, at, at + p->p_memsz);
	}
	return 0;
}

/* What is mapped of the archive of shared classes. */
struct archive {
	const struct sp_mem *mem;
	uint64_t from, to;
};

static void archive_part(void *ctx, uint64_t start, uint64_t end, enum sp_mapping kind)
{
	const struct archive *a = ctx;

	if (start < a->from)
		start = a->from;
	if (end > a->to)
		end = a->to;
	if (start < end && kind != SP_MAPPING_STACK)
		a->mem->stable(a->mem->ctx, start, end);
}

/* Methods and names of the JDK's classes: HotSpot never gives them back. */
static void archive_stays(const struct sp_hotspot *h, const struct sp_mem *mem)
{
	struct archive a = {.mem = mem};

	if (sp_hotspot_archive(h, &a.from, &a.to))
		sp_threads_proc_maps(archive_part, &a);
}

/* HotSpot's tables may be of a kind we do not know: then native frames only, said once. */
static int open_unwinder(
	struct sp_sample_stack *s, struct sp_capture *c, size_t memory, struct sp_err *err)
{
	size_t stubs = memory / 24 < STUB_BYTES ? memory / 24 : STUB_BYTES;
	struct sp_err why = {{0}};
	const struct sp_mem *mem;
	int r = sp_mem_live_new(&s->live, 0, NULL);

	if (r < 0)
		return sp_err_set(
			err, r, "cannot read this process's own memory: %s", strerror(-r));
	mem = sp_mem_live_mem(s->live);
	dl_iterate_phdr(library_stays, (void *)mem);
	r = sp_modules_new(&s->modules, mem);
	if (r == 0)
		r = sp_modules_refresh(s->modules, true);
	if (r < 0)
		return sp_err_set(err, r, "cannot list the loaded libraries: %s", strerror(-r));
	if (sp_hotspot_new(&s->hotspot, mem, s->modules, &why) < 0) {
		s->hotspot = NULL;
		c->say(c->say_ctx, why.text);
	}
	if (s->hotspot)
		archive_stays(s->hotspot, mem);
	r = sp_unwinder_new(&s->unwinder, mem, s->modules, s->hotspot, memory / 3 * 2);
	if (r == 0 && s->hotspot)
		r = sp_hotspot_keep_stubs(s->hotspot, stubs);
	if (r == 0 && s->hotspot)
		r = sp_method_names_new(&s->names, mem, s->hotspot, memory / 3 - stubs);
	if (r == 0 && s->names)
		sp_method_names_watch(s->names, s->classes_unloaded);
	return r < 0 ? sp_err_set(err, r, "out of memory for the unwinder") : 0;
}

int sp_sample_stack_new(struct sp_sample_stack **ret, struct sp_capture *c, struct sp_dict *dict,
	size_t memory, struct sp_err *err)
{
	struct sp_sample_stack *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return sp_err_set(err, -ENOMEM, "out of memory");
	s->depth = s->depth_left = c->args->depth;
	if (c->args->depth_left && c->args->depth_left < s->depth)
		s->depth_left = (uint32_t)c->args->depth_left;
	s->cstack = sp_frame_filter_kind(c->args->cstack);
	s->kernel = s->cstack != SP_CSTACK_NO && strcmp(c->args->kernel, "off") != 0;
	s->classes_loaded = sp_hotspot_counters_find("java.cls.loadedClasses");
	s->classes_unloaded = sp_hotspot_counters_find("java.cls.unloadedClasses");
	s->unloaded = s->classes_unloaded ? *s->classes_unloaded : 0;
	r = open_unwinder(s, c, memory, err);
	if (r == 0) {
		s->frames = calloc(s->depth, sizeof(*s->frames));
		r = sp_feature_frames_new(&s->features, c->args, s->hotspot);
	}
	if (r == 0) {
		r = s->frames ? sp_intern_new(&s->intern, dict, s->modules, s->unwinder, s->names,
					s->depth)
			      : -ENOMEM;
		if (r < 0)
			sp_err_set(err, r, "out of memory for the unwinder");
	}
	if (r < 0) {
		sp_sample_stack_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void sp_sample_stack_free(struct sp_sample_stack *s)
{
	if (!s)
		return;
	sp_feature_frames_free(s->features);
	sp_intern_free(s->intern);
	sp_method_names_free(s->names);
	sp_unwinder_free(s->unwinder);
	sp_hotspot_free(s->hotspot);
	sp_modules_free(s->modules);
	sp_mem_live_free(s->live);
	free(s->frames);
	free(s);
}

struct sp_hotspot *sp_sample_stack_hotspot(struct sp_sample_stack *s)
{
	return s->hotspot;
}

struct sp_intern *sp_sample_stack_intern(struct sp_sample_stack *s)
{
	return s->intern;
}

/* A method's memory becomes another's when, after classes were unloaded, others are loaded; the JVM
 * counts both before the new ones run. Those that were redefined go uncounted, hence a look once a
 * second. */
static bool methods_may_be_gone(struct sp_sample_stack *s)
{
	uint64_t now = sp_clock_mono_ns(), loaded, unloaded;

	if (s->classes_loaded && s->classes_unloaded) {
		loaded = *s->classes_loaded;
		unloaded = *s->classes_unloaded;
		if ((loaded == s->loaded || !unloaded) && now - s->checked_ns < CHECK_NS)
			return false;
		s->loaded = loaded;
	}
	s->checked_ns = now;
	return true;
}

void sp_sample_stack_refresh(struct sp_sample_stack *s)
{
	sp_mem_live_refresh(s->live);
	sp_modules_refresh(s->modules, false);
	sp_feature_frames_batch(s->features);
	sp_unwinder_batch(s->unwinder);
	if (s->names)
		sp_method_names_batch(s->names, methods_may_be_gone(s));
}

bool sp_sample_stack_settled(struct sp_sample_stack *s, uint64_t now_ns)
{
	uint64_t unloaded = s->classes_unloaded ? *s->classes_unloaded : 0;

	if (unloaded != s->unloaded)
		s->unloaded_ns = now_ns;
	s->unloaded = unloaded;
	return s->classes_unloaded && now_ns - s->unloaded_ns > SETTLED_NS;
}

static bool is_of(const struct sp_frame *f, const struct sp_module *m)
{
	return m && f->kind == SP_FRAME_KIND_NATIVE && f->module == m->id;
}

/* How many frames on top a hook has put there. Stubs are the JVM's (its slow paths); a stack that
 * has nothing but the JVM keeps it. */
static uint32_t trimmed(const struct sp_sample_stack *s, uint8_t trim, uint32_t count)
{
	const struct sp_module *self = sp_modules_find(s->modules, (uint64_t)sp_sample_stack_take);
	const struct sp_module *jvm = sp_modules_by_name(s->modules, "libjvm.so");
	uint32_t own = 0, n;

	while (own < count && is_of(&s->frames[own], self))
		own++;
	n = own;
	for (int i = SP_TRIM_CALL;
		i <= trim && n < count && s->frames[n].kind == SP_FRAME_KIND_JAVA; i++)
		n++;
	while (trim == SP_TRIM_JVM && n < count &&
		(is_of(&s->frames[n], jvm) || s->frames[n].kind == SP_FRAME_KIND_STUB))
		n++;
	return n < count ? n : own;
}

/* The frames of a stack that is too deep: numbers are kept of all frames only. */
static void shorten(const struct sp_sample_stack *s, bool too_deep, struct sp_unwind_result *u)
{
	if (!too_deep || u->count <= s->depth_left)
		return;
	u->count = s->depth_left;
	u->kept = NULL;
}

/* Not of hooks, whose own frames are on top. Numbers are kept of frames that there are only. */
static void add_features(
	struct sp_sample_stack *s, const struct sp_raw_sample *sample, struct sp_unwind_result *u)
{
	uint32_t count = u->count;

	if (sample->trim)
		return;
	if (s->cstack == SP_CSTACK_ALL)
		sp_feature_frames_compiled(
			s->features, sample, s->frames, &u->count, s->depth, u->marked);
	sp_feature_frames_receiver(s->features, sample, s->frames, &u->count, s->depth);
	if (u->count != count)
		u->kept = NULL;
}

uint32_t sp_sample_stack_take(
	struct sp_sample_stack *s, const struct sp_raw_sample *sample, struct sp_stack_facts *ret)
{
	struct sp_unwind_result u;
	uint32_t unknown = 0, top, stack;

	if (s->features)
		sp_unwinder_mark(s->unwinder, sp_feature_frames_mark(s->features, sample));
	sp_unwind(s->unwinder, &sample->snap, s->frames, s->depth, &u);
	ret->continuation = u.continuation;
	ret->too_deep = u.status == SP_UNWIND_DEPTH_CAP;
	ret->cut = ret->too_deep || u.status == SP_UNWIND_TRUNCATED;
	top = sample->trim ? trimmed(s, sample->trim, u.count) : 0;
	u.count -= top;
	u.refs += u.refs ? top : 0;
	if (s->features)
		add_features(s, sample, &u);
	if (s->cstack != SP_CSTACK_ALL) {
		u.count = sp_frame_filter(s->cstack, s->frames + top, u.count);
		u.kept = NULL; /* numbers are kept of all frames only */
	}
	shorten(s, ret->too_deep, &u);
	stack = sp_intern_stack(s->intern, sample->kernel, s->kernel ? sample->kernel_count : 0,
		s->frames + top, &u, ret->cut, &unknown);
	ret->unknown = unknown || u.unknown || u.gaps || u.status == SP_UNWIND_BROKEN;
	return stack;
}

uint32_t sp_sample_stack_given(
	struct sp_sample_stack *s, const struct sp_sig_record *rec, struct sp_stack_facts *ret)
{
	const struct sp_given_frame *given = (const void *)rec->stack;
	struct sp_unwind_result u = {.status = SP_UNWIND_COMPLETE};
	uint32_t unknown = 0, stack;

	for (; s->hotspot && u.count < rec->given && u.count < s->depth; u.count++) {
		struct sp_frame f = {.kind = SP_FRAME_KIND_JAVA,
			.type = SP_FRAME_C2,
			.method = given[u.count].method,
			.bci = (int32_t)given[u.count].bci};

		if (!sp_code_cache_method(s->hotspot, f.method, &f.const_method))
			f.kind = SP_FRAME_KIND_UNKNOWN;
		s->frames[u.count] = f;
	}
	ret->cut = ret->too_deep = u.count < rec->given;
	shorten(s, ret->too_deep, &u);
	stack = sp_intern_stack(s->intern, NULL, 0, s->frames, &u, ret->cut, &unknown);
	ret->unknown = unknown > 0;
	return stack;
}
