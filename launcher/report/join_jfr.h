/* Putting recordings one behind the other. */
#ifndef SP_LAUNCHER_REPORT_JOIN_JFR_H
#define SP_LAUNCHER_REPORT_JOIN_JFR_H

/* Appends all of @from to @to, where that stands. Returns 0 or -errno. */
int sp_join_append(int from, int to);

/* Appends a chunk without constants. The JDK's reader takes a constant for the one that the chunk
 * before had under the same id: with this between them, recordings of two writers are not mixed up.
 * @next: the recording that follows, whose time it takes. Returns 0 or -errno. */
int sp_join_write_separator(int to, int next);

/* Takes the length out of the headers of @fd's chunks: they are of the same time as those that they
 * will stand behind, and readers add lengths up. Returns 0 or -errno. */
int sp_join_zero_durations(int fd);

#endif
