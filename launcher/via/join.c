/* --follow: executors that come while a recording runs (dynamic allocation, one that is started
 * again). Hosts that are there say every few seconds which JVMs they have; hosts that are not are
 * looked for where the first ones came from. What begins late lasts as long as the others still do.
 */
#include "far_runs_internal.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "choose.h"
#include "cli/executor_list.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/safe_print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Runs of one host: more than come and go in a recording, far fewer than there are descriptors. */
enum { RUNS_MOST = 1024 };

/* patience: before somebody is asked again who did not answer. */
static const uint64_t look_ns = 3000000000ull, least_ns = 1000000000ull,
		      patience_ns = 30000000000ull;

bool sp_via_join_means(const struct sp_call *call, const struct sp_jvm *j)
{
	struct sp_via_member m = {j->app_id, j->executor_id, j->role, true};
	bool meant = false;

	if (j->role != SP_ROLE_EXECUTOR)
		return false;
	for (size_t i = 0; i < call->n_targets; i++)
		meant |= sp_via_word_means(call->targets[i], &m);
	return meant && (!call->executors || sp_executor_list_has(call->executors, m.id));
}

/* How long the others still record; 0: not worth a beginning. */
static uint64_t rest_ns(const struct sp_far_runs *rs)
{
	uint64_t passed = sp_clock_mono_ns() - rs->begun_ns, all = rs->call->duration_ns;

	return passed + least_ns < all ? all - passed : 0;
}

bool sp_via_join_waits(const struct sp_far_runs *rs)
{
	return rs->call->follow && !rs->interrupted && !sp_interrupted() && rest_ns(rs);
}

/* Whether it has a run, or its host has so many that it must be lying. */
static bool is_known(
	const struct sp_far_runs *rs, const struct sp_via_host *h, const struct sp_jvm *j)
{
	size_t there = 0;

	for (size_t i = 0; i < rs->n; i++) {
		const struct sp_far_run *r = &rs->list[i];

		there += r->host == h;
		if (r->host == h && r->jvm && r->jvm->pid == j->pid &&
			r->jvm->start_ticks == j->start_ticks)
			return true;
	}
	return there >= RUNS_MOST;
}

static void say_joined(struct sp_far_runs *rs, const struct sp_far_run *r)
{
	SP_AUTO_BUF struct sp_buf who = {0};

	sp_safe_print_text(&who, r->jvm->executor_id, 20);
	sp_progress_table_erase(&rs->table);
	sp_message_note("%s: executor %s has come after %.1f s and is recorded, too", r->host->name,
		sp_buf_str(&who), (double)(sp_clock_mono_ns() - rs->begun_ns) / 1e9);
}

/* Takes @own in every case. */
static void begin(struct sp_far_runs *rs, struct sp_via_host *h, struct sp_jvm *own)
{
	uint64_t rest = rest_ns(rs);
	struct sp_far_run *r;
	struct sp_err err;

	if (!rest || !sp_via_join_waits(rs) || !sp_via_join_means(rs->call, own) ||
		is_known(rs, h, own) || !(r = sp_far_runs_add(rs, h, own))) {
		free(own);
		return;
	}
	r->own = own;
	if (sp_far_runs_start(rs, rs->n - 1, rest, &err) < 0) {
		sp_message_error("%s: %s", h->name, err.text);
		r->ended = true;
		rs->ended++;
		return;
	}
	say_joined(rs, r);
}

void sp_via_join_take(struct sp_far_runs *rs, struct sp_via_host *h, const struct sp_packet *m)
{
	struct sp_jvm *own = rs->call->follow ? malloc(sizeof(*own)) : NULL;

	if (own && sp_via_host_read_jvm(h, m, own))
		begin(rs, h, own);
	else
		free(own);
}

/* Executors of a host that is ready now. */
static void take_host(struct sp_far_runs *rs, struct sp_via_host *h)
{
	for (size_t k = 0; k < h->n; k++) {
		struct sp_jvm *own = malloc(sizeof(*own));

		if (own) {
			*own = h->jvms[k];
			begin(rs, h, own);
		}
	}
}

/* Hosts that were not there before: of one that is tried again, a reason is said once. */
static void take_hosts(struct sp_far_runs *rs)
{
	for (size_t i = 0; i < rs->hs->connected; i++) {
		struct sp_via_host *h = &rs->hs->list[i];

		if (h->looked_at || h->state < SP_VIA_READY)
			continue;
		h->looked_at = true;
		if (h->state == SP_VIA_READY) {
			take_host(rs, h);
		} else if (h->tries < 2) {
			sp_progress_table_erase(&rs->table);
			sp_message_error("%s", h->err.text);
		}
	}
}

void sp_via_join_look(struct sp_far_runs *rs)
{
	uint64_t now = sp_clock_mono_ns();
	struct sp_err err;

	if (!sp_via_join_waits(rs))
		return;
	take_hosts(rs);
	if (now - rs->looked_ns < look_ns)
		return;
	rs->looked_ns = now;
	sp_via_hosts_again(rs->hs, rs->call);
	for (size_t i = 0; i < rs->hs->connected; i++)
		if (rs->hs->list[i].looked_at && !sp_via_host_ended(&rs->hs->list[i]))
			sp_packets_send(&rs->hs->list[i].packets, SP_PACKET_LIST, 0, NULL, 0);
	if (now >= rs->ask_ns && sp_via_hosts_more(rs->hs, rs->call, &err) < 0) {
		rs->ask_ns = sp_clock_mono_ns() + patience_ns;
		sp_progress_table_erase(&rs->table);
		sp_message_warn("--follow: new hosts cannot be looked for: %s", err.text);
	}
}
