/* Unpacking gzip into an unnamed file. Inside of src/in. */
#ifndef SP_IN_GZIP_H
#define SP_IN_GZIP_H

#include "base/err.h"

/* Unpacks all of @from (joined members too) into @to. Returns 0; -EBADMSG with a sentence where the
 * packing is damaged or cut, after everything before it was written; another -errno. */
int sp_gunzip(int from, int to, struct sp_err *err);

#endif
