/* The thread at the other end of a process's socket: real sockets, threads and processes. And what
 * a recording makes of it. */
#include "pysample/py_sockets.h"
#include "prof/load/task_spans.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum how { BY_READ, BY_POLL, BY_EPOLL };

struct reader {
	int fd;
	enum how how;
	uint32_t tid; /* atomic */
};

static void *wait_for_it(void *ctx)
{
	struct reader *r = ctx;
	struct pollfd p = {r->fd, POLLIN, 0};
	struct epoll_event e = {.events = EPOLLIN};
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	char c;

	prctl(PR_SET_NAME, "Executor task launch worker");
	__atomic_store_n(&r->tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	epoll_ctl(epoll, EPOLL_CTL_ADD, r->fd, &e);
	if (r->how == BY_POLL)
		poll(&p, 1, -1);
	if (r->how == BY_EPOLL)
		epoll_wait(epoll, &e, 1, -1);
	(void)!read(r->fd, &c, 1);
	close(epoll);
	return NULL;
}

static struct sockaddr_in at(uint32_t host, uint16_t port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK + host),
		.sin_port = htons(port)};
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);

	cr_assert_eq(getsockname(fd, (void *)&a, &len), 0);
	return ntohs(a.sin_port);
}

/* Connects 127.0.0.(2 + @host) to 127.0.0.(1 + @host), by ports that are chosen where they are 0.
 */
static void tcp_pair(int ret[2], uint32_t host, uint16_t ports[2])
{
	struct sockaddr_in from = at(host + 1, ports[0]), to = at(host, ports[1]);
	int door = socket(AF_INET, SOCK_STREAM, 0);

	cr_assert_eq(bind(door, (void *)&to, sizeof(to)), 0);
	cr_assert_eq(listen(door, 1), 0);
	ports[1] = port_of(door);
	to = at(host, ports[1]);
	ret[0] = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert_eq(bind(ret[0], (void *)&from, sizeof(from)), 0);
	ports[0] = port_of(ret[0]);
	cr_assert_eq(connect(ret[0], (void *)&to, sizeof(to)), 0);
	ret[1] = accept(door, NULL, NULL);
	close(door);
}

/* As Java's sockets are: of the other family than Python's. */
static void mapped_pair(int ret[2])
{
	struct sockaddr_in to = at(0, 0);
	struct sockaddr_in6 mapped = {.sin6_family = AF_INET6};
	int door = socket(AF_INET, SOCK_STREAM, 0);

	cr_assert_eq(bind(door, (void *)&to, sizeof(to)), 0);
	cr_assert_eq(listen(door, 1), 0);
	mapped.sin6_port = htons(port_of(door));
	cr_assert_eq(inet_pton(AF_INET6, "::ffff:127.0.0.1", &mapped.sin6_addr), 1);
	ret[0] = socket(AF_INET6, SOCK_STREAM, 0);
	if (ret[0] < 0 || connect(ret[0], (void *)&mapped, sizeof(mapped)) < 0)
		cr_skip_test("no IPv6 here");
	ret[1] = accept(door, NULL, NULL);
	close(door);
}

enum pair { BY_UNIX, BY_TCP, BY_MAPPED };

static void make_pair(int ret[2], enum pair pair)
{
	uint16_t ports[2] = {0};

	if (pair == BY_TCP)
		tcp_pair(ret, 0, ports);
	else if (pair == BY_MAPPED)
		mapped_pair(ret);
	else
		cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ret), 0);
}

/* A process that has @keep alone. */
static pid_t holder(int keep, const int *others, size_t n)
{
	pid_t child = fork();

	if (child)
		return child;
	for (size_t i = 0; i < n; i++)
		if (others[i] != keep)
			close(others[i]);
	pause();
	_exit(0);
}

static void meet(enum pair pair, enum how how)
{
	static struct sp_pysockets s;
	struct reader r = {.how = how};
	pthread_t thread;
	int ends[2];
	pid_t child;
	uint32_t found = 0;
	unsigned tables;

	make_pair(ends, pair);
	child = holder(ends[1], ends, 2);
	close(ends[1]);
	r.fd = ends[0];
	pthread_create(&thread, NULL, wait_for_it, &r);
	for (int i = 0; i < 5000 && !found; i++) {
		usleep(1000); /* until it waits */
		sp_pysockets_look(&s, getpid());
		found = sp_pysockets_find(&s, child);
	}
	cr_expect_eq(found, __atomic_load_n(&r.tid, __ATOMIC_ACQUIRE), "pair %d, how %d", (int)pair,
		(int)how);
	cr_expect_eq(sp_pysockets_find(&s, getppid()), 0);
	tables = s.tables;
	sp_pysockets_look(&s, getpid());
	cr_expect_eq(sp_pysockets_find(&s, child), found);
	cr_expect_eq(s.tables, tables, "the kernel's lists are not read again");
	kill(child, SIGKILL); /* its end closes */
	waitpid(child, NULL, 0);
	pthread_join(thread, NULL);
	close(ends[0]);
	sp_pysockets_look(&s, getpid());
	cr_expect_eq(s.count, 0);
}

Test(py_sockets, a_thread_that_waits_for_a_process_is_found, .timeout = 60)
{
	for (enum pair pair = BY_UNIX; pair <= BY_MAPPED; pair++)
		for (enum how how = BY_READ; how <= BY_EPOLL; how++)
			meet(pair, how);
}

/* Hosts have more than one address: two connections may have the same two ports. */
Test(py_sockets, connections_of_the_same_ports_are_told_apart, .timeout = 60)
{
	static struct sp_pysockets s;
	struct reader r = {.how = BY_READ};
	uint16_t ports[2] = {0};
	int fds[4];
	pthread_t thread;
	pid_t first, second;
	uint32_t found = 0;

	tcp_pair(fds, 0, ports);
	tcp_pair(fds + 2, 2, ports);
	first = holder(fds[1], fds, 4);
	second = holder(fds[3], fds, 4);
	close(fds[1]);
	close(fds[3]);
	r.fd = fds[2];
	pthread_create(&thread, NULL, wait_for_it, &r);
	for (int i = 0; i < 5000 && !found; i++) {
		usleep(1000);
		sp_pysockets_look(&s, getpid());
		found = sp_pysockets_find(&s, second);
	}
	cr_expect_eq(found, __atomic_load_n(&r.tid, __ATOMIC_ACQUIRE));
	cr_expect_eq(sp_pysockets_find(&s, first), 0);
	kill(first, SIGKILL);
	kill(second, SIGKILL);
	waitpid(first, NULL, 0);
	waitpid(second, NULL, 0);
	pthread_join(thread, NULL);
	close(fds[0]);
	close(fds[2]);
}

static struct sp_span span(uint32_t tid, int64_t task, uint64_t start, uint64_t end, bool helper)
{
	return (struct sp_span){.run = {.name = {task, 1, 0, 0, 0},
					.tid = tid,
					.start_ns = start,
					.end_ns = end,
					.helper = helper}};
}

/* Threads 10 and 11 of a JVM have tasks 1, then 2, and 3; worker 20 says 1 and 3 at times. */
Test(py_sockets, what_a_worker_does_not_say_its_socket_does)
{
	struct sp_span list[] = {span(10, 1, 100, 200, false), span(10, 2, 300, 400, false),
		span(11, 3, 100, 400, false), span(20, 1, 120, 190, true)};
	struct sp_task_spans s = {0};
	uint32_t at;

	for (size_t i = 0; i < 4; i++)
		cr_assert_eq(sp_task_spans_add(&s, &list[i]), 0);
	/* it agrees; it does not; a thread between tasks tells nothing */
	sp_worker_sockets_add(&s.sockets, &(struct sp_worker_socket){20, 10, 1, 150, 150});
	sp_worker_sockets_add(&s.sockets, &(struct sp_worker_socket){20, 11, 1, 160, 160});
	sp_worker_sockets_add(&s.sockets, &(struct sp_worker_socket){20, 10, 1, 250, 250});
	/* no context: task 2; what it says itself counts more; nobody at the other end */
	sp_worker_sockets_add(&s.sockets, &(struct sp_worker_socket){20, 10, -1, 310, 350});
	sp_worker_sockets_add(&s.sockets, &(struct sp_worker_socket){20, 11, -1, 130, 180});
	sp_worker_sockets_add(&s.sockets, &(struct sp_worker_socket){20, 12, -1, 360, 390});
	cr_assert_eq(sp_worker_sockets_apply(&s.sockets, &s), 1);
	cr_expect_eq(s.sockets.same, 1);
	cr_expect_eq(s.sockets.other, 1);
	cr_assert_eq(s.count, 5);
	at = sp_task_spans_find(&s, 20, 330, 0);
	cr_assert(at);
	cr_expect_eq(s.list[at - 1].run.name.task_id, 2);
	cr_expect(s.list[at - 1].run.helper);
	cr_expect_eq(sp_task_spans_find(&s, 20, 370, 0), 0);
	sp_task_spans_done(&s);
}
