/* The text of `perf script`: a line for each sample ("comm pid/tid [cpu] time: period event:"),
 * then its frames, leaf first and indented ("addr symbol+0xoff (module)"), then an empty line. */
#include "in/input.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "in/line_reader.h"
#include "in/stack_builder.h"

struct reading {
	struct sp_profile *p;
	const struct sp_load_opts *opts;
	struct sp_stack_builder stack;
	struct sp_sample sample;
	bool open, wanted;
	uint64_t bad, bad_at;
	uint64_t first_ns, last_ns;
};

/* Where the time is: digits, a dot, digits, a colon. NULL: this is no sample. */
static char *find_time(char *line)
{
	for (char *at = line; (at = strchr(at, ':')); at++) {
		char *from = at;

		while (from > line && isdigit((unsigned char)from[-1]))
			from--;
		if (from == at || from == line || from[-1] != '.')
			continue;
		from--;
		while (from > line && isdigit((unsigned char)from[-1]))
			from--;
		if (from > line && isspace((unsigned char)from[-1]) && *from != '.')
			return from;
	}
	return NULL;
}

static char *trim_right(char *from, char *end)
{
	while (end > from && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return end;
}

/* "comm with blanks 12/34 [003]" becomes name and tid. */
static uint32_t take_thread(struct reading *r, char *head, char *end)
{
	struct sp_thread t = {0};
	char *at;

	while (isspace((unsigned char)*head))
		head++;
	end = trim_right(head, end);
	if (end > head && end[-1] == ']' && (at = strrchr(head, '[')))
		end = trim_right(head, at);
	at = end;
	while (at > head && (isdigit((unsigned char)at[-1]) || at[-1] == '/'))
		at--;
	if (at == end || at == head || !isspace((unsigned char)at[-1]))
		return 0;
	t.tid = (uint32_t)strtoul(strchr(at, '/') ? strchr(at, '/') + 1 : at, NULL, 10);
	end = trim_right(head, at);
	t.name_id = sp_dict_string(r->p->dict, head, (size_t)(end - head));
	return t.name_id ? sp_dict_thread(r->p->dict, &t) : 0;
}

/* "    10101010 cpu-clock:u:" becomes the event and its weight. Returns what follows. */
static char *take_event(struct reading *r, char *at, int *ret_event)
{
	char *name, *end;
	uint64_t period = 1;

	while (isspace((unsigned char)*at))
		at++;
	if (isdigit((unsigned char)*at) && at[strspn(at, "0123456789")] == ' ') {
		period = strtoull(at, &at, 10);
		while (isspace((unsigned char)*at))
			at++;
	}
	name = at;
	end = name + strcspn(name, " \t");
	at = *end ? end + 1 : end;
	*end = '\0';
	while (end > name && end[-1] == ':')
		*--end = '\0';
	r->sample.weight = period ? period : 1;
	*ret_event = *name ? sp_profile_event(r->p, name,
				     strstr(name, "clock") ? SP_UNIT_NS : SP_UNIT_COUNT, 0, true)
			   : -EBADMSG;
	return at;
}

static bool is_wanted(const struct reading *r, int event)
{
	const struct sp_load_opts *o = r->opts;
	const struct sp_thread *t = sp_dict_get_thread(r->p->dict, r->sample.thread);
	const char *name = sp_profile_event_name(r->p, event);

	if (o->thread && fnmatch(o->thread,
				 t ? sp_dict_get_string(r->p->dict, t->name_id, NULL) : "", 0) != 0)
		return false;
	for (size_t i = 0; i < o->event_count; i++)
		if (strcmp(o->events[i], name) == 0 ||
			(strcmp(o->events[i], "cpu") == 0 && strstr(name, "clock")))
			return true;
	return o->event_count == 0;
}

static int finish_sample(struct reading *r)
{
	if (!r->open)
		return 0;
	r->open = false;
	if (!r->wanted)
		return 0;
	r->sample.stack = sp_stack_builder_id(&r->stack);
	return r->sample.stack ? sp_profile_add(r->p, &r->sample) : -ENOMEM;
}

/* "  7f0a1b2c symbol+0x12 (/path/lib.so)" */
static bool take_frame(struct reading *r, char *line)
{
	char *at = line + strspn(line, " \t"), *end, *module, *plus;
	size_t hex = strspn(at, "0123456789abcdef");
	enum sp_frame_type type = SP_FRAME_NATIVE;

	if (!hex || !isspace((unsigned char)at[hex]))
		return false;
	at += hex;
	at += strspn(at, " \t");
	end = trim_right(at, at + strlen(at));
	module = end > at && end[-1] == ')' ? strrchr(at, '(') : NULL;
	if (module) {
		end[-1] = '\0';
		end = trim_right(at, module);
		module++;
	} else {
		module = end;
	}
	plus = strstr(at, "+0x");
	if (plus && strspn(plus + 3, "0123456789abcdef") == strlen(plus + 3))
		end = trim_right(at, plus);
	if (strncmp(module, "[kernel", 7) == 0 || strncmp(module, "[guest", 6) == 0 ||
		(module[0] == '[' && strstr(module, ".ko")))
		type = SP_FRAME_KERNEL;
	if (strcmp(at, "[unknown]") == 0 || end == at)
		sp_stack_builder_native(&r->stack, module, "", 0, type);
	else if (strstr(module, "/perf-") && strstr(module, ".map"))
		sp_stack_builder_add(&r->stack,
			sp_stack_builder_method(r->p->dict, at, (size_t)(end - at), true), -1,
			SP_FRAME_C2);
	else
		sp_stack_builder_native(&r->stack, module, at, (size_t)(end - at), type);
	return true;
}

static int take_head(struct reading *r, char *line, char *time)
{
	double seconds = strtod(time, NULL);
	char *rest = strchr(time, ':') + 1;
	uint64_t ns = seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds * 1e9) : 0;
	int event;

	r->sample = (struct sp_sample){.count = 1};
	r->sample.thread = take_thread(r, line, time);
	rest = take_event(r, rest, &event);
	if (event < 0)
		return event;
	r->sample.event = (uint32_t)event;
	r->first_ns = r->first_ns && r->first_ns < ns ? r->first_ns : ns;
	r->last_ns = r->last_ns > ns ? r->last_ns : ns;
	r->wanted = is_wanted(r, event);
	r->open = true;
	sp_stack_builder_clear(&r->stack);
	if (rest[strspn(rest, " \t")])
		take_frame(r, rest); /* perf record without -g: the one frame is on the same line */
	return 0;
}

static int take_line(struct reading *r, char *line, size_t len, uint64_t offset)
{
	bool indented = len && isspace((unsigned char)line[0]);
	char *time;
	int n;

	if (len == strspn(line, " \t"))
		return finish_sample(r);
	if (line[0] == '#')
		return 0;
	if (r->open && indented && take_frame(r, line))
		return 0;
	time = find_time(line);
	if (time) {
		n = finish_sample(r);
		n = n < 0 ? n : take_head(r, line, time);
		if (n != -EBADMSG)
			return n;
	}
	r->bad_at = r->bad++ ? r->bad_at : offset;
	return 0;
}

int sp_input_perf(int fd, struct sp_profile *p, const struct sp_load_opts *opts, struct sp_err *err)
{
	struct reading r = {.p = p, .opts = opts};
	struct sp_line_reader lines;
	size_t len;
	char *line;
	int n = sp_stack_builder_init(&r.stack, p->dict);

	if (n < 0)
		return sp_err_set(err, n, "not enough memory");
	sp_line_reader_init(&lines, fd);
	while (n == 0 && (line = sp_line_reader_next(&lines, &len)))
		n = take_line(&r, line, len, lines.line_offset);
	if (n == 0)
		n = finish_sample(&r);
	n = n < 0 ? n : lines.error;
	sp_line_reader_done(&lines);
	sp_stack_builder_done(&r.stack);
	p->duration_ns = r.last_ns - r.first_ns;
	if (n < 0)
		return sp_err_set(err, n, "cannot be read at offset %" PRIu64 ": %s", lines.offset,
			strerror(-n));
	if (r.bad)
		return sp_err_set(err, -EBADMSG,
			"%" PRIu64 " lines are not perf script's, the first at offset %" PRIu64,
			r.bad, r.bad_at);
	return 0;
}
