/* Stacks out of printed names: see stack_builder.h. */
#include "in/stack_builder.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int sp_stack_builder_init(struct sp_stack_builder *s, struct sp_dict *dict)
{
	memset(s, 0, sizeof(*s));
	s->dict = dict;
	s->frames = malloc(SP_DICT_MAX_FRAMES * sizeof(*s->frames));
	return s->frames ? 0 : -ENOMEM;
}

void sp_stack_builder_done(struct sp_stack_builder *s)
{
	free(s->frames);
}

void sp_stack_builder_clear(struct sp_stack_builder *s)
{
	s->count = 0;
	s->truncated = s->failed = false;
}

void sp_stack_builder_add(
	struct sp_stack_builder *s, uint32_t method, int32_t line, enum sp_frame_type type)
{
	s->failed |= method == 0;
	if (s->count < SP_DICT_MAX_FRAMES)
		s->frames[s->count++] = (struct sp_frame_ref){method, line, -1, (uint8_t)type};
	else
		s->truncated = true;
}

/* What a suffix of -a says, or SP_FRAME_TYPES. */
static enum sp_frame_type type_of_suffix(const char *name, size_t len)
{
	if (len < 5 || name[len - 4] != '_' || name[len - 3] != '[' || name[len - 1] != ']')
		return SP_FRAME_TYPES;
	switch (name[len - 2]) {
	case '0':
		return SP_FRAME_INTERPRETED;
	case '1':
		return SP_FRAME_C1;
	case 'j':
		return SP_FRAME_C2;
	case 'i':
		return SP_FRAME_INLINED;
	case 'k':
		return SP_FRAME_KERNEL;
	default:
		return SP_FRAME_TYPES;
	}
}

/* "pkg/Class.method": a dot behind the last slash, and nothing that only C++ has. */
static const char *java_dot(const char *name, size_t len)
{
	const char *dot = memrchr(name, '.', len), *slash = memrchr(name, '/', len);

	if (!dot || !slash || dot < slash || dot == name + len - 1 || name[0] == '[' ||
		name[0] == '/' || isdigit((unsigned char)dot[1]))
		return NULL;
	for (size_t i = 0; i < len; i++)
		if (strchr(" ():", name[i]))
			return NULL;
	/* a hidden class: "Foo$$Lambda.0x0000.run" has its own dots */
	return dot;
}

uint32_t sp_stack_builder_method(struct sp_dict *d, const char *name, size_t len, bool java)
{
	const char *dot = java_dot(name, len);
	struct sp_method m = {.native = java || dot ? 0 : SP_NATIVE_FINAL};

	if (dot) {
		m.class_id = sp_dict_string(d, name, (size_t)(dot - name));
		len -= (size_t)(dot + 1 - name);
		name = dot + 1;
		if (!m.class_id)
			return 0;
	}
	m.name_id = sp_dict_string(d, name, len);
	return m.name_id ? sp_dict_method(d, &m) : 0;
}

void sp_stack_builder_printed(struct sp_stack_builder *s, const char *name, size_t len)
{
	enum sp_frame_type type = type_of_suffix(name, len);
	bool java = type <= SP_FRAME_INLINED;

	if (type != SP_FRAME_TYPES)
		len -= 4;
	else
		type = java_dot(name, len) ? SP_FRAME_C2 : SP_FRAME_NATIVE;
	sp_stack_builder_add(s, sp_stack_builder_method(s->dict, name, len, java), -1, type);
}

void sp_stack_builder_native(struct sp_stack_builder *s, const char *module, const char *name,
	size_t len, enum sp_frame_type type)
{
	struct sp_method m = {.native = 1};

	m.class_id = module[0] ? sp_dict_string(s->dict, module, strlen(module)) : 0;
	m.name_id = sp_dict_string(s->dict, name, len);
	sp_stack_builder_add(s, m.name_id ? sp_dict_method(s->dict, &m) : 0, -1, type);
}

void sp_stack_builder_reverse(struct sp_stack_builder *s)
{
	for (uint32_t i = 0; i < s->count / 2; i++) {
		struct sp_frame_ref f = s->frames[i];

		s->frames[i] = s->frames[s->count - 1 - i];
		s->frames[s->count - 1 - i] = f;
	}
}

uint32_t sp_stack_builder_id(struct sp_stack_builder *s)
{
	return s->failed ? 0 : sp_dict_stack(s->dict, s->frames, s->count, s->truncated);
}

uint32_t sp_stack_builder_thread(struct sp_dict *d, const char *text, size_t len)
{
	struct sp_thread t = {0};
	size_t digits = 0;
	const char *at;

	if (len < 7 || text[0] != '[' || text[len - 1] != ']')
		return 0;
	at = text + len - 1;
	while (isdigit((unsigned char)at[-1]) && digits++ < 10)
		at--;
	if (!digits || at - text < 5 || memcmp(at - 4, "tid=", 4) != 0)
		return 0;
	t.tid = (uint32_t)strtoul(at, NULL, 10);
	at -= 4;
	if (at - text > 2 && at[-1] == ' ')
		t.name_id = sp_dict_string(d, text + 1, (size_t)(at - 1 - (text + 1)));
	else if (at - text != 1)
		return 0;
	return sp_dict_thread(d, &t);
}
