/* Spelling frames: see frame_name.h. */
#include "prof/model/frame_name.h"

#include <ctype.h>
#include <string.h>

#include "base/path.h"
#include "elf/demangle.h"
#include "prof/model/short_name.h"

/* Length of a class name without what makes hidden classes unique: "/0x0000000800c03000" (as Java
 * prints it), "+0x…" (as HotSpot keeps it) or "/1234" (before JDK 15). */
static size_t stable_length(const char *s, size_t n)
{
	for (size_t i = n; i-- > 1;) {
		if (s[i] != '/' && s[i] != '.' && s[i] != '+')
			continue;
		return i + 1 < n && isdigit((unsigned char)s[i + 1]) ? i : n;
	}
	return n;
}

static void add_class(const char *s, size_t n, const struct sp_style *style, struct sp_buf *out)
{
	if (!s)
		return; /* never: but gcc cannot know */
	n = style->stable ? sp_short_name_stable(s, n) : stable_length(s, n);
	if (style->simple) {
		const char *slash = memrchr(s, '/', n);

		if (!slash) /* the class of an object */
			slash = memrchr(s, '.', n);

		if (slash) {
			n -= (size_t)(slash + 1 - s);
			s = slash + 1;
		}
	}
	for (size_t i = 0; i < n; i++)
		sp_buf_addc(out, style->dotted && s[i] == '/' ? '.' : s[i]);
}

static void add_java(const struct sp_dict *d, const struct sp_method *m,
	const struct sp_style *style, struct sp_buf *out)
{
	size_t n, len;
	const char *s = sp_dict_get_string(d, m->class_id, &n);

	if (n > 0 && style->readable)
		sp_short_name_class(s, n, out);
	else if (n > 0)
		add_class(s, n, style, out);
	s = sp_dict_get_string(d, m->name_id, &len);
	if (n > 0 && len > 0) /* else it is a class and nothing else */
		sp_buf_addc(out, '.');
	n = len;
	if (style->readable)
		sp_short_name_method(s, n, out);
	else
		sp_buf_add(out, s, n);
	if (style->signatures) {
		s = sp_dict_get_string(d, m->sig_id, &n);
		sp_buf_add(out, s, n);
	}
}

void sp_frame_name_class(const struct sp_dict *d, const struct sp_method *m,
	const struct sp_style *style, struct sp_buf *out)
{
	struct sp_method cls = {.class_id = m->class_id};

	add_java(d, &cls, style, out);
}

static void add_native(const struct sp_dict *d, const struct sp_method *m,
	const struct sp_style *style, struct sp_buf *out)
{
	const char *module = sp_path_base(sp_dict_get_string(d, m->class_id, NULL));
	const char *name = sp_dict_get_string(d, m->name_id, NULL);
	SP_AUTO_BUF struct sp_buf lib = {0};

	if (style->readable) {
		sp_short_name_library(module, &lib);
		module = sp_buf_str(&lib);
	}
	if (m->native == SP_NATIVE_FINAL && name[0]) {
		sp_buf_adds(out, name);
		return;
	}
	if (m->unresolved || !name[0] || strncmp(name, "0x", 2) == 0) {
		if (!module[0])
			sp_buf_adds(out, "[unknown]");
		else
			sp_buf_addf(out, module[0] == '[' ? "%s" : "[%s]", module);
		return;
	}
	if (style->libraries && module[0])
		sp_buf_addf(out, "%s`", module);
	if (sp_demangle(name, style->signatures, out) < 0)
		sp_buf_adds(out, name);
}

/* "process (pyspark/worker.py)", as Python's own tools write it. */
static void add_python(const struct sp_dict *d, const struct sp_method *m,
	const struct sp_style *style, struct sp_buf *out)
{
	const char *file = sp_dict_get_string(d, m->class_id, NULL);

	sp_buf_adds(out, sp_dict_get_string(d, m->name_id, NULL));
	if (file[0])
		sp_buf_addf(out, " (%s)", style->simple ? sp_path_base(file) : file);
}

const char *sp_frame_name_suffix(enum sp_frame_type type)
{
	static const char *const suffixes[SP_FRAME_TYPES] = {
		[SP_FRAME_INTERPRETED] = "_[0]",
		[SP_FRAME_C1] = "_[1]",
		[SP_FRAME_C2] = "_[j]",
		[SP_FRAME_INLINED] = "_[i]",
		[SP_FRAME_KERNEL] = "_[k]",
	};

	return type < SP_FRAME_TYPES && suffixes[type] ? suffixes[type] : "";
}

void sp_frame_name(const struct sp_dict *d, const struct sp_frame_ref *f,
	const struct sp_style *style, struct sp_buf *out)
{
	const struct sp_method *m = sp_dict_get_method(d, f->method);

	if (!m) {
		sp_buf_adds(out, "[unknown]");
		return;
	}
	if (f->type == SP_FRAME_PYTHON)
		add_python(d, m, style, out);
	else if (m->native)
		add_native(d, m, style, out);
	else
		add_java(d, m, style, out);
	if (style->annotate)
		sp_buf_adds(out, sp_frame_name_suffix(f->type));
}

enum sp_frame_type sp_frame_name_type(const struct sp_dict *d, const struct sp_frame_ref *f)
{
	const struct sp_method *m = sp_dict_get_method(d, f->method);
	const char *name;

	if (!m || f->type >= SP_FRAME_TYPES)
		return SP_FRAME_NATIVE;
	name = sp_dict_get_string(d, m->name_id, NULL);
	if (f->type == SP_FRAME_NATIVE && m->native && !m->unresolved &&
		(sp_demangle_is_mangled(name) || strstr(name, "::")))
		return SP_FRAME_CPP;
	return f->type;
}

void sp_frame_name_thread(const struct sp_dict *d, uint32_t thread, struct sp_buf *out)
{
	const struct sp_thread *t = sp_dict_get_thread(d, thread);
	const char *name = t ? sp_dict_get_string(d, t->name_id, NULL) : "";

	if (!t)
		sp_buf_adds(out, "[no thread]");
	else if (strncmp(name, "[tid=", 5) == 0) /* async-profiler's word for one without a name */
		sp_buf_adds(out, name);
	else if (name[0])
		sp_buf_addf(out, "[%s tid=%u]", name, t->tid);
	else
		sp_buf_addf(out, "[tid=%u]", t->tid);
}

void sp_frame_name_work(const struct sp_dict *d, const struct sp_stack *st,
	const struct sp_style *style, struct sp_buf *out)
{
	for (uint32_t i = 0; st && i < st->count; i++) {
		const struct sp_method *m = sp_dict_get_method(d, st->frames[i].method);
		struct sp_method cls = {0};

		if (!m || m->native || !m->class_id)
			continue;
		cls.class_id = m->class_id;
		sp_frame_name_class(d, &cls, style, out);
		return;
	}
	sp_buf_adds(out, "[no class]");
}
