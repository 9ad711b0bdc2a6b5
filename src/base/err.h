/* One sentence about what went wrong, owned by the caller of a failing function.
 * The library never prints: it fills a struct sp_err and returns a negative errno; the launcher
 * reports it once. */
#ifndef SP_BASE_ERR_H
#define SP_BASE_ERR_H

struct sp_err {
	char text[768]; /* what failed, on what, and what to try; no trailing full stop or newline
			 */
};

/* Writes a sentence (printf style, cut to fit) and returns @code, so that failing is one line:
 *     return sp_err_set(err, -EINVAL, "%s: not a recording", path);
 * Context: any thread, never a signal handler. @err may be NULL. */
int sp_err_set(struct sp_err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "<printf text>: " before the sentence that is already there; returns @code. */
int sp_err_prefix(struct sp_err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
