/* Line numbers of Python code: pure functions over the tables that each version has. */
#ifndef SP_PY_CODE_LINES_H
#define SP_PY_CODE_LINES_H

#include <stddef.h>
#include <stdint.h>

/* The line of the instruction at byte @offset of code with the table @table and the first line
 * @first. A damaged table, or an instruction without a line, gives the last line before it.
 * @minor: 8, 9: co_lnotab; 10: co_linetable of pairs; 11 and later: locations. */
int sp_pyline(unsigned minor, const uint8_t *table, size_t len, int first, int64_t offset);

#endif
