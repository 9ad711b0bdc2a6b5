/* What each recording on other hosts does, on a terminal: a line for each and a sum, drawn again in
 * their places. */
#ifndef SP_LAUNCHER_VIA_LINES_H
#define SP_LAUNCHER_VIA_LINES_H

#include "base/buf.h"

#include <stdint.h>

struct sp_via_line {
	const char *host, *who; /* borrowed: "n1", "executor 7" */
	const char *state;	/* "recording" */
	uint64_t samples, lost, bytes;
};

struct sp_via_lines {
	bool on;
	uint64_t drawn_ns;
	size_t rows; /* on the terminal now */
};

void sp_via_lines_start(struct sp_via_lines *l, bool quiet);

/* Is it time to draw again? At most five times a second. */
bool sp_via_lines_due(struct sp_via_lines *l);
void sp_via_lines_draw(
	struct sp_via_lines *l, const struct sp_via_line *list, size_t n, uint64_t passed_ns);

/* Takes them away, so that what comes next starts on a clean line. */
void sp_via_lines_erase(struct sp_via_lines *l);

/* The text itself, at most @rows lines of at most @columns; pure. Lines that have no room are
 * counted. Returns how many it has. */
size_t sp_via_lines_text(const struct sp_via_line *list, size_t n, uint64_t passed_ns, size_t rows,
	size_t columns, struct sp_buf *ret);

#endif
