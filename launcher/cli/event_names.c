/* Event names: see event_names.h. Only the spelling is checked here; whether a tracepoint or a
 * counter exists is found out by opening it. */
#include "event_names.h"

#include "base/cleanup.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

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
	const char *dot = strrchr(name, '.');

	return dot && dot > name && dot[1] && !strpbrk(name, " ,;:/\\[]()");
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
	return word(s, "_.$@+");
}

/* mem:ADDR[/LEN][:rwx] behind the colon */
static bool is_breakpoint(const char *s)
{
	size_t n = place(s);

	if (!n)
		return false;
	s += n;
	if (*s == '/') {
		n = strspn(++s, "0123456789");
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
				"'%s': letters behind an event are not built yet; write %s", name,
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

	if (e && e->built)
		return 0;
	if (e)
		return sp_err_set(err, -EINVAL, "'%s' is not built yet", name);
	if (colon)
		return check_colon(name, colon, err);
	if (is_raw(name))
		return 0;
	if (sp_event_is_method(name))
		return 0;
	if (strchr(name, '.') && !strpbrk(name, " /"))
		return sp_err_set(err, -EINVAL,
			"'%s' is not a Java method; write java.util.HashMap.put or org.acme.*.run*",
			name);
	near = nearest(name);
	if (near)
		return sp_err_set(
			err, -EINVAL, "'%s' is not an event; did you mean %s?", name, near);
	return sp_err_set(err, -EINVAL, "'%s' is not an event; 'sparkprof list' shows them", name);
}
