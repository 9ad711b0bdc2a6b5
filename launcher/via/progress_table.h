/* What each recording on other hosts does, on a terminal: a line for each and a sum, drawn again in
 * their places. */
#ifndef SP_LAUNCHER_VIA_PROGRESS_TABLE_H
#define SP_LAUNCHER_VIA_PROGRESS_TABLE_H

#include "base/buf.h"

#include <stdint.h>

struct sp_progress_row {
	const char *host, *who; /* borrowed: "n1", "executor 7" */
	const char *state;	/* "recording" */
	uint64_t samples, lost, bytes;
};

struct sp_progress_table {
	bool on;
	uint64_t drawn_ns;
	size_t rows; /* on the terminal now */
};

void sp_progress_table_start(struct sp_progress_table *l, bool quiet);

/* Is it time to draw again? At most five times a second. */
bool sp_progress_table_due(struct sp_progress_table *l);
void sp_progress_table_draw(struct sp_progress_table *l, const struct sp_progress_row *list,
	size_t n, uint64_t passed_ns);

/* Takes them away, so that what comes next starts on a clean line. */
void sp_progress_table_erase(struct sp_progress_table *l);

/* The text itself, at most @rows lines of at most @columns; pure. Lines that have no room are
 * counted. Returns how many it has. */
size_t sp_progress_table_text(const struct sp_progress_row *list, size_t n, uint64_t passed_ns,
	size_t rows, size_t columns, struct sp_buf *ret);

#endif
