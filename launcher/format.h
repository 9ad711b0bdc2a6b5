/* Output formats by name and by file extension. */
#ifndef SP_LAUNCHER_FORMAT_H
#define SP_LAUNCHER_FORMAT_H

#include "base/err.h"

enum sp_format {
	SP_FORMAT_TEXT,
	SP_FORMAT_COLLAPSED,
	SP_FORMAT_JFR,
	SP_FORMAT_HTML,
	SP_FORMAT_SVG,
	SP_FORMAT_PPROF,
	SP_FORMAT_SPEEDSCOPE,
	SP_FORMAT_CSV,
	SP_FORMAT_JSON,
	SP_FORMAT_COUNT,
};

/* The value of -o: a name or an extension. Returns 0, or -EINVAL with a sentence for a word that
 * is not a format, or one that is not built yet. */
int sp_format_parse(const char *name, enum sp_format *ret_format, struct sp_err *err);

/* The format that a path's extension says. Returns 0; -ENOENT where it has no known extension;
 * -EINVAL with a sentence for a format that is not built yet. */
int sp_format_of_path(const char *path, enum sp_format *ret_format, struct sp_err *err);

/* The format's name as -o takes it. Static. */
const char *sp_format_name(enum sp_format format);

#endif
