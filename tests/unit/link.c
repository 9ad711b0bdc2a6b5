/* How long a launcher waits for an answer. The other end is a process whose thread has the agent's
 * name, and works or not. */
#include "run/agent_link.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/msg.h"

#define SECOND 1000000000ull

/* Works for @after_ns and answers then; never where it does not work. */
static void be_agent(int fd, bool works, uint64_t after_ns)
{
	struct sp_chan chan = {.fd = fd};
	struct sp_msg m = {.type = SP_MSG_STOPPED};
	uint64_t start = sp_clock_mono_ns();

	prctl(PR_SET_NAME, "sparkprof");
	while (!works)
		pause();
	while (sp_clock_mono_ns() - start < after_ns)
		;
	sp_chan_send(&chan, &m, NULL, 0, sp_clock_mono_ns() + 1000000000);
	while (1)
		pause();
}

static int ask(uint64_t answer_ns, bool works, uint64_t after_ns, struct sp_err *err)
{
	struct sp_link l = {.answer_ns = answer_ns};
	struct sp_msg m;
	int fds[2], r;

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	l.pid = fork();
	cr_assert_geq(l.pid, 0);
	if (l.pid == 0) {
		close(fds[0]);
		be_agent(fds[1], works, after_ns);
	}
	close(fds[1]);
	l.chan.fd = fds[0];
	r = sp_link_ask(&l, &(struct sp_msg){.type = SP_MSG_STOP}, NULL, 0, &m, err);
	if (r == 0)
		cr_expect_eq(m.type, SP_MSG_STOPPED);
	kill(l.pid, SIGKILL);
	waitpid(l.pid, NULL, 0);
	close(fds[0]);
	return r;
}

Test(link, an_agent_that_works_is_waited_for)
{
	struct sp_err err = {""};

	cr_expect_eq(ask(SECOND, true, 5 * SECOND / 2, &err), 0, "%s", err.text);
}

Test(link, an_agent_that_does_nothing_is_not)
{
	struct sp_err err = {""};

	cr_expect_eq(ask(SECOND / 5, false, 0, &err), -ETIMEDOUT);
	cr_expect(strstr(err.text, "did not answer in time"), "%s", err.text);
}

Test(link, nobody_is_waited_for_without_end)
{
	struct sp_err err = {""};

	cr_expect_eq(ask(SECOND / 5, true, UINT64_MAX, &err), -ETIMEDOUT);
}
