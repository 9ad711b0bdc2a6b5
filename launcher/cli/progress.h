/* One line on the terminal while a recording runs: a bar, the time left, what was sampled and lost.
 * Nothing where stderr is no terminal, or with -q. */
#ifndef SP_LAUNCHER_CLI_PROGRESS_H
#define SP_LAUNCHER_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A launcher on another host that has started us draws the line: it sets this in our environment,
 * and once a second gets a line of stderr with this before samples and lost. */
#define SP_PROGRESS_TOLD "SPARKPROF_PROGRESS_TOLD"
#define SP_PROGRESS_MARK "sparkprof-progress "

struct sp_progress {
	bool on, told;
	uint64_t start_ns, duration_ns, drawn_ns;
};

void sp_progress_start(struct sp_progress *p, uint64_t duration_ns, bool quiet);

/* Draws at most ten times a second. */
void sp_progress_draw(struct sp_progress *p, uint64_t samples, uint64_t lost, const char *stages);

/* Takes the line away, so that what comes next starts on a clean one. */
void sp_progress_end(struct sp_progress *p);

/* The line itself, at most @width columns; pure. @stages: of Spark that run now, "" for none.
 * Returns @buf. */
const char *sp_progress_line(uint64_t passed_ns, uint64_t duration_ns, uint64_t samples,
	uint64_t lost, const char *stages, size_t width, char *buf, size_t len);

#endif
