/* Merging recordings: see merge_recordings.h. JFR files are chunks that can be read alone, so
 * merging is joining; naming is the rewriter's (jfr/rewrite.h). */
#include "merge_recordings.h"

#include "base/cleanup.h"
#include "cli/message.h"
#include "elf/symbols.h"
#include "frame_names.h"
#include "in/input.h"
#include "jfr/concat.h"
#include "jfr/reader.h"
#include "jfr/rewrite.h"
#include "out/outfile.h"
#include "python_sidecar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What is learnt of an input beside its bytes. */
struct look {
	struct sp_symbols *symbols; /* borrowed; NULL: no names can be found */
	uint64_t types;		    /* hash over the names of its events, in their order */
};

static int want_module(void *ctx, const char *type)
{
	struct look *l = ctx;

	for (const char *p = type; *p; p++)
		l->types = (l->types ^ (unsigned char)*p) * 0x100000001b3ull;
	return strcmp(type, "sparkprof.Module") == 0;
}

/* Modules that a recording lists: where names may be found. */
static int take_module(void *ctx, const struct sp_jfr_event *e)
{
	const struct look *l = ctx;
	uint64_t device = 0, inode = 0;
	char path[4096] = "";

	for (uint32_t i = 0; i < e->count; i++) {
		const struct sp_jfr_value *v = &e->values[i];

		if (strcmp(v->name, "device") == 0)
			device = v->u;
		else if (strcmp(v->name, "inode") == 0)
			inode = v->u;
		else if (strcmp(v->name, "path") == 0)
			snprintf(path, sizeof(path), "%.*s", (int)v->len, v->s);
	}
	return path[0] && l->symbols ? sp_symbols_add_module(l->symbols, path, device, inode) : 0;
}

static void read_modules(int fd, struct look *l)
{
	struct sp_jfr_visitor v = {.ctx = l, .want = want_module, .event = take_module};
	struct sp_dict *dict;

	if (sp_dict_new(&dict, 64u << 20) < 0)
		return;
	sp_jfr_read(fd, dict, &v, NULL, NULL);
	sp_dict_free(dict);
}

/* *ret_written: the error is the output's, not the input's. */
static int add_file(const char *path, int to, unsigned flags, uint64_t *ret_types,
	bool *ret_written, struct sp_err *err)
{
	SP_AUTO_CLOSE int fd = -1, opened = sp_python_sidecar_open(path);
	SP_AUTO_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	SP_AUTO_CLOSE int named = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct look look = {.types = 0};
	struct sp_frame_names names = {0};
	enum sp_input_kind kind;
	int r = opened < 0 ? sp_err_set(err, opened, "%s", strerror(-opened))
			   : sp_input_open(opened, &fd, &kind, NULL, err);

	if (r < 0)
		return r;
	if (kind != SP_INPUT_JFR)
		return sp_err_set(err, -EINVAL, "not a JFR file; only JFR files can be merged");
	if (named < 0)
		named = memfd_create("sparkprof", MFD_CLOEXEC);
	if (sp_symbols_new(&look.symbols, root, NULL) < 0)
		look.symbols = NULL;
	else
		sp_symbols_elsewhere(look.symbols);
	read_modules(fd, &look);
	*ret_types = look.types;
	names.symbols = look.symbols;
	r = sp_jfr_rewrite(fd, named, flags, sp_frame_names_find, &names, NULL, err);
	sp_buf_done(&names.readable);
	sp_symbols_free(look.symbols);
	if (r == -EBADMSG) {
		sp_message_warn("%s: %s", path, err->text);
		r = 0;
	}
	if (r == 0) {
		r = sp_jfr_concat_append(named, to);
		*ret_written = true;
		if (r < 0)
			sp_err_set(err, r, "cannot be written: %s", strerror(-r));
	}
	return r;
}

int sp_merge_recordings(
	const struct sp_report_inputs *in, const char *path, bool redact, struct sp_err *err)
{
	unsigned flags = redact ? SP_JFR_REWRITE_REDACT : 0;
	struct sp_outfile file;
	uint64_t first = 0, types = 0;
	bool mixed = false, written;
	int r = sp_outfile_open(&file, path, SP_OUTFILE_PRIVATE, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < in->n && r == 0; i++) {
		written = false;
		r = add_file(in->paths[i], file.fd, flags, &types, &written, err);
		if (r < 0)
			sp_err_prefix(err, r, "%s",
				!written		 ? in->paths[i]
				: strcmp(path, "-") == 0 ? "standard output"
							 : path);
		first = i == 0 ? types : first;
		mixed |= r == 0 && types != first;
	}
	/* It takes the number of a type in one chunk for the same type in the next. */
	if (r == 0 && mixed)
		sp_message_warn(
			"%s: these recordings declare different types of events: Mission "
			"Control reads them in one file, the JDK's own reader may refuse it",
			path);
	if (r < 0) {
		sp_outfile_abort(&file);
		/* who reads from a pipe may have seen enough */
		return r == -EPIPE && strcmp(path, "-") == 0 ? 0 : r;
	}
	return sp_outfile_commit(&file, err);
}
