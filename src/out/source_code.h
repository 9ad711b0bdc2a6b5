/* Lines of source code below a directory (--source): the file of a frame is found by the end of its
 * path. Inside of src/out. */
#ifndef SP_OUT_SOURCE_CODE_H
#define SP_OUT_SOURCE_CODE_H

#include "base/buf.h"
#include "dict/dict.h"

struct sp_source_code;

/* Lists the files below @dir that end in .java, .scala, .kt or .py; links are not followed. Returns
 * 0 or -ENOMEM; a directory that cannot be read has none. */
int sp_source_code_open(struct sp_source_code **ret, const char *dir);
void sp_source_code_close(struct sp_source_code *s);

/* Appends the line at which @frame is, without blanks at its ends. @s may be NULL. Returns whether
 * there is one: it is not there where no file, or no such line, was found. Of several files with
 * such an end the one with the shortest path counts. */
bool sp_source_code_line(struct sp_source_code *s, const struct sp_dict *d,
	const struct sp_frame_ref *frame, int32_t line, struct sp_buf *out);

#endif
