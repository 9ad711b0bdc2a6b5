/* Looking into JSON text without building anything: values are pieces of the text. Inside of
 * src/in. */
#ifndef SP_BASE_JSON_READER_H
#define SP_BASE_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value at its place in the text; p NULL: none. */
struct sp_json_reader {
	const char *p, *end;
};

/* The value that begins at or behind @p. */
struct sp_json_reader sp_json_reader_value(const char *p, const char *end);

/* The value of @key in an object; none where it is not there or @object is no object. */
struct sp_json_reader sp_json_reader_get(struct sp_json_reader object, const char *key);

/* The next value of an array: *at is 0 at first. None at the end. */
struct sp_json_reader sp_json_reader_next(struct sp_json_reader array, size_t *at);

/* A whole number, also as a string ("12"); @otherwise where it is none. */
int64_t sp_json_reader_int(struct sp_json_reader v, int64_t otherwise);

/* A string, decoded to UTF-8. Owned by the caller; NULL where it is none or memory ran out. */
char *sp_json_reader_text(struct sp_json_reader v);

#endif
