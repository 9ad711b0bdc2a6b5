/* Output formats: see output_format.h. */
#include "output_format.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* What async-profiler calls them. */
static const struct {
	const char *name;
	enum sp_format format;
} other_names[] = {
	{"flat", SP_FORMAT_TEXT},
	{"traces", SP_FORMAT_TEXT},
	{"flamegraph", SP_FORMAT_HTML},
	{"tree", SP_FORMAT_HTML},
};

/* "text, html, …", or their extensions: ".txt, .html, …", the first of each. */
static const char *choices(struct sp_buf *b, bool extensions)
{
	for (size_t i = 0; i < SP_FORMAT_COUNT; i++) {
		const struct sp_out_format *f = &sp_out_formats[i];

		sp_buf_adds(b, i ? ", " : "");
		if (extensions)
			sp_buf_addf(b, ".%.*s", (int)strcspn(f->extensions, " "), f->extensions);
		else
			sp_buf_adds(b, f->name);
	}
	return sp_buf_str(b);
}

int sp_output_format_parse(const char *name, enum sp_format *ret_format, struct sp_err *err)
{
	SP_AUTO_BUF struct sp_buf b = {0};

	for (int i = 0; i < SP_FORMAT_COUNT; i++) {
		const struct sp_out_format *f = &sp_out_formats[i];

		if (strcmp(f->name, name) != 0 && !sp_out_has_extension(f, name))
			continue;
		*ret_format = (enum sp_format)i;
		return 0;
	}
	for (size_t i = 0; i < SP_COUNT(other_names); i++) {
		if (strcmp(other_names[i].name, name) != 0)
			continue;
		*ret_format = other_names[i].format;
		return 0;
	}
	return sp_err_set(
		err, -EINVAL, "'%s' is not a format; there are %s", name, choices(&b, false));
}

/* ".pdf" of "dir/x.pdf"; NULL for names without, or with nothing before or behind the dot. */
static const char *extension(const char *path)
{
	const char *base = sp_path_base(path);
	const char *dot = strrchr(base, '.');

	return dot && dot > base && dot[1] ? dot : NULL;
}

int sp_output_format_of_path(const char *path, enum sp_format *ret_format, struct sp_err *err)
{
	const struct sp_out_format *f = sp_out_by_path(path);
	SP_AUTO_BUF struct sp_buf b = {0};

	if (!f && !extension(path))
		return -ENOENT;
	if (!f)
		return sp_err_set(err, -EINVAL,
			"'%s': no format is called %s; there are %s, or say it with -o", path,
			extension(path), choices(&b, true));
	*ret_format = (enum sp_format)(f - sp_out_formats);
	return 0;
}

const char *sp_output_format_name(enum sp_format format)
{
	return sp_out_formats[format].name;
}
