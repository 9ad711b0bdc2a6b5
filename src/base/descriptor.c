/* See descriptor.h. */
#include "descriptor.h"

#include <string.h>

/* I, [[J, Ljava/lang/String; */
static size_t type_length(const char *s)
{
	size_t n = strspn(s, "["), name;

	if (s[n] != 'L')
		return s[n] && strchr("BCDFIJSZ", s[n]) ? n + 1 : 0;
	name = strcspn(s + n + 1, ";[().:, \\");
	return name && s[n + 1 + name] == ';' ? n + name + 2 : 0;
}

size_t sp_descriptor_length(const char *s)
{
	size_t n = 1, type;

	if (*s != '(')
		return 0;
	while ((type = type_length(s + n)))
		n += type;
	if (s[n] != ')')
		return 0;
	n++;
	return s[n] == 'V' ? n + 1 : n + type_length(s + n);
}
