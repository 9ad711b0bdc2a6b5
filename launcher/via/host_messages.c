/* What copies of this program said: see host_messages.h. */
#include "host_messages.h"

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/safe_text.h"
#include "cli/message.h"

#include <stdlib.h>
#include <string.h>

enum { SENTENCES_MAX = 1000, SENTENCE_MAX = 2000, HOSTS_NAMED = 8 };

/* Its own name before a sentence: ours is put there again. */
static const char *skip_name(const char *text)
{
	static const char name[] = "sparkprof: ";

	return strncmp(text, name, sizeof(name) - 1) == 0 ? text + sizeof(name) - 1 : text;
}

static struct sp_host_message *find(struct sp_host_messages *s, const char *text)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->list[i].text, text) == 0)
			return &s->list[i];
	if (s->n == SENTENCES_MAX || sp_grow_one(&s->list, s->n, sizeof(*s->list)) < 0)
		return NULL;
	s->list[s->n] = (struct sp_host_message){.text = strdup(text)};
	return s->list[s->n].text ? &s->list[s->n++] : NULL;
}

void sp_host_messages_add(
	struct sp_host_messages *s, const char *host, const char *text, size_t len)
{
	SP_AUTO_BUF struct sp_buf safe = {0};
	struct sp_host_message *x;

	sp_safe_terminal(text, len < SENTENCE_MAX ? len : SENTENCE_MAX, &safe);
	if (!safe.len)
		return;
	x = find(s, skip_name(sp_buf_str(&safe)));
	if (!x || x->last == host)
		return;
	x->last = host;
	if (x->n++ < HOSTS_NAMED)
		sp_buf_addf(&x->hosts, "%s%s", x->hosts.len ? ", " : "", host);
}

void sp_host_messages_print(const struct sp_host_messages *s, size_t hosts)
{
	for (size_t i = 0; i < s->n; i++) {
		struct sp_host_message *x = &s->list[i];

		if (hosts == 1)
			sp_message_warn("%s", x->text);
		else if (x->n > HOSTS_NAMED)
			sp_message_warn("%s and %zu more: %s", sp_buf_str(&x->hosts),
				x->n - HOSTS_NAMED, x->text);
		else
			sp_message_warn("%s: %s", sp_buf_str(&x->hosts), x->text);
	}
}

void sp_host_messages_done(struct sp_host_messages *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->list[i].text);
		sp_buf_done(&s->list[i].hosts);
	}
	free(s->list);
	*s = (struct sp_host_messages){0};
}
