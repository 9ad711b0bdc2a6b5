/* See cpp_name.h; the grammar is that of the Itanium C++ ABI, 5.1. */
#include "cpp_name.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define LONGEST 512

struct name {
	const char *p; /* what is left */
	char text[LONGEST];
	size_t len, last; /* last: where the last part begins */
};

static bool add(struct name *n, const char *s, size_t len)
{
	bool first = n->len == 0;

	if (n->len + len + 3 > sizeof(n->text))
		return false;
	n->len += (size_t)snprintf(n->text + n->len, sizeof(n->text) - n->len, "%s%.*s",
		first ? "" : "::", (int)len, s);
	n->last = n->len - len;
	return true;
}

/* "9JavaCalls" */
static bool take_word(struct name *n)
{
	static const char nameless[] = "_GLOBAL__N_";
	size_t len = 0;
	const char *word;

	n->p += *n->p == 'L'; /* of one source file alone */
	while (*n->p >= '0' && *n->p <= '9' && len < LONGEST)
		len = len * 10 + (size_t)(*n->p++ - '0');
	word = n->p;
	if (!len || strnlen(word, len) < len)
		return false;
	n->p += len;
	if (strncmp(word, nameless, sizeof(nameless) - 1) == 0)
		return add(n, "(anonymous namespace)", 21);
	return add(n, word, len);
}

/* C1, D2: the class's name again. */
static bool take_structor(struct name *n)
{
	char again[LONGEST + 1];
	int len =
		snprintf(again, sizeof(again), "%s%s", *n->p == 'D' ? "~" : "", n->text + n->last);

	if (!n->len || n->p[1] < '0' || n->p[1] > '5')
		return false;
	n->p += 2;
	return add(n, again, (size_t)len);
}

/* Those that HotSpot's classes have of their own; the others are rare. */
static bool take_operator(struct name *n)
{
	static const char *const names[] = {
		"nwoperator new", "naoperator new[]", "dloperator delete", "daoperator delete[]"};

	for (int i = 0; i < 4; i++) {
		if (strncmp(n->p, names[i], 2) != 0)
			continue;
		n->p += 2;
		return add(n, names[i] + 2, strlen(names[i] + 2));
	}
	return false;
}

static bool take_part(struct name *n)
{
	if (*n->p == 'C' || *n->p == 'D')
		return take_structor(n);
	return *n->p == 'n' || *n->p == 'd' ? take_operator(n) : take_word(n);
}

static bool take_nested(struct name *n)
{
	n->p += 1 + strspn(n->p + 1, "rVK");
	n->p += *n->p == 'R' || *n->p == 'O';
	if (strncmp(n->p, "St", 2) == 0) {
		n->p += 2;
		add(n, "std", 3);
	}
	while (*n->p && *n->p != 'E')
		if (!take_part(n))
			return false;
	return *n->p++ == 'E';
}

/* The last word of Rust's names of old is "h" and sixteen digits of a hash. */
static bool is_rust(const struct name *n)
{
	const char *last = n->text + n->last;

	return strlen(last) == 17 && last[0] == 'h' && strspn(last + 1, "0123456789abcdef") == 16;
}

bool sp_cpp_name(const char *mangled, char *ret, size_t size)
{
	struct name n = {.p = mangled + 2};

	if (strncmp(mangled, "_Z", 2) != 0 || !(*n.p == 'N' ? take_nested(&n) : take_word(&n)) ||
		!n.len || *n.p == 'I' || *n.p == 'B' || is_rust(&n) || n.len >= size)
		return false;
	memcpy(ret, n.text, n.len + 1);
	return true;
}
