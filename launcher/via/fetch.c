/* Answers of REST: see fetch.h. */
#include "fetch.h"

#include "base/cleanup.h"
#include "via_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line before the answer: a startup file of the shell there may print what it likes. */
#define MARK "sparkprof-answer"

int sp_via_fetch(const char *url, struct sp_buf *ret, struct sp_err *err)
{
	static const char *const first[] = {"curl", "--silent", "--show-error", "--fail",
		"--location", "--globoff", "--proto", "=http,https", "--connect-timeout", "5",
		"--max-time", "30", "--negotiate", "--user", ":"};
	SP_AUTO_WORDS struct sp_via_words words = {0};
	int r;

	for (size_t i = 0; i < SP_COUNT(first); i++)
		sp_via_words_add(&words, first[i]);
	sp_via_words_add(&words, url);
	if (words.failed)
		return sp_err_set(err, -ENOMEM, "out of memory");
	sp_buf_clear(ret);
	r = sp_via_child_ask(words.list, ret, err);
	return r == -EIO ? sp_err_prefix(err, r, "%.200s", url) : r;
}

static bool is_this(const char *host)
{
	return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0;
}

/* The host of http://host:port/path; NULL: it is none that ssh is given. Owned by the caller. */
static char *host_of(const char *url)
{
	const char *at = strstr(url, "://");
	char *host = at ? strndup(at + 3, strcspn(at + 3, "/?#")) : NULL;
	char *colon = host ? strrchr(host, ':') : NULL;

	if (colon && colon[1 + strspn(colon + 1, "0123456789")] == '\0')
		*colon = '\0';
	if (host && sp_via_is_host(host) && !strpbrk(host, "@/") && !is_this(host))
		return host;
	free(host);
	return NULL;
}

void sp_via_fetch_words(const struct sp_call *call, const char *url, struct sp_via_words *ret)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789:/._-[]?=&%~+,";
	SP_AUTO_FREE char *host = url[strspn(url, plain)] ? NULL : host_of(url);
	SP_AUTO_FREE char *script = NULL;

	if (!host)
		return;
	if (asprintf(&script,
		    "exec sh -c 'u=\"%s\"; echo " MARK "; curl --silent --show-error --fail "
		    "--location --globoff --proto =http,https --connect-timeout 5 --max-time 25 "
		    "--negotiate --user : \"$u\" || wget -q -t 1 -T 25 -O - \"$u\"'",
		    url) < 0)
		script = NULL;
	sp_via_ssh_words(host, call, ret);
	sp_via_words_add(ret, script);
}

/* Takes away what came before the answer, with the mark. */
static bool skip_mark(struct sp_buf *b)
{
	static const char mark[] = MARK "\n";
	char *at = b->len ? memmem(b->data, b->len, mark, sizeof(mark) - 1) : NULL;

	if (!at)
		return false;
	at += sizeof(mark) - 1;
	b->len -= (size_t)(at - b->data);
	memmove(b->data, at, b->len);
	return true;
}

int sp_via_fetch_or_there(
	const struct sp_call *call, const char *url, struct sp_buf *ret, struct sp_err *err)
{
	SP_AUTO_WORDS struct sp_via_words words = {0};
	struct sp_err here, there = {""};
	int r = sp_via_fetch(url, ret, err);

	if (r != -EIO || call->via != SP_VIA_SSH)
		return r;
	sp_via_fetch_words(call, url, &words);
	if (!words.n)
		return r;
	sp_buf_clear(ret);
	r = sp_via_child_ask(words.list, ret, &there);
	if (r == 0 && skip_mark(ret))
		return 0;
	if (r == -EINTR)
		return r;
	here = *err;
	return sp_err_set(err, -EIO, "%s; nor from that host by ssh: %s", here.text,
		r == 0 ? "it answers with nonsense" : there.text);
}
