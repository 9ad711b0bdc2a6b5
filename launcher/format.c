/* Output formats: see format.h. */
#include "format.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { EXTENSIONS = 3 };

static const struct {
	const char *name;
	const char *extensions[EXTENSIONS];
	bool built;
} formats[SP_FORMAT_COUNT] = {
	[SP_FORMAT_TEXT] = {"text", {"txt", "text"}, true},
	[SP_FORMAT_COLLAPSED] = {"collapsed", {"collapsed", "folded"}, true},
	[SP_FORMAT_JFR] = {"jfr", {"jfr"}, true},
	[SP_FORMAT_HTML] = {"html", {"html", "htm"}, true},
	[SP_FORMAT_SVG] = {"svg", {"svg"}, true},
	[SP_FORMAT_PPROF] = {"pprof", {"pprof", "pb.gz", "pb"}, true},
	[SP_FORMAT_SPEEDSCOPE] = {"speedscope", {"speedscope.json"}, true},
	[SP_FORMAT_CSV] = {"csv", {"csv"}, true},
	[SP_FORMAT_JSON] = {"json", {"json"}, true},
};

#define CHOICES "html, svg, text, collapsed, jfr, pprof, speedscope, csv, json"

/* Words of async-profiler. */
static const struct {
	const char *name, *ours, *when;
} other_names[] = {
	{"flat", "text", ""},
	{"traces", "text", ""},
	{"flamegraph", "html", ""},
	{"tree", "html", ""},
	{"otlp", "pprof", ""},
};

static const char choices[] = CHOICES;

static int not_built(const char *word, struct sp_err *err)
{
	return sp_err_set(err, -EINVAL, "'%s' is not built yet; there are %s", word, choices);
}

static bool is_called(enum sp_format format, const char *name)
{
	if (strcmp(formats[format].name, name) == 0)
		return true;
	for (size_t i = 0; i < EXTENSIONS && formats[format].extensions[i]; i++) {
		if (strcmp(formats[format].extensions[i], name) == 0)
			return true;
	}
	return false;
}

int sp_format_parse(const char *name, enum sp_format *ret_format, struct sp_err *err)
{
	for (int i = 0; i < SP_FORMAT_COUNT; i++) {
		if (!is_called((enum sp_format)i, name))
			continue;
		if (!formats[i].built)
			return not_built(name, err);
		*ret_format = (enum sp_format)i;
		return 0;
	}
	for (size_t i = 0; i < SP_COUNT(other_names); i++) {
		if (strcmp(other_names[i].name, name) == 0)
			return sp_err_set(err, -EINVAL, "'%s' is not a format here; use %s%s", name,
				other_names[i].ours, other_names[i].when);
	}
	return sp_err_set(err, -EINVAL, "'%s' is not a format; there are %s", name, choices);
}

/* ".jfr" behind at least one character of a name. */
static bool has_extension(const char *path, const char *extension)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t n = strlen(base), m = strlen(extension);

	return n > m + 1 && base[n - m - 1] == '.' && strcasecmp(base + n - m, extension) == 0;
}

int sp_format_of_path(const char *path, enum sp_format *ret_format, struct sp_err *err)
{
	for (int i = 0; i < SP_FORMAT_COUNT; i++) {
		for (size_t j = 0; j < EXTENSIONS && formats[i].extensions[j]; j++) {
			if (!has_extension(path, formats[i].extensions[j]))
				continue;
			if (!formats[i].built)
				return sp_err_prefix(
					err, not_built(formats[i].name, err), "'%s'", path);
			*ret_format = (enum sp_format)i;
			return 0;
		}
	}
	return -ENOENT;
}

const char *sp_format_name(enum sp_format format)
{
	return formats[format].name;
}
