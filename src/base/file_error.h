/* Sentences about files that cannot be opened: what failed, on what, and what to try. */
#ifndef SP_BASE_FILE_ERROR_H
#define SP_BASE_FILE_ERROR_H

#include "base/err.h"

/* "PATH: cannot be read: No such file or directory; check the name …". @code: -errno. Returns it.
 * @err may be NULL. */
__attribute__((warn_unused_result)) int sp_err_read(struct sp_err *err, int code, const char *path);

/* "PATH: cannot be written: No such file or directory; make its directory …". */
int sp_err_write(struct sp_err *err, int code, const char *path);

#endif
