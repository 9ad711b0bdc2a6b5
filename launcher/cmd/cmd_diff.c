/* sparkprof diff BASE NEW: compares two inputs of report, each a file or a directory. */
#include "command.h"

#include "inputs.h"
#include "interrupt.h"
#include "message.h"
#include "names.h"
#include "shrunk.h"
#include "write_report.h"
#include "base/cleanup.h"
#include "out/diff.h"
#include "out/outfile.h"

#include <errno.h>
#include <string.h>

struct sides {
	struct sp_profile *p[2]; /* base and new */
};

static void sides_done(struct sides *s)
{
	sp_profile_free(s->p[0]);
	sp_profile_free(s->p[1]);
}

static int check_formats(const struct sp_call *call, struct sp_err *err)
{
	for (size_t i = 0; i < call->n_outputs; i++) {
		const char *name = sp_format_name(call->outputs[i].format);

		if (!sp_diff_writer(name))
			return sp_err_set(err, -EINVAL,
				"%s: '%s' has no comparison; write html, svg, text, collapsed, csv "
				"or json",
				call->outputs[i].path, name);
	}
	return 0;
}

static int load_side(
	const struct sp_call *call, const char *path, struct sp_profile **ret, struct sp_err *err)
{
	__attribute__((cleanup(sp_inputs_done))) struct sp_inputs in = {0};
	int r = sp_inputs_add(&in, path, err);

	return r < 0 ? r : sp_inputs_load(&in, call, ret, err);
}

static int write_one(const struct sp_diff *d, const struct sp_call *call, struct sp_areas *areas,
	const struct sp_call_output *out, struct sp_err *err)
{
	struct sp_out_opts opts;
	struct sp_outfile file;
	struct sp_sink sink;
	int r = sp_outfile_open(&file, out->path, err), e;

	if (r < 0)
		return r;
	sp_report_style(&opts, call, file.fd);
	opts.view.areas = areas;
	sp_sink_init(&sink, file.fd);
	r = sp_diff_writer(sp_format_name(out->format))(d, &opts, &sink);
	e = sp_sink_done(&sink);
	r = r < 0 ? r : e;
	return sp_report_close(&file, out->path, r, err);
}

static int compare(const struct sp_call *call, const struct sides *s, struct sp_err *err)
{
	struct sp_areas *areas;
	struct sp_out_opts opts;
	struct sp_diff d = {0};
	int r = sp_areas_new(&areas, call->areas, err);

	if (r < 0)
		return r;
	sp_report_style(&opts, call, -1);
	opts.view.areas = areas;
	r = sp_diff_init(&d, s->p[0], s->p[1], &opts.view, call->absolute);
	if (r == -ENOENT)
		sp_err_set(err, r, "%s and %s have no event in common; name one with -e",
			call->targets[0], call->targets[1]);
	else if (r < 0)
		sp_err_set(err, r, "cannot compare: %s", strerror(-r));
	d.names[SP_DIFF_BASE] = call->targets[0];
	d.names[SP_DIFF_NEW] = call->targets[1];
	for (size_t i = 0; i < call->n_outputs && r == 0; i++)
		r = write_one(&d, call, areas, &call->outputs[i], err);
	sp_diff_done(&d);
	sp_areas_free(areas);
	return r;
}

int sp_cmd_diff(const struct sp_call *given)
{
	__attribute__((cleanup(sides_done))) struct sides s = {{NULL, NULL}};
	__attribute__((cleanup(sp_names_done))) struct sp_named names = {{0}};
	struct sp_call named = *given;
	const struct sp_call *call = &named;
	struct sp_err err = {0};
	int r = check_formats(call, &err);

	if (r == 0)
		r = sp_names_expand(&names, &named, &err);
	sp_shrunk_mind();
	for (size_t i = 0; i < 2 && r == 0; i++)
		r = load_side(call, call->targets[i], &s.p[i], &err);
	sp_interrupt_mind();
	if (r == 0)
		r = compare(call, &s, &err);
	if (r < 0) {
		sp_message_error("%s", err.text);
		return r == -EINVAL ? SP_EXIT_USAGE : SP_EXIT_FAILED;
	}
	return SP_EXIT_DONE;
}
