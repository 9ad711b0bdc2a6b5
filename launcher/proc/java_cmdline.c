/* Command lines of `java`: see java_cmdline.h. */
#include "java_cmdline.h"

#include "base/cleanup.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ARGFILE = 1 << 20 };

/* Options with their value in the next word. */
static const char *const with_value[] = {
	"-cp",
	"-classpath",
	"--class-path",
	"-p",
	"--module-path",
	"--upgrade-module-path",
	"--add-modules",
	"--limit-modules",
	"--add-exports",
	"--add-opens",
	"--add-reads",
	"--patch-module",
	"--enable-native-access",
	"--describe-module",
	"-d",
	"--source",
};

static bool takes_value(const char *word)
{
	for (size_t i = 0; i < SP_COUNT(with_value); i++) {
		if (strcmp(word, with_value[i]) == 0)
			return true;
	}
	return false;
}

static void add_string(struct sp_buf *b, const char *s)
{
	sp_buf_add(b, s, strlen(s) + 1);
}

/* One word of an argfile or of an option text: blanks part words, quotes hold them together, a
 * backslash in quotes takes the next byte as it is, # begins a comment. */
static const char *next_word(const char *s, bool comments, struct sp_buf *ret)
{
	char quote = 0;

	s += strspn(s, " \t\n\r\f");
	while (comments && *s == '#') {
		s += strcspn(s, "\n");
		s += strspn(s, " \t\n\r\f");
	}
	if (!*s)
		return NULL;
	for (; *s && (quote || !isspace((unsigned char)*s)); s++) {
		if (!quote && (*s == '"' || *s == '\'')) {
			quote = *s;
		} else if (quote && *s == quote) {
			quote = 0;
		} else {
			if (quote && *s == '\\' && s[1])
				s++;
			sp_buf_addc(ret, *s);
		}
	}
	sp_buf_addc(ret, '\0');
	return s;
}

static void add_argfile(const struct sp_proc *p, uid_t uid, const char *name, struct sp_buf *ret)
{
	char cwd[PATH_MAX], path[2 * PATH_MAX];
	SP_AUTO_BUF struct sp_buf b = {0};
	SP_AUTO_CLOSE int fd = -1;

	if (*name == '/')
		snprintf(path, sizeof(path), "%s", name);
	else if (sp_proc_readlink(p, "cwd", cwd, sizeof(cwd)) == 0)
		snprintf(path, sizeof(path), "%s/%s", cwd, name);
	else
		return;
	fd = sp_proc_open_readable(p, path, uid);
	if (fd < 0 || sp_buf_read_fd(&b, fd, MAX_ARGFILE) < 0)
		return;
	for (const char *s = sp_buf_str(&b); s;)
		s = next_word(s, true, ret);
}

/* The words behind argv[0], with argfiles in place up to the main class as the JDK has it
 * (--disable-@files ends that). */
static void expand(
	const struct sp_buf *argv, const struct sp_proc *p, uid_t uid, struct sp_buf *ret)
{
	const char *word = sp_proc_next_string(argv, NULL);
	bool options = true;

	while (word && (word = sp_proc_next_string(argv, word))) {
		if (options && p && word[0] == '@' && word[1] && word[1] != '@') {
			add_argfile(p, uid, word + 1, ret);
			continue;
		}
		add_string(ret, word);
		if (options && takes_value(word)) {
			word = sp_proc_next_string(argv, word);
			if (word)
				add_string(ret, word);
		} else if (word[0] != '-' || strcmp(word, "--disable-@files") == 0) {
			options = false;
		}
	}
}

static void set_class_path(struct sp_java_cmdline *c)
{
	static const char *const names[] = {"-cp", "-classpath", "--class-path"};

	for (const char *s = NULL; (s = sp_proc_next_string(&c->jvm, s));) {
		if (strncmp(s, "--class-path=", 13) == 0)
			c->class_path = s + 13;
		for (size_t i = 0; i < SP_COUNT(names); i++) {
			if (strcmp(s, names[i]) == 0)
				c->class_path = sp_proc_next_string(&c->jvm, s);
		}
	}
}

int sp_java_cmdline_parse(
	const struct sp_buf *argv, const struct sp_proc *p, uid_t uid, struct sp_java_cmdline *ret)
{
	SP_AUTO_BUF struct sp_buf words = {0};
	const char *word = NULL, *main_class = NULL;

	memset(ret, 0, sizeof(*ret));
	expand(argv, p, uid, &words);
	while ((word = sp_proc_next_string(&words, word))) {
		bool is_main = strcmp(word, "-jar") == 0 || strcmp(word, "-m") == 0 ||
			       strcmp(word, "--module") == 0;

		if (is_main) {
			main_class = word = sp_proc_next_string(&words, word);
			break;
		}
		if (strncmp(word, "--module=", 9) == 0) {
			main_class = word + 9;
			break;
		}
		if (word[0] != '-') {
			main_class = word;
			break;
		}
		add_string(&ret->jvm, word);
		if (takes_value(word)) {
			const char *value = sp_proc_next_string(&words, word);
			if (!value)
				break;
			add_string(&ret->jvm, value);
			word = value;
		}
	}
	if (main_class)
		snprintf(ret->main, sizeof(ret->main), "%s", main_class);
	while (word && (word = sp_proc_next_string(&words, word)))
		add_string(&ret->args, word);
	set_class_path(ret);
	return words.failed || ret->jvm.failed || ret->args.failed ? -ENOMEM : 0;
}

void sp_java_cmdline_done(struct sp_java_cmdline *c)
{
	sp_buf_done(&c->jvm);
	sp_buf_done(&c->args);
}

int sp_java_cmdline_flag(const struct sp_buf *jvm, const char *name, int otherwise)
{
	int value = otherwise;

	for (const char *s = NULL; (s = sp_proc_next_string(jvm, s));) {
		if (strncmp(s, "-XX:", 4) == 0 && (s[4] == '+' || s[4] == '-') &&
			strcmp(s + 5, name) == 0)
			value = s[4] == '+';
	}
	return value;
}

int sp_java_cmdline_flag_text(const char *text, const char *name, int otherwise)
{
	SP_AUTO_BUF struct sp_buf words = {0};

	for (const char *s = text; s;)
		s = next_word(s, false, &words);
	return words.failed ? otherwise : sp_java_cmdline_flag(&words, name, otherwise);
}

const char *sp_java_cmdline_property(const struct sp_buf *jvm, const char *name)
{
	const char *value = NULL;
	size_t n = strlen(name);

	for (const char *s = NULL; (s = sp_proc_next_string(jvm, s));) {
		if (s[0] == '-' && s[1] == 'D' && strncmp(s + 2, name, n) == 0 && s[2 + n] == '=')
			value = s + 3 + n;
	}
	return value;
}

const char *sp_java_cmdline_option(const struct sp_buf *args, const char *name)
{
	const char *value = NULL;
	size_t n = strlen(name);

	for (const char *s = NULL; (s = sp_proc_next_string(args, s));) {
		if (strncmp(s, name, n) != 0)
			continue;
		if (s[n] == '=')
			value = s + n + 1;
		else if (s[n] == '\0')
			value = sp_proc_next_string(args, s);
		if (!value)
			break;
	}
	return value;
}
