/* See loose_words.h. */
#include "prof/spark/loose_words.h"

#include <ctype.h>
#include <string.h>

/* "0f7b6a40-cd1f-4c0f-8f9a-2dc0f8e0b7a3" and the like. */
static bool is_id(const char *s, size_t n)
{
	bool digit = false;

	for (size_t i = 0; i < n; i++) {
		if (!isxdigit((unsigned char)s[i]) && s[i] != '-')
			return false;
		digit |= isdigit((unsigned char)s[i]) != 0;
	}
	return n >= 8 && digit;
}

static void add_word(const char *s, size_t n, struct sp_buf *out)
{
	if (is_id(s, n))
		return;
	for (const char *slash; (slash = memchr(s, '/', n));) {
		n -= (size_t)(slash + 1 - s);
		s = slash + 1;
	}
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)s[i]))
			sp_buf_addc(out, s[i]);
}

const char *sp_words_from_python(const char *s)
{
	/* to JDK 17, from 18 on, and of the class that JDKs to 17 make for the 16th call */
	static const char *const files[] = {" at NativeMethodAccessorImpl.java:",
		" at DirectMethodHandleAccessor.java:", " at <unknown>:"};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		const char *at = strstr(s, files[i]);

		if (at && at[strlen(files[i]) + strspn(at + strlen(files[i]), "0123456789")] == 0)
			return at;
	}
	return NULL;
}

void sp_loose_words(const char *s, struct sp_buf *out)
{
	const char *end = sp_words_from_python(s);

	end = end ? end : s + strlen(s);
	while (s < end) {
		size_t n = strcspn(s, " \t\n[](),=");

		add_word(s, n, out);
		s += n;
		if (s < end)
			sp_buf_addc(out, *s++);
	}
}

bool sp_words_of_pool(const char *s)
{
	static const char *const files[] = {
		"CompletableFuture.java", "FutureTask.java", "ThreadPoolExecutor.java"};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (strstr(s, files[i]))
			return true;
	return false;
}

void sp_short_words(const char *s, struct sp_buf *out)
{
	static const char at[] = " at /";
	const char *path = NULL, *file, *python = sp_words_from_python(s);

	if (python && python > s) {
		sp_buf_addf(out, "%.*s", (int)(python - s), s);
		return;
	}
	for (const char *next = strstr(s, at); next; next = strstr(next + 1, at))
		path = next + strlen(" at ");
	file = path && !strchr(path, ' ') ? strrchr(path, '/') : NULL;
	if (file && file[1])
		sp_buf_addf(out, "%.*s%s", (int)(path - s), s, file + 1);
	else
		sp_buf_adds(out, s);
}
