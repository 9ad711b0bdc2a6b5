/* sparkprof ps: every JVM that this user can see. It reads only; nothing is sent to any JVM. */
#include "cli/command.h"

#include "base/cleanup.h"
#include "cli/message.h"
#include "discover/jvm.h"
#include "discover/ps.h"
#include "proc/proc.h"
#include "python/py_ps.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int print(struct sp_buf *text)
{
	if (text->failed) {
		sp_message_error("ps: out of memory");
		return SP_EXIT_FAILED;
	}
	if (fwrite(text->data, 1, text->len, stdout) != text->len || fflush(stdout)) {
		sp_message_error("ps: cannot write to stdout: %s", strerror(errno));
		return SP_EXIT_FAILED;
	}
	return SP_EXIT_DONE;
}

int sp_cmd_ps(const struct sp_call *call)
{
	SP_AUTO_CLOSE int procfd = sp_proc_root();
	SP_AUTO_FREE struct sp_jvm *list = NULL;
	SP_AUTO_BUF struct sp_buf text = {0};
	size_t n = 0;
	int r = procfd < 0 ? procfd : sp_jvm_list(procfd, &list, &n);

	if (r < 0) {
		sp_message_error("ps: cannot read /proc: %s", strerror(-r));
		return SP_EXIT_FAILED;
	}
	for (size_t i = 0; i < n; i++)
		sp_pyps_fill(&list[i]);
	if (call->json)
		sp_ps_json(list, n, &text);
	else if (n)
		sp_ps_table(list, n, sp_ps_width(), &text);
	else
		sp_message_note("no JVM that this user can see runs here");
	return print(&text);
}
