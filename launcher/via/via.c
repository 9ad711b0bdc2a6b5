/* --via: see via.h. */
#include "via.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/safe_print.h"
#include "discover/ps.h"
#include "hosts.h"
#include "far_runs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is wrong with a host, and with its clock. Returns how many hosts are ready. */
static size_t say_state(const struct sp_via_hosts *hs)
{
	size_t ready = 0;

	for (size_t i = 0; i < hs->n; i++) {
		const struct sp_via_host *h = &hs->list[i];
		ready += h->state == SP_VIA_READY;
		if (h->state == SP_VIA_FAILED)
			sp_message_error("%s", h->err.text);
		else if (h->clock_ns)
			sp_message_warn("%s: its clock is %.2f s %s; the times of its recordings "
					"are corrected",
				h->name, fabs((double)h->clock_ns) / 1e9,
				h->clock_ns > 0 ? "ahead" : "behind");
	}
	return ready;
}

static int print(struct sp_buf *text)
{
	if (!text->failed && fwrite(text->data, 1, text->len, stdout) == text->len &&
		fflush(stdout) == 0)
		return SP_EXIT_DONE;
	sp_message_error("cannot write to stdout: %s", strerror(text->failed ? ENOMEM : errno));
	return SP_EXIT_FAILED;
}

static int show_ps(const struct sp_via_hosts *hs, const struct sp_call *call)
{
	SP_AUTO_BUF struct sp_buf text = {0};
	SP_AUTO_FREE struct sp_jvm *all = NULL;
	size_t n = 0, at = 0;

	for (size_t i = 0; i < hs->n; i++)
		n += hs->list[i].n;
	all = calloc(n + 1, sizeof(*all));
	if (!all) {
		sp_message_error("ps: out of memory");
		return SP_EXIT_FAILED;
	}
	for (size_t i = 0; i < hs->n; i++) {
		for (size_t k = 0; k < hs->list[i].n; k++) {
			all[at] = hs->list[i].jvms[k];
			snprintf(
				all[at].hostname, sizeof(all[at].hostname), "%s", hs->list[i].name);
			all[at++].elsewhere = true;
		}
	}
	if (call->json)
		sp_ps_json(all, n, &text);
	else if (n)
		sp_ps_table(all, n, sp_ps_width(), &text);
	else
		sp_message_note("no JVM that this user can see runs there");
	return print(&text);
}

static int dry_run(const struct sp_via_hosts *hs, const struct sp_call *call)
{
	SP_AUTO_BUF struct sp_buf text = {0};
	char machine[80] = "";
	struct sp_via_image image = {.machine = machine};

	if (sp_via_image_machine(machine, sizeof(machine)) < 0)
		text.failed = true;
	for (size_t i = 0; i < hs->n; i++) {
		SP_AUTO_WORDS struct sp_via_words words = {0};

		sp_via_place_words(&hs->places[i], call, "sparkprof-", &image, &words);
		for (size_t k = 0; k + 1 < words.n; k++)
			sp_buf_addf(&text, "%s%s", k ? " " : "", words.list[k]);
		sp_buf_adds(&text, " (this program through standard input)\n");
	}
	sp_far_runs_describe(call, &text);
	return print(&text);
}

static int carry_out(struct sp_via_hosts *hs, const struct sp_call *call)
{
	struct sp_err err;
	size_t ready;
	int code, r = sp_via_hosts_connect(hs, call, &err);

	if (r < 0 && r != -EINTR)
		sp_message_error("%s", err.text);
	if (r < 0)
		return r == -EINTR ? SP_EXIT_TARGET : SP_EXIT_FAILED;
	ready = say_state(hs);
	if (ready == 0 || (call->strict && ready < hs->n))
		return SP_EXIT_TARGET;
	code = call->action == SP_ACTION_PS ? show_ps(hs, call) : sp_far_runs_execute(hs, call);
	return code;
}

int sp_via_call(const struct sp_call *call)
{
	struct sp_via_hosts hs = {0};
	struct sp_err err;
	int code, r;

	sp_interrupt_install();
	sp_via_child_more_files();
	r = sp_via_hosts_find(&hs, call, &err);
	if (r < 0) {
		if (r != -EINTR)
			sp_message_error("%s", err.text);
		return r == -ESRCH || r == -EIO || r == -EINTR ? SP_EXIT_TARGET : SP_EXIT_USAGE;
	}
	code = call->dry_run ? dry_run(&hs, call) : carry_out(&hs, call);
	sp_via_hosts_done(&hs);
	return code;
}
