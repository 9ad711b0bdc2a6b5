/* Patterns in output names: see name_template.h. One reader finds the sequences; checking and
 * replacing are two users of it, so that they cannot disagree. */
#include "base/name_template.h"

#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind {
	LITERAL, /* one byte */
	PERCENT,
	PID,
	HOST,
	TIME,
	ROUND,
	ENVIRONMENT,
	APP_ID,
	EXECUTOR_ID,
	EVENT,
};

static const char event_word[] = "{{EVENT}}";

struct piece {
	enum kind kind;
	size_t len;	  /* bytes of the pattern */
	uint64_t most;	  /* ROUND: MAX, or 0 */
	const char *name; /* ENVIRONMENT: not terminated */
	size_t name_len;
};

static int unknown(const char *s, struct sp_err *err)
{
	return sp_err_set(err, -EINVAL,
		"'%.*s' is not known in a file name; there are %%p %%h %%t %%n{MAX} %%{ENV} %%%% "
		"{{APP_ID}} {{EXECUTOR_ID}} {{EVENT}}",
		*s == '%' ? 2 : (int)strcspn(s, "}") + 2, s);
}

/* %n or %n{MAX} */
static int read_round(const char *s, struct piece *ret, struct sp_err *err)
{
	char digits[16] = "";
	size_t n;

	*ret = (struct piece){.kind = ROUND, .len = 2};
	if (s[2] != '{')
		return 0;
	n = strcspn(s + 3, "}");
	if (s[3 + n] && n < sizeof(digits)) {
		memcpy(digits, s + 3, n);
		digits[n] = '\0';
	}
	if (sp_count_parse(digits, &ret->most) < 0 || ret->most == 0)
		return sp_err_set(
			err, -EINVAL, "'%.20s': write %%n{MAX} with MAX from 1, as in %%n{10}", s);
	ret->len = 3 + n + 1;
	return 0;
}

/* %{APP_ID} and %{EXECUTOR_ID} that no environment has: YARN takes {{…}} in what it passes on for
 * variables of its own, and leaves nothing of it. */
static bool is_id(const char *s, const char *name, size_t n)
{
	return strlen(name) == n && strncmp(s, name, n) == 0 && !getenv(name);
}

/* %{ENV} */
static int read_environment(const char *s, struct piece *ret, struct sp_err *err)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[2 + n]) || s[2 + n] == '_')
		n++;
	if (n == 0 || s[2 + n] != '}')
		return sp_err_set(err, -EINVAL,
			"'%.20s': write %%{NAME} with the name of an environment variable", s);
	*ret = (struct piece){.kind = ENVIRONMENT, .len = 2 + n + 1, .name = s + 2, .name_len = n};
	if (is_id(s + 2, "APP_ID", n))
		ret->kind = APP_ID;
	else if (is_id(s + 2, "EXECUTOR_ID", n))
		ret->kind = EXECUTOR_ID;
	return 0;
}

static int read_piece(const char *s, struct piece *ret, struct sp_err *err)
{
	static const char app[] = "{{APP_ID}}", executor[] = "{{EXECUTOR_ID}}";

	*ret = (struct piece){.kind = LITERAL, .len = 1};
	if (strncmp(s, app, strlen(app)) == 0)
		*ret = (struct piece){.kind = APP_ID, .len = strlen(app)};
	else if (strncmp(s, executor, strlen(executor)) == 0)
		*ret = (struct piece){.kind = EXECUTOR_ID, .len = strlen(executor)};
	else if (strncmp(s, event_word, strlen(event_word)) == 0)
		*ret = (struct piece){.kind = EVENT, .len = strlen(event_word)};
	else if (s[0] == '{' && s[1] == '{')
		return unknown(s, err);
	if (s[0] != '%')
		return 0;
	ret->len = 2;
	switch (s[1]) {
	case 'p':
		ret->kind = PID;
		return 0;
	case 'h':
		ret->kind = HOST;
		return 0;
	case 't':
		ret->kind = TIME;
		return 0;
	case '%':
		ret->kind = PERCENT;
		return 0;
	case 'n':
		return read_round(s, ret, err);
	case '{':
		return read_environment(s, ret, err);
	default:
		return unknown(s, err);
	}
}

int sp_name_template_check(const char *path, struct sp_err *err)
{
	struct piece piece;

	for (const char *s = path; *s; s += piece.len) {
		int r = read_piece(s, &piece, err);

		if (r < 0)
			return r;
	}
	return 0;
}

static bool has_either(const char *path, enum kind a, enum kind b)
{
	struct piece piece;

	for (const char *s = path; *s; s += piece.len) {
		if (read_piece(s, &piece, NULL) < 0)
			return false;
		if (piece.kind == a || piece.kind == b)
			return true;
	}
	return false;
}

bool sp_name_template_differs(const char *path)
{
	return has_either(path, PID, EXECUTOR_ID);
}

bool sp_name_template_has_round(const char *path)
{
	return has_either(path, ROUND, TIME);
}

uint64_t sp_name_template_rounds(const char *path)
{
	struct piece piece;

	for (const char *s = path; *s; s += piece.len) {
		if (read_piece(s, &piece, NULL) < 0)
			return 0;
		if (piece.kind == ROUND)
			return piece.most;
	}
	return 0;
}

bool sp_name_template_has_ids(const char *path)
{
	return has_either(path, APP_ID, EXECUTOR_ID);
}

bool sp_name_template_has_event(const char *path)
{
	return strstr(path, event_word) != NULL;
}

/* A value from outside: it must not name another directory. */
static void add_safely(struct sp_buf *b, const char *s)
{
	if (strcmp(s, ".") == 0 || strcmp(s, "..") == 0) {
		sp_buf_adds(b, "_");
		return;
	}
	for (; *s; s++)
		sp_buf_addc(b, *s == '/' || (unsigned char)*s < ' ' ? '_' : *s);
}

static int add_id(struct sp_buf *b, const char *id, const char *what, struct sp_err *err)
{
	if (!id || !*id)
		return sp_err_set(err, -ENOENT, "the target has no %s: it is not Spark's", what);
	add_safely(b, id);
	return 0;
}

/* At the beginning of a name a variable may be a directory, as YARN's LOG_DIRS is; elsewhere it is
 * part of a name. */
static int add_environment(struct sp_buf *b, const struct piece *piece, struct sp_err *err)
{
	char name[256];
	const char *value = NULL;

	if (piece->name_len < sizeof(name)) {
		memcpy(name, piece->name, piece->name_len);
		name[piece->name_len] = '\0';
		value = getenv(name);
	}
	if (!value)
		return sp_err_set(err, -ENOENT, "%%{%.*s}: not set in the environment",
			(int)piece->name_len, piece->name);
	if (b->len == 0 && *value == '/')
		sp_buf_adds(b, value);
	else
		add_safely(b, value);
	return 0;
}

static void add_host(struct sp_buf *b, const char *host)
{
	char name[256] = "";

	if (!host && gethostname(name, sizeof(name) - 1) == 0)
		host = name;
	add_safely(b, host && *host ? host : "localhost");
}

static void add_time(struct sp_buf *b, time_t t)
{
	char text[32] = "";
	struct tm tm;

	if (localtime_r(&t, &tm))
		strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &tm);
	sp_buf_adds(b, text);
}

static int add_piece(struct sp_buf *b, const char *s, const struct piece *piece,
	const struct sp_name_template_vars *vars, struct sp_err *err)
{
	uint64_t round = vars->round ? vars->round : 1;

	switch (piece->kind) {
	case LITERAL:
	case PERCENT:
		sp_buf_addc(b, *s);
		return 0;
	case PID:
		if (!vars->pid)
			return sp_err_set(err, -ENOENT, "%%p needs a target, and there is none");
		sp_buf_addf(b, "%d", vars->pid);
		return 0;
	case HOST:
		add_host(b, vars->host);
		return 0;
	case TIME:
		add_time(b, vars->time);
		return 0;
	case ROUND:
		sp_buf_addf(b, "%llu",
			(unsigned long long)(piece->most ? (round - 1) % piece->most + 1 : round));
		return 0;
	case ENVIRONMENT:
		return add_environment(b, piece, err);
	case APP_ID:
		return add_id(b, vars->app_id, "application id", err);
	case EXECUTOR_ID:
		return add_id(b, vars->executor_id, "executor id", err);
	case EVENT:
		sp_buf_adds(b, event_word);
		return 0;
	}
	return -EINVAL;
}

int sp_name_template_set_event(const char *path, const char *event, struct sp_buf *ret_name)
{
	for (const char *at; (at = strstr(path, event_word)); path = at + strlen(event_word)) {
		sp_buf_add(ret_name, path, (size_t)(at - path));
		add_safely(ret_name, event);
	}
	sp_buf_adds(ret_name, path);
	return ret_name->failed ? -ENOMEM : 0;
}

int sp_name_template_expand(const char *path, const struct sp_name_template_vars *vars,
	struct sp_buf *ret_name, struct sp_err *err)
{
	struct piece piece;

	for (const char *s = path; *s; s += piece.len) {
		int r = read_piece(s, &piece, err);

		if (r == 0)
			r = add_piece(ret_name, s, &piece, vars, err);
		if (r < 0)
			return r;
	}
	return ret_name->failed ? sp_err_set(err, -ENOMEM, "out of memory") : 0;
}
