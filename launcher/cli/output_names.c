/* Names of outputs where there is no target: see output_names.h. */
#include "output_names.h"

#include "base/name_template.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int sp_output_names_expand(struct sp_output_names *names, struct sp_call *call, struct sp_err *err)
{
	struct sp_name_template_vars vars = {.time = time(NULL), .round = 1};

	for (size_t i = 0; i < call->n_outputs; i++) {
		SP_AUTO_BUF struct sp_buf b;
		int r;

		sp_buf_init(&b);
		r = sp_name_template_expand(call->outputs[i].path, &vars, &b, err);
		if (r < 0)
			return sp_err_prefix(err, -EINVAL, "-f %s", call->outputs[i].path);
		names->text[i] = strdup(sp_buf_str(&b));
		if (!names->text[i])
			return sp_err_set(err, -ENOMEM, "out of memory");
		call->outputs[i].path = names->text[i];
	}
	return 0;
}

void sp_output_names_done(struct sp_output_names *names)
{
	for (size_t i = 0; i < SP_CALL_MAX_OUTPUTS; i++)
		free(names->text[i]);
}
