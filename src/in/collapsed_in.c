/* "frame;frame N", one stack a line: what flamegraph.pl's scripts, async-profiler, py-spy and
 * sparkprof write. A first frame "[name tid=N]" is the thread; "[lost: reason]" lines are counted
 * as lost. */
#include "in/input.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "in/line_reader.h"
#include "in/stack_builder.h"

struct reading {
	struct sp_profile *p;
	const struct sp_load_opts *opts;
	struct sp_stack_builder stack;
	uint32_t event;
	uint64_t bad; /* lines that are none of ours */
	uint64_t bad_at;
};

/* The number at the end of a line. Returns false if there is none. */
static bool take_number(char *line, size_t *len, uint64_t *ret)
{
	char *space = memrchr(line, ' ', *len), *end;

	if (!space || space == line || space[1] < '0' || space[1] > '9')
		return false;
	errno = 0;
	*ret = strtoull(space + 1, &end, 10);
	if (*end == '.' && strspn(end + 1, "0123456789") == strlen(end + 1))
		end += strlen(end); /* some write 12.0 */
	if (*end || errno)
		return false;
	*len = (size_t)(space - line);
	line[*len] = '\0';
	return true;
}

static bool thread_wanted(const struct reading *r, uint32_t thread)
{
	const struct sp_thread *t = sp_dict_get_thread(r->p->dict, thread);

	if (!r->opts->thread)
		return true;
	return fnmatch(r->opts->thread, t ? sp_dict_get_string(r->p->dict, t->name_id, NULL) : "",
		       0) == 0;
}

static int add_stack(struct reading *r, char *line, uint64_t value)
{
	struct sp_sample s = {.event = r->event, .count = value, .weight = value};
	bool first = true;

	sp_stack_builder_clear(&r->stack);
	for (char *at = line; *at;) {
		size_t n = strcspn(at, ";");
		uint32_t thread = first ? sp_stack_builder_thread(r->p->dict, at, n) : 0;

		if (thread)
			s.thread = thread;
		else if (n == strlen("[truncated]") && memcmp(at, "[truncated]", n) == 0)
			r->stack.truncated = true;
		else if (n)
			sp_stack_builder_printed(&r->stack, at, n);
		first = false;
		at += n + (at[n] == ';');
	}
	if (!thread_wanted(r, s.thread))
		return 0;
	sp_stack_builder_reverse(&r->stack);
	s.stack = sp_stack_builder_id(&r->stack);
	return s.stack ? sp_profile_add(r->p, &s) : -ENOMEM;
}

static int take_line(struct reading *r, char *line, size_t len, uint64_t offset)
{
	static const char lost[] = "[lost: ";
	uint64_t value;

	if (len == 0 || line[0] == '#')
		return 0;
	if (memchr(line, 0, len) || !take_number(line, &len, &value)) {
		r->bad_at = r->bad++ ? r->bad_at : offset;
		return 0;
	}
	if (strncmp(line, lost, strlen(lost)) == 0 && line[len - 1] == ']') {
		line[len - 1] = '\0';
		sp_profile_lost(r->p, line + strlen(lost), value);
		return 0;
	}
	return value ? add_stack(r, line, value) : 0;
}

int sp_input_collapsed(
	int fd, struct sp_profile *p, const struct sp_load_opts *opts, struct sp_err *err)
{
	struct reading r = {.p = p, .opts = opts};
	int event = sp_profile_event(p, "samples", SP_UNIT_COUNT, 0, false);
	struct sp_line_reader lines;
	size_t len;
	char *line;
	int n = event < 0 ? event : sp_stack_builder_init(&r.stack, p->dict);

	if (n < 0)
		return sp_err_set(err, n, "not enough memory");
	r.event = (uint32_t)event;
	sp_line_reader_init(&lines, fd);
	while (n == 0 && (line = sp_line_reader_next(&lines, &len)))
		n = take_line(&r, line, len, lines.line_offset);
	n = n < 0 ? n : lines.error;
	sp_line_reader_done(&lines);
	sp_stack_builder_done(&r.stack);
	if (n == -E2BIG)
		return sp_err_set(
			err, -EBADMSG, "a line at offset %" PRIu64 " is too long", lines.offset);
	if (n < 0)
		return sp_err_set(err, n, "cannot be read: %s", strerror(-n));
	if (r.bad)
		return sp_err_set(err, -EBADMSG,
			"%" PRIu64
			" lines are not a stack and a number, the first at offset %" PRIu64,
			r.bad, r.bad_at);
	return 0;
}
