/* See arg_report.h. An output word (collapsed, flamegraph …) counts for more than an extension. */
#include "arg_report.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
	const char *extension, *format;
} extensions[] = {
	{".html", "html"},
	{".htm", "html"},
	{".svg", "svg"},
	{".collapsed", "collapsed"},
	{".folded", "collapsed"},
	{".txt", "text"},
	{".text", "text"},
	{".pb.gz", "pprof"},
	{".pprof", "pprof"},
	{".pb", "pprof"},
	{".otlp", "otlp"},
	{".speedscope.json", "speedscope"},
	{".json", "json"},
	{".csv", "csv"},
	{".md", "md"},
};

static const struct {
	const char *word, *format;
} outputs[] = {
	{"collapsed", "collapsed"},
	{"flamegraph", "html"},
	{"tree", "html"},
	{"flat", "text"},
	{"traces", "text"},
	{"summary", "text"},
	{"otlp", "otlp"},
	{"svg", "svg"},
	{"jfr", "jfr"},
};

static const char *const looks[] = {"ann", "dot", "exclude", "flat", "include", "inverted", "lib",
	"minwidth", "norm", "reverse", "samples", "sig", "simple", "threads", "title", "total",
	"traces"};

const char *sp_arg_report_extension(const char *format)
{
	for (size_t i = 0; i < SP_COUNT(extensions); i++)
		if (strcmp(extensions[i].format, format) == 0)
			return extensions[i].extension;
	return "";
}

/* In the launcher's -o commas part words. */
static void add_look(struct sp_args *a, const char *word, const char *value)
{
	size_t used = strlen(a->looks), room = sizeof(a->looks) - used;
	int n = snprintf(a->looks + used, room, ",%s%s%s", word, value && *value ? "=" : "",
		value ? value : "");

	if (n < 0 || (size_t)n >= room) {
		a->looks[used] = '\0';
		return;
	}
	for (char *c = a->looks + used + 1; (c = strchr(c, ','));)
		*c = ' ';
}

bool sp_arg_report_take(struct sp_args *a, const char *word, const char *value)
{
	bool taken = false;

	for (size_t i = 0; i < SP_COUNT(outputs); i++) {
		if (strcmp(outputs[i].word, word) != 0)
			continue;
		snprintf(a->output, sizeof(a->output), "%s", outputs[i].format);
		taken = true;
	}
	for (size_t i = 0; i < SP_COUNT(looks); i++) {
		if (strcmp(looks[i], word) != 0)
			continue;
		add_look(a, word, value);
		taken = true;
	}
	return taken;
}

static void find_extension(struct sp_args *a)
{
	size_t n = strlen(a->file);

	for (size_t i = 0; i < SP_COUNT(extensions); i++) {
		size_t end = strlen(extensions[i].extension);

		if (n <= end || strcasecmp(a->file + n - end, extensions[i].extension) != 0)
			continue;
		snprintf(a->report, sizeof(a->report), "%s", extensions[i].format);
		snprintf(a->report_ext, sizeof(a->report_ext), "%s", a->file + n - end);
		return;
	}
}

/* Only text has these parts. */
static void drop_parts(struct sp_args *a)
{
	char kept[sizeof(a->looks)] = "";
	size_t used = 0;

	for (const char *p = a->looks; *p;) {
		size_t len = strcspn(p + 1, ",") + 1;

		if (strncmp(p, ",flat", 5) != 0 && strncmp(p, ",traces", 7) != 0) {
			memcpy(kept + used, p, len);
			used += len;
			kept[used] = '\0';
		}
		p += len;
	}
	memcpy(a->looks, kept, used + 1);
}

const char *sp_arg_report_settle(struct sp_args *a)
{
	size_t n = strlen(a->file);
	bool recording = n >= 4 && strcmp(a->file + n - 4, ".jfr") == 0;
	bool include = strstr(a->looks, ",include") != NULL;
	bool exclude = strstr(a->looks, ",exclude") != NULL;

	if (n && a->file[n - 1] != '/' && !recording && strcmp(a->output, "jfr") != 0) {
		find_extension(a);
		if (a->output[0])
			snprintf(a->report, sizeof(a->report), "%s", a->output);
	}
	if (strcmp(a->report, "text") != 0)
		drop_parts(a);
	if (a->report[0])
		return "";
	return include && exclude ? "include, exclude"
	       : include	  ? "include"
	       : exclude	  ? "exclude"
				  : "";
}
