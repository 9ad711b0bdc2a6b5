/* See stack_owners.h. */
#include "stack_owners.h"

#include "base/cleanup.h"
#include "cli/safe_print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "12 34 LOCK<tab>NAME", terminated. Returns whether it is one. */
static bool read_line(char *line, struct sp_stack_owner *ret)
{
	char *end, *tab = strchr(line, '\t');

	if (!tab)
		return false;
	*tab = 0;
	ret->name = tab + 1;
	ret->waiter = strtoll(line, &end, 10);
	if (end == line || *end != ' ' || ret->waiter <= 0)
		return false;
	line = end + 1;
	ret->owner = strtoll(line, &end, 10);
	ret->lock = end + 1;
	return end != line && *end == ' ' && ret->owner != 0;
}

int sp_stack_owners_init(struct sp_stack_owners *o, const char *text)
{
	size_t lines = 1;
	char *next;

	*o = (struct sp_stack_owners){.text = strdup(text)};
	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	o->list = calloc(lines, sizeof(*o->list));
	if (!o->text || !o->list)
		return -ENOMEM;
	for (char *line = o->text; *line; line = next) {
		next = strchrnul(line, '\n');
		if (*next)
			*next++ = 0;
		if (strcmp(line, "cut") == 0)
			o->cut = true;
		else
			o->count += read_line(line, &o->list[o->count]);
	}
	return 0;
}

void sp_stack_owners_done(struct sp_stack_owners *o)
{
	free(o->text);
	free(o->list);
	*o = (struct sp_stack_owners){0};
}

const struct sp_stack_owner *sp_stack_owners_find(const struct sp_stack_owners *o, uint64_t waiter)
{
	for (size_t i = 0; i < o->count; i++)
		if ((uint64_t)o->list[i].waiter == waiter)
			return &o->list[i];
	return NULL;
}

void sp_stack_owner_text(
	struct sp_buf *b, const struct sp_stack_owner *o, struct sp_stack_holder by)
{
	sp_buf_adds(b, "    waits for ");
	sp_safe_print_text(b, o->lock, 0);
	if (o->owner < 0) {
		sp_buf_adds(b, ", owner not known\n");
		return;
	}
	sp_buf_adds(b, ", held by thread ");
	if (by.tid)
		sp_buf_addf(b, "%u ", by.tid);
	sp_buf_addc(b, '"');
	sp_safe_print_text(b, o->name, 0);
	sp_buf_addc(b, '"');
	if (by.task >= 0)
		sp_buf_addf(b, " of TID %lld", (long long)by.task);
	sp_buf_addc(b, '\n');
}

void sp_stack_owner_json(
	struct sp_buf *b, const struct sp_stack_owner *o, struct sp_stack_holder by)
{
	sp_buf_adds(b, ", \"waits_for\": {\"lock\": ");
	sp_safe_print_json(b, o->lock);
	if (o->owner >= 0) {
		sp_buf_adds(b, ", \"owner\": ");
		sp_safe_print_json(b, o->name);
	}
	if (by.tid)
		sp_buf_addf(b, ", \"owner_tid\": %u", by.tid);
	if (by.task >= 0)
		sp_buf_addf(b, ", \"owner_task\": %lld", (long long)by.task);
	sp_buf_addc(b, '}');
}

const char *sp_stack_state_words(const char *state)
{
	static const char *const words[][2] = {
		{"running", "running"},
		{"runnable", "waits for a core"},
		{"lock", "waits for a lock"},
		{"net", "waits for the network"},
		{"disk", "waits for a disk"},
		{"sleep", "sleeps"},
		{"poll", "polls"},
		{"blocked", "blocked"},
	};

	for (size_t i = 0; i < SP_COUNT(words); i++)
		if (strcmp(words[i][0], state) == 0)
			return words[i][1];
	return "state unknown";
}
