/* The words behind -agentpath: see args.h. What async-profiler knows and we do not is known here.
 */
#include "arg_report.h"
#include "args_internal.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words of async-profiler, also of its older versions, that ask for nothing a recording lacks. */
static const char *const quiet_words[] = {"clock", "framebuf", "height", "jfropts", "log",
	"loglevel", "mcache", "nobatch", "quiet", "safemode", "signal", "tlab", "fdtransfer",
	"width"};

/* Those that ask for more than is done here: the recording says so. */
static const char *const undone_words[] = {
	"allkernel", "jfrsync", "ratelimit", "record-cpu", "sched", "server"};

static bool among(const char *const *words_, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(words_[i], word) == 0)
			return true;
	return false;
}

/* A word that is no option of ours but may be one of async-profiler's. */
static int set_foreign(struct sp_args *a, const char *word, const char *value, struct sp_err *err)
{
	if (strcmp(word, "cpu") == 0) {
		a->event_given = true;
		memcpy(a->event, "cpu", 4);
		return 0;
	}
	if (strcmp(word, "all") == 0) {
		sp_args_set_all(a);
		return 0;
	}
	if (strcmp(word, "features") == 0) {
		a->vtable |= value && strstr(value, "vtable");
		a->comptask |= value && strstr(value, "comptask");
		return 0;
	}
	if (among(quiet_words, SP_COUNT(quiet_words), word) || sp_arg_report_take(a, word, value))
		return 0;
	if (!among(undone_words, SP_COUNT(undone_words), word))
		return sp_err_set(err, -EINVAL, "'%s' is not an option of the agent", word);
	sp_args_note(a, word, NULL);
	return 0;
}

/* Takes the next word off *text into @out, undoing "\,"; blanks before it do not count. */
static bool next_word(const char **text, char *out)
{
	const char *p = *text;

	if (!*p)
		return false;
	p += strspn(p, " \t");
	for (; *p && *p != ','; p++) {
		if (*p == '\\' && p[1] == ',')
			p++;
		*out++ = *p;
	}
	*out = 0;
	*text = *p ? p + 1 : p;
	return true;
}

int sp_args_parse(struct sp_args *a, const char *text, struct sp_err *err)
{
	SP_AUTO_FREE char *word = malloc(strlen(text) + 1);

	if (!word)
		return sp_err_set(err, -EINVAL, "out of memory");
	snprintf(a->given, sizeof(a->given), "%s", text);
	while (next_word(&text, word)) {
		char *value = strchr(word, '=');
		int r;

		if (!*word)
			continue;
		if (value)
			*value++ = 0;
		r = sp_args_put_word(a, word, value, err);
		if (r == -ENOENT)
			r = set_foreign(a, word, value, err);
		if (r < 0)
			return r;
	}
	return sp_args_settle(a, err);
}
