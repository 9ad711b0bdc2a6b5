/* See intern.h. Native methods are cached by pc in a direct-mapped table. */
#include "intern.h"

#include "base/boot_id.h"
#include "host/elf_symtab.h"
#include "host/kernel_names.h"
#include "host/cpp_name.h"
#include "unwind/vthread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAVES	   64
#define CACHE_SIZE 4096 /* a power of two */
#define MODULES	   1024 /* ids beyond are not written */

struct cached {
	uint64_t pc;
	uint32_t method;
	uint8_t type;
};

/* What threads in this Java method waited for, when the system call was known. */
struct leaf_state {
	uint32_t leaf, epoch;
	enum sp_state state;
};

struct sp_intern {
	struct sp_dict *dict;
	struct sp_modules *modules;
	struct sp_unwinder *unwinder;
	struct sp_method_names *names;
	struct sp_elf_symtab *files;	/* NULL: they are not asked */
	struct sp_kernel_names *kernel; /* the same */
	uint32_t depth;
	uint32_t epoch, modules_epoch;
	uint32_t unknown_method, gap_method;
	char kernel_id[SP_BOOT_ID + 8]; /* "()L<boot id>;": addresses mean this boot's functions */
	struct sp_frame_ref *refs;
	void (*module_seen)(void *ctx, const struct sp_module *m);
	void *module_ctx;
	uint32_t seen_epoch[MODULES]; /* by module id */
	struct cached cache[CACHE_SIZE];
	struct leaf_state leaf_states[LEAVES];
};

int sp_intern_new(struct sp_intern **ret, struct sp_dict *dict, struct sp_modules *modules,
	struct sp_unwinder *unwinder, struct sp_method_names *names, uint32_t depth)
{
	struct sp_intern *in = calloc(1, sizeof(*in));
	char boot[SP_BOOT_ID];

	if (!in)
		return -ENOMEM;
	in->refs = calloc(depth + SP_KERNEL_FRAMES + 1, sizeof(*in->refs));
	if (!in->refs) {
		free(in);
		return -ENOMEM;
	}
	if (sp_boot_id(boot) == 0)
		snprintf(in->kernel_id, sizeof(in->kernel_id), "()L%s;", boot);
	in->dict = dict;
	in->modules = modules;
	in->unwinder = unwinder;
	in->names = names;
	in->depth = depth;
	in->epoch = 1;
	*ret = in;
	return 0;
}

void sp_intern_on_module(
	struct sp_intern *in, void (*fn)(void *ctx, const struct sp_module *m), void *ctx)
{
	in->module_seen = fn;
	in->module_ctx = ctx;
}

static void write_module(struct sp_intern *in, const struct sp_module *m)
{
	if (!in->module_seen || m->id >= MODULES || in->seen_epoch[m->id] == in->epoch)
		return;
	in->seen_epoch[m->id] = in->epoch;
	in->module_seen(in->module_ctx, m);
}

void sp_intern_free(struct sp_intern *in)
{
	if (!in)
		return;
	sp_elf_symtab_free(in->files);
	sp_kernel_names_free(in->kernel);
	free(in->refs);
	free(in);
}

int sp_intern_ask_files(struct sp_intern *in, size_t kernel_memory)
{
	int r = sp_elf_symtab_new(&in->files);

	return r < 0 || !kernel_memory ? r : sp_kernel_names_new(&in->kernel, NULL, kernel_memory);
}

int sp_intern_ask_kernel(struct sp_intern *in, size_t memory)
{
	int r = sp_kernel_names_new(&in->kernel, NULL, memory);

	if (r == 0)
		sp_kernel_names_find(in->kernel, 0);
	return r;
}

void sp_intern_reset(struct sp_intern *in)
{
	in->epoch++;
	in->unknown_method = in->gap_method = 0;
	memset(in->cache, 0, sizeof(in->cache));
}

uint32_t sp_intern_epoch(const struct sp_intern *in)
{
	return in->epoch;
}

static uint32_t string(struct sp_intern *in, const char *s)
{
	return sp_dict_string(in->dict, s, strlen(s));
}

/* @class_name and @sig may be empty: then their ids are 0. */
static uint32_t native_method(struct sp_intern *in, const char *class_name, const char *name,
	const char *sig, bool unresolved)
{
	struct sp_method m = {.class_id = *class_name ? string(in, class_name) : 0,
		.name_id = string(in, name),
		.sig_id = *sig ? string(in, sig) : 0,
		.native = 1,
		.unresolved = unresolved};

	if ((*class_name && !m.class_id) || !m.name_id || (*sig && !m.sig_id))
		return 0;
	return sp_dict_method(in->dict, &m);
}

static uint32_t unknown_method(struct sp_intern *in)
{
	if (!in->unknown_method)
		in->unknown_method = native_method(in, "", "[unknown]", "", false);
	return in->unknown_method;
}

/* Native frames that could not be followed. */
static uint32_t gap_method(struct sp_intern *in)
{
	if (!in->gap_method)
		in->gap_method = native_method(in, "", SP_NATIVE_GAP, "", false);
	return in->gap_method;
}

/* Mangled as the Itanium C++ ABI or Rust v0 do it. */
static bool is_mangled(const char *name)
{
	return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
}

static void hex(const uint8_t *bytes, uint8_t len, char *out)
{
	for (uint8_t i = 0; i < len; i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	out[2 * len] = 0;
}

static bool find_name(struct sp_intern *in, const struct sp_module *mod, const struct sp_frame *f,
	char *ret, size_t size)
{
	return sp_modules_name(in->modules, f->offset + mod->base, ret, size) == 0 ||
	       (in->files && sp_elf_symtab_find(in->files, mod, f->offset, ret, size) == 0);
}

/* The function's name if it can be had, else module and offset for the launcher. */
static void name_native(struct sp_intern *in, const struct sp_frame *f, struct cached *ret)
{
	const struct sp_module *mod = sp_modules_get(in->modules, f->module);
	char name[512], id[2 * SP_BUILD_ID_MAX + 8];

	ret->type = SP_FRAME_NATIVE;
	if (mod)
		write_module(in, mod);
	if (mod && find_name(in, mod, f, name, sizeof(name))) {
		if (is_mangled(name))
			ret->type = SP_FRAME_CPP;
		/* As other readers are to show it. A launcher does that for all. */
		if (in->files)
			sp_cpp_name(name, name, sizeof(name));
		ret->method = native_method(in, mod->name, name, "", false);
		return;
	}
	snprintf(name, sizeof(name), "0x%llx", (unsigned long long)f->offset);
	id[0] = 0;
	if (mod) {
		memcpy(id, "()L", 3);
		hex(mod->build_id, mod->build_id_len, id + 3);
		memcpy(id + 3 + 2 * mod->build_id_len, ";", 2);
	}
	ret->method = native_method(in, mod ? mod->name : "", name, id, mod != NULL);
}

static struct cached *cached(struct sp_intern *in, uint64_t pc)
{
	return &in->cache[(pc * 0x9e3779b97f4a7c15ull) >> 52 & (CACHE_SIZE - 1)];
}

static void ref_native(struct sp_intern *in, const struct sp_frame *f, struct sp_frame_ref *ret)
{
	struct cached *c;

	if (sp_modules_epoch(in->modules) != in->modules_epoch) {
		memset(in->cache, 0, sizeof(in->cache));
		in->modules_epoch = sp_modules_epoch(in->modules);
	}
	c = cached(in, f->pc);
	if (c->pc != f->pc || !c->method) {
		c->pc = f->pc;
		name_native(in, f, c);
	}
	ret->method = c->method;
	ret->type = c->type;
}

static void ref_kernel(struct sp_intern *in, uint64_t addr, struct sp_frame_ref *ret)
{
	struct cached *c = cached(in, addr);
	const char *known;
	char name[24];

	if (c->pc != addr || !c->method) {
		known = in->kernel ? sp_kernel_names_find(in->kernel, addr) : NULL;
		snprintf(name, sizeof(name), "0x%llx", (unsigned long long)addr);
		c->pc = addr;
		c->method = known ? native_method(in, "[kernel]", known, "", false)
				  : native_method(in, "[kernel]", name, in->kernel_id, true);
	}
	*ret = (struct sp_frame_ref){c->method, -1, -1, SP_FRAME_KERNEL};
}

static uint32_t java_method(struct sp_intern *in, struct sp_name *n)
{
	struct sp_method m = {
		.class_id = sp_dict_string(in->dict, n->class_name, n->class_len),
		.name_id = sp_dict_string(in->dict, n->name, n->name_len),
		.sig_id = sp_dict_string(in->dict, n->sig, n->sig_len),
		.modifiers = n->modifiers,
	};

	return m.class_id && m.name_id && m.sig_id ? sp_dict_method(in->dict, &m) : 0;
}

/* False where the method is no longer what it was. */
static bool ref_java(struct sp_intern *in, const struct sp_frame *f, struct sp_frame_ref *ret)
{
	struct sp_name *n;

	if (!in->names || sp_method_names_get(in->names, f, &n) < 0)
		return false;
	if (n->user_epoch != in->epoch || !n->user_id) {
		n->user_id = java_method(in, n);
		n->user_epoch = in->epoch;
	}
	ret->method = n->user_id;
	ret->bci = f->bci;
	ret->line = sp_method_names_line(in->names, f);
	ret->type = f->type;
	return true;
}

/* A frame that is a class and nothing else. */
static uint32_t class_method(struct sp_intern *in, const char *name)
{
	struct sp_method m = {.class_id = string(in, name),
		.name_id = string(in, ""),
		.sig_id = string(in, "()L;")};

	return m.class_id && m.name_id && m.sig_id ? sp_dict_method(in->dict, &m) : 0;
}

static bool ref_frame(struct sp_intern *in, const struct sp_frame *f, struct sp_frame_ref *ret)
{
	char name[128];

	*ret = (struct sp_frame_ref){0, -1, -1, f->type};
	switch (f->kind) {
	case SP_FRAME_KIND_JAVA:
		if (ref_java(in, f, ret))
			return true;
		break;
	case SP_FRAME_KIND_NATIVE:
		ref_native(in, f, ret);
		return true;
	case SP_FRAME_KIND_STUB:
		sp_unwind_stub_name(in->unwinder, f, name, sizeof(name));
		ret->method = native_method(in, "", name, "", false);
		ret->type = SP_FRAME_NATIVE;
		return true;
	case SP_FRAME_KIND_CLASS:
		ret->method = class_method(in, (const char *)(uintptr_t)f->method);
		return true;
	default:
		if (!(f->flags & (SP_FRAMEFLAG_GAP | SP_FRAMEFLAG_NO_JAVA)))
			break;
		ret->method = f->flags & SP_FRAMEFLAG_GAP
				      ? gap_method(in)
				      : native_method(in, "", "[no_Java_frame]", "", false);
		ret->type = SP_FRAME_NATIVE;
		return true;
	}
	ret->method = unknown_method(in);
	ret->type = SP_FRAME_NATIVE;
	return false;
}

/* How many of the lowest frames are those that were interned before. */
static uint32_t still_there(const struct sp_intern *in, const struct sp_unwind_result *u)
{
	const struct sp_kept_refs *k = &u->was;
	uint32_t n = u->same < k->frames ? u->same : k->frames;

	if (!u->kept || !in->names || k->dict != in->epoch ||
		k->names != sp_method_names_change(in->names) ||
		k->modules != sp_modules_epoch(in->modules))
		return 0;
	return n < u->count ? n : u->count;
}

/* Leaves @refs for the next sample of the thread. Frames without a name are asked for again. */
static void keep_stack(struct sp_intern *in, const struct sp_unwind_result *u,
	const struct sp_frame_ref *refs, uint32_t fresh, uint32_t unknown)
{
	if (!u->kept || !in->names)
		return;
	memcpy(u->refs, refs, fresh * sizeof(*refs));
	*u->kept = (struct sp_kept_refs){sp_method_names_change(in->names), unknown ? 0 : in->epoch,
		sp_modules_epoch(in->modules), u->count};
}

uint32_t sp_intern_stack(struct sp_intern *in, const uint64_t *kernel, uint32_t kernel_count,
	const struct sp_frame *frames, const struct sp_unwind_result *u, bool truncated,
	uint32_t *ret_unknown)
{
	uint32_t n = 0, unknown = 0, fresh = u->count - still_there(in, u), first;

	for (uint32_t i = 0; i < kernel_count && i < SP_KERNEL_FRAMES; i++)
		ref_kernel(in, kernel[i], &in->refs[n++]);
	first = n;
	for (uint32_t i = 0; i < fresh && i < in->depth; i++)
		unknown += !ref_frame(in, &frames[i], &in->refs[n++]);
	for (uint32_t i = 0; i < n; i++)
		if (!in->refs[i].method)
			return 0;
	keep_stack(in, u, in->refs + first, n - first, unknown);
	for (uint32_t i = fresh; i < u->count && i < in->depth; i++)
		in->refs[n++] = u->refs[i];
	*ret_unknown = unknown;
	return sp_dict_stack(in->dict, in->refs, n, truncated);
}

static bool string_starts(const struct sp_intern *in, uint32_t id, const char *with)
{
	size_t len = 0;
	const char *s = sp_dict_get_string(in->dict, id, &len);

	return len >= strlen(with) && memcmp(s, with, strlen(with)) == 0;
}

/* The innermost Java method of @stack, 0 none. */
static uint32_t java_leaf(struct sp_intern *in, uint32_t stack)
{
	const struct sp_stack *s = sp_dict_get_stack(in->dict, stack);

	for (uint32_t i = 0; s && i < s->count; i++) {
		const struct sp_method *m = sp_dict_get_method(in->dict, s->frames[i].method);

		if (m && !m->native)
			return s->frames[i].method;
	}
	return 0;
}

enum sp_state sp_intern_state(
	struct sp_intern *in, uint32_t stack, enum sp_state state, bool by_call)
{
	uint32_t leaf = java_leaf(in, stack);
	const struct sp_method *m = leaf ? sp_dict_get_method(in->dict, leaf) : NULL;
	struct leaf_state *k = &in->leaf_states[leaf % LEAVES];

	if (!m)
		return state;
	if ((state == SP_STATE_LOCK || !by_call) && string_starts(in, m->name_id, "sleep") &&
		string_starts(in, m->class_id, "java/lang/Thread"))
		return SP_STATE_SLEEP;
	if (by_call)
		*k = (struct leaf_state){leaf, in->epoch, state};
	else if (k->leaf == leaf && k->epoch == in->epoch)
		return k->state;
	return state;
}

uint32_t sp_intern_thread(
	struct sp_intern *in, struct sp_tinfo *t, uint32_t tid, const char *name, uint32_t version)
{
	struct sp_thread th = {.tid = tid};
	char number[32];

	if (t && version && t->dict_epoch == in->epoch && t->dict_version == version && t->dict_id)
		return t->dict_id;
	snprintf(number, sizeof(number), "[tid=%u]", tid);
	th.name_id = string(in, name[0] ? name : number);
	th.java_id = t ? t->java_id : 0;
	th.group_id = t && t->group[0] ? string(in, t->group) : 0;
	if (!th.name_id)
		return 0;
	tid = sp_dict_thread(in->dict, &th);
	if (t && version) {
		t->dict_epoch = in->epoch;
		t->dict_version = version;
		t->dict_id = tid;
	}
	return tid;
}

uint32_t sp_intern_virtual(
	struct sp_intern *in, uint64_t id, const char *name, size_t len, uint32_t tid)
{
	struct sp_thread th = {.tid = tid, .java_id = id};

	th.name_id = len ? sp_dict_string(in->dict, name, len) : 0;
	return th.name_id ? sp_dict_thread(in->dict, &th) : 0;
}

uint32_t sp_intern_vthread(
	struct sp_intern *in, struct sp_hotspot *h, uint64_t continuation, uint32_t tid)
{
	struct sp_vthread v;

	if (sp_vthread_get(h, continuation, &v) < 0)
		return 0;
	return sp_intern_virtual(in, v.id, v.name, strlen(v.name), tid);
}
