/* Lines of a file, by pieces: memory is the longest line. Inside of src/in. */
#ifndef SP_IN_LINE_READER_H
#define SP_IN_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_LINE_MAX (64u << 20)

struct sp_line_reader {
	int fd; /* borrowed */
	char *data;
	size_t cap, len, at;
	uint64_t offset; /* in the file, of data[0] */
	uint64_t line_offset;
	bool end;
	int error; /* 0, or -errno that ended the reading; -E2BIG: a line is longer than may be */
};

void sp_line_reader_init(struct sp_line_reader *l, int fd);
void sp_line_reader_done(struct sp_line_reader *l);

/* The next line, terminated, without its newline; borrowed until the next call. NULL at the end. */
char *sp_line_reader_next(struct sp_line_reader *l, size_t *ret_len);

#endif
