/* Output formats by name and by file extension, for the command line. The table is in out/out.h. */
#ifndef SP_LAUNCHER_CLI_OUTPUT_FORMAT_H
#define SP_LAUNCHER_CLI_OUTPUT_FORMAT_H

#include "base/err.h"
#include "out/out.h"

/* The value of -o: a name or an extension. Returns 0, or -EINVAL with a sentence for a word that
 * is not a format. */
int sp_output_format_parse(const char *name, enum sp_format *ret_format, struct sp_err *err);

/* The format that a path's extension says. Returns 0; -ENOENT where it has none; -EINVAL with a
 * sentence for one that is no format's. */
int sp_output_format_of_path(const char *path, enum sp_format *ret_format, struct sp_err *err);

/* The format's name as -o takes it. Static. */
const char *sp_output_format_name(enum sp_format format);

#endif
