/* Event names: see event_names.h. Only the spelling is checked here; whether a tracepoint or a
 * counter exists is found out by opening it. */
#include "event_names.h"

#include "base/cleanup.h"
#include "base/descriptor.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#define EVENT(name, group, built, unit, help) \
	{name, SP_EVENT_##group, built, SP_EVENT_##unit, help},
static const struct sp_event_info events[] = {
#include "events.def"
};

const struct sp_event_info *sp_event_names_table(size_t *ret_n)
{
	*ret_n = SP_COUNT(events);
	return events;
}

static const struct sp_event_info *find(const char *name)
{
	for (size_t i = 0; i < SP_COUNT(events); i++) {
		if (strcmp(events[i].name, name) == 0)
			return &events[i];
	}
	return NULL;
}

enum sp_event_unit sp_event_unit(const char *name)
{
	const struct sp_event_info *e = find(name);

	return e ? e->unit : SP_EVENT_COUNT;
}

bool sp_event_is_hook(const char *name)
{
	const struct sp_event_info *e = find(name);

	return e ? e->group == SP_EVENT_HOOK : sp_event_is_method(name);
}

/* Whatever a Java name may hold but what this or the agent's options have a use for. */
bool sp_event_is_method(const char *name)
{
	size_t len = strcspn(name, "(");
	const char *dot = memrchr(name, '.', len);

	return dot && dot > name && dot + 1 < name + len && strcspn(name, " ,;:/\\[])") >= len &&
	       sp_descriptor_length(name + len) == strlen(name + len);
}

/* Length of the run of letters, digits and @more at @s. */
static size_t word(const char *s, const char *more)
{
	size_t n = 0;

	while (s[n] && (isalnum((unsigned char)s[n]) || strchr(more, s[n])))
		n++;
	return n;
}

/* A symbol or 0x…, each with an optional +offset. */
static size_t place(const char *s)
{
	size_t n = word(s, "_.$@+~");

	/* of a C++ function */
	if (n && s[n] == ':' && s[n + 1] == ':')
		return n + 2 + place(s + n + 2);
	return n;
}

/* mem:ADDR[/LEN][:rwx] behind the colon */
static bool is_breakpoint(const char *s)
{
	size_t n = place(s);

	if (!n)
		return false;
	s += n;
	if (*s == '/') {
		s++;
		s += strncmp(s, "0x", 2) == 0 ? 2 : 0;
		n = strspn(s, "0123456789");
		if (n != 1 || !strchr("1248", *s))
			return false;
		s += n;
	}
	if (!*s)
		return true;
	return *s == ':' && s[1] && s[1 + strspn(s + 1, "rwx")] == '\0';
}

static bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* rNNN: a raw hardware event in hexadecimal. */
static bool is_raw(const char *s)
{
	size_t n = *s == 'r' ? strspn(s + 1, "0123456789abcdefABCDEF") : 0;

	return n >= 1 && n <= 16 && !s[1 + n];
}

static int check_form(const char *name, const char *form, bool ok, struct sp_err *err)
{
	return ok ? 0 : sp_err_set(err, -EINVAL, "'%s' is not well formed; write %s", name, form);
}

static int check_colon(const char *name, const char *colon, struct sp_err *err)
{
	const char *s = colon + 1;
	size_t n = word(s, "_-");

	for (size_t i = 0; i < SP_COUNT(events); i++) {
		if (strncmp(events[i].name, name, (size_t)(colon - name)) == 0 &&
			!events[i].name[colon - name])
			return sp_err_set(err, -EINVAL,
				"'%s': letters after an event are not supported; write %s", name,
				events[i].name);
	}

	if (has_prefix(name, "mem:"))
		return check_form(name, "mem:ADDR[/LEN][:rwx]", is_breakpoint(s), err);
	if (has_prefix(name, "kprobe:") || has_prefix(name, "kretprobe:"))
		return check_form(name, "kprobe:FUNCTION[+OFFSET]", *s && !s[place(s)], err);
	if (has_prefix(name, "uprobe:") || has_prefix(name, "uretprobe:"))
		return check_form(name, "uprobe:/PATH:FUNCTION or uprobe:/PATH+OFFSET",
			*s == '/' && strpbrk(s, ":+") && s[strlen(s) - 1] != ':', err);
	return check_form(name, "SUBSYSTEM:TRACEPOINT",
		name + word(name, "_-") == colon && colon > name && n && !s[n], err);
}

/* malloc, G1CollectedHeap::collect, _ZN4Unit3runEv. Whether there is one is known in the target. */
static bool is_function(const char *name)
{
	return *name && !isdigit((unsigned char)*name) && !strpbrk(name, ".+@") &&
	       !name[place(name)] && name[strlen(name) - 1] != ':';
}

/* Is one letter of @a another one in @b, missing or too many? */
static bool slipped(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return strcmp(*a ? a + 1 : a, *b ? b + 1 : b) == 0 || strcmp(a, *b ? b + 1 : b) == 0 ||
	       strcmp(*a ? a + 1 : a, b) == 0;
}

/* An event that @name, which may be that of a function, is probably meant to be. */
static const char *meant(const char *name)
{
	for (size_t i = 0; i < SP_COUNT(events); i++)
		if (strcasecmp(name, events[i].name) == 0 ||
			(name[0] == events[i].name[0] && slipped(name, events[i].name)))
			return events[i].name;
	return NULL;
}

/* Letters in common at the start, for "did you mean". */
static const char *nearest(const char *name)
{
	size_t most = 2;
	const char *best = NULL;

	for (size_t i = 0; i < SP_COUNT(events); i++) {
		size_t n = 0;

		while (name[n] && tolower((unsigned char)name[n]) ==
					  tolower((unsigned char)events[i].name[n]))
			n++;
		if (n > most && events[i].built) {
			most = n;
			best = events[i].name;
		}
	}
	return best;
}

int sp_event_check(const char *name, struct sp_err *err)
{
	const struct sp_event_info *e = find(name);
	const char *colon = strchr(name, ':'), *near;

	if ((e && e->built) || is_raw(name))
		return 0;
	if (e)
		return sp_err_set(err, -EINVAL, "'%s' is not built yet", name);
	if (is_function(name)) {
		near = meant(name);
		return near ? sp_err_set(err, -EINVAL,
				      "'%s' is not an event; did you mean %s? A function of that "
				      "name is mem:%s:x",
				      name, near, name)
			    : 0;
	}
	if (colon)
		return check_colon(name, colon, err);
	if (sp_event_is_method(name))
		return 0;
	if (strchr(name, '.') && (strchr(name, '(') || !strpbrk(name, " /")))
		return sp_err_set(err, -EINVAL,
			"'%s' is not a Java method; write java.util.HashMap.put, org.acme.*.run* "
			"or a.B.c(ILjava/lang/String;)V",
			name);
	near = nearest(name);
	if (near)
		return sp_err_set(
			err, -EINVAL, "'%s' is not an event; did you mean %s?", name, near);
	return sp_err_set(err, -EINVAL, "'%s' is not an event; 'sparkprof list' shows them", name);
}
