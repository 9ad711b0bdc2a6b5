/* Lines of a file: see line_reader.h. */
#include "in/line_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE (256u << 10)

void sp_line_reader_init(struct sp_line_reader *l, int fd)
{
	memset(l, 0, sizeof(*l));
	l->fd = fd;
}

void sp_line_reader_done(struct sp_line_reader *l)
{
	free(l->data);
}

/* Reads more behind what is there. False: nothing more. */
static bool read_more(struct sp_line_reader *l)
{
	ssize_t n;

	if (l->end)
		return false;
	if (l->len > l->at)
		memmove(l->data, l->data + l->at, l->len - l->at);
	l->offset += l->at;
	l->len -= l->at;
	l->at = 0;
	if (l->len + PIECE + 1 > l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 2 * PIECE;
		char *p = cap <= 2 * SP_LINE_MAX ? realloc(l->data, cap) : NULL;

		if (!p) {
			l->error = cap > 2 * SP_LINE_MAX ? -E2BIG : -ENOMEM;
			l->end = true;
			return false;
		}
		l->data = p;
		l->cap = cap;
	}
	do
		n = read(l->fd, l->data + l->len, PIECE);
	while (n < 0 && errno == EINTR);
	if (n <= 0) {
		l->error = n < 0 ? -errno : 0;
		l->end = true;
		return false;
	}
	l->len += (size_t)n;
	return true;
}

char *sp_line_reader_next(struct sp_line_reader *l, size_t *ret_len)
{
	size_t seen = 0;
	char *line, *nl;

	for (;;) {
		nl = l->len > l->at + seen
			     ? memchr(l->data + l->at + seen, '\n', l->len - l->at - seen)
			     : NULL;
		if (nl)
			break;
		seen = l->len - l->at;
		if (read_more(l))
			continue;
		if (l->error || l->at == l->len)
			return NULL;
		nl = l->data + l->len; /* the last line has no newline; there is room for a NUL */
		l->len++;
		break;
	}
	line = l->data + l->at;
	l->line_offset = l->offset + l->at;
	*ret_len = (size_t)(nl - line);
	l->at += *ret_len + 1;
	if (*ret_len && line[*ret_len - 1] == '\r')
		--*ret_len;
	line[*ret_len] = '\0';
	return line;
}
