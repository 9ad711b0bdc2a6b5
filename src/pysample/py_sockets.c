/* See py_sockets.h. */
#include "pysample/py_sockets.h"

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/list_dir.h"
#include "py/target_mem.h"
#include "pysample/py_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TABLE_MAX = 4 << 20, ROWS_MAX = 8192, FDS = 16, TASKS = 256, NONE_LOOKS = 20 };

static uint64_t socket_inode(pid_t pid, const char *fd)
{
	char path[300], to[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)pid, fd);
	n = readlink(path, to, sizeof(to) - 1);
	to[n > 0 ? n : 0] = 0;
	return strncmp(to, "socket:[", 8) == 0 ? strtoull(to + 8, NULL, 10) : 0;
}

/* What an epoll descriptor watches: "tfd:       45 events: …" lines of its fdinfo. */
static size_t watched(pid_t pid, unsigned long epoll, unsigned long *ret)
{
	char path[64], text[4096], *p = text;
	SP_AUTO_CLOSE int fd = -1;
	size_t n = 0;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%lu", (int)pid, epoll);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[len > 0 ? len : 0] = 0;
	while (n < FDS && (p = strstr(p, "tfd:"))) {
		p += 4;
		ret[n++] = strtoul(p, NULL, 10);
	}
	return n;
}

/* The number at @addr of the process; -1: it cannot be read. */
static int int_at(const struct sp_pysockets *s, pid_t pid, uint64_t addr)
{
	struct sp_pymem_process process = {.pid = pid, .no_call = s->no_call};
	struct sp_pymem mem = {sp_pymem_process, &process};
	int value = -1;

	if (s->no_call)
		sp_pymem_open(&process);
	if (!sp_pymem_get(&mem, addr, &value, sizeof(value)))
		value = -1;
	sp_pymem_close(&process);
	return value;
}

/* The descriptors that a thread waits for, by the system call that it is in. */
static size_t waited_for(
	const struct sp_pysockets *s, pid_t pid, const char *call, unsigned long *ret)
{
	char *args;
	long nr = strtol(call, &args, 10);
	unsigned long first = args == call ? 0 : strtoul(args, NULL, 0);
	int fd;

	if (args == call)
		return 0;
	switch (nr) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return watched(pid, first, ret);
	case SYS_poll:
	case SYS_ppoll: /* struct pollfd begins with it */
		fd = int_at(s, pid, first);
		if (fd < 0)
			return 0;
		ret[0] = (unsigned long)fd;
		return 1;
	case SYS_read:
	case SYS_write:
	case SYS_recvfrom:
	case SYS_sendto:
	case SYS_recvmsg:
	case SYS_sendmsg:
		ret[0] = first;
		return 1;
	default:
		return 0;
	}
}

static void read_small(pid_t pid, const char *task, const char *name, char *ret, size_t size)
{
	char path[320];
	SP_AUTO_CLOSE int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/%s", (int)pid, task, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, ret, size - 1);
	ret[n > 0 ? n : 0] = 0;
}

static bool runs_tasks(pid_t jvm, const char *task)
{
	/* Spark's name for it, as the kernel cuts it */
	static const char name[] = "Executor task l";
	char text[32];

	read_small(jvm, task, "comm", text, sizeof(text));
	return strncmp(text, name, sizeof(name) - 1) == 0;
}

/* Sockets that a thread of the JVM waits for; until the peers are known, by its own end. */
static void look_at_thread(struct sp_pysockets *s, pid_t jvm, const char *task)
{
	unsigned long fds[FDS];
	char text[256], fd[24];
	size_t n;

	read_small(jvm, task, "syscall", text, sizeof(text));
	n = waited_for(s, jvm, text, fds);
	for (size_t i = 0; i < n && s->count < SP_PYSOCKETS_MAX; i++) {
		uint64_t inode;

		snprintf(fd, sizeof(fd), "%lu", fds[i]);
		inode = socket_inode(jvm, fd);
		if (!inode)
			continue;
		s->ends[s->count].tid =
			s->tasks ? (uint32_t)strtoul(task, NULL, 10)
				 : sp_pyproc_own_tid(jvm, (pid_t)strtol(task, NULL, 10));
		s->ends[s->count++].peer = inode;
	}
}

enum { ADDRESS = 48 };

struct row {
	char here[ADDRESS], there[ADDRESS]; /* address:port */
	uint64_t inode;
};

struct rows {
	struct row *list;
	size_t count, cap;
};

/* Two ends of one connection may be of both families: ::ffff:127.0.0.1 is 127.0.0.1. */
static void plain(char address[ADDRESS])
{
	static const char mapped[] = "0000000000000000FFFF0000";
	const size_t skip = sizeof(mapped) - 1;

	if (memcmp(address, mapped, skip) == 0)
		memmove(address, address + skip, ADDRESS - skip);
}

/* 127.0.0.0/8: the kernel prints the bytes of an address from the last to the first. */
static bool is_loopback(const char *address)
{
	return strcspn(address, ":") == 8 && strncmp(address + 6, "7F", 2) == 0;
}

/* JVM and worker are on one host. */
static bool is_local(const struct row *x)
{
	size_t n = strcspn(x->here, ":");

	if (is_loopback(x->here) && is_loopback(x->there))
		return true;
	return n == strcspn(x->there, ":") && memcmp(x->here, x->there, n) == 0;
}

/* "  sl  local_address rem_address st … inode" of net/tcp and tcp6. */
static void add_row(struct rows *r, const char *line)
{
	unsigned long long inode;
	struct row x;

	if (sscanf(line,
		    " %*d: %40[0-9A-F:] %40[0-9A-F:] %*x %*x:%*x %*x:%*x %*x %*u %*u "
		    "%llu",
		    x.here, x.there, &inode) != 3)
		return;
	plain(x.here);
	plain(x.there);
	if (!is_local(&x) || r->count == ROWS_MAX ||
		sp_grow(&r->list, &r->cap, r->count, sizeof(*r->list), 64) < 0)
		return;
	x.inode = inode;
	r->list[r->count++] = x;
}

static const struct row *row_of(const struct rows *r, uint64_t inode)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->list[i].inode == inode)
			return &r->list[i];
	return NULL;
}

static uint64_t tcp_peer(const struct rows *r, const struct row *own)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->list[i].inode && strcmp(r->list[i].here, own->there) == 0 &&
			strcmp(r->list[i].there, own->here) == 0)
			return r->list[i].inode;
	return 0;
}

static bool same_network(pid_t pid)
{
	struct stat a, b;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	return stat("/proc/self/ns/net", &a) == 0 && stat(path, &b) == 0 && a.st_ino == b.st_ino;
}

/* *ret_waits: there is another end, which has no number until it is accepted. */
static uint64_t peer_in(const struct nlmsghdr *h, bool *ret_waits)
{
	const struct unix_diag_msg *m = NLMSG_DATA(h);
	int left = (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof(*m)));

	for (const struct rtattr *a = (const void *)(m + 1); RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == UNIX_DIAG_PEER && RTA_PAYLOAD(a) >= 4) {
			uint32_t inode = *(const uint32_t *)RTA_DATA(a);

			*ret_waits = inode == 0;
			return inode;
		}
	return 0;
}

/* The other end of a Unix socket, by sock_diag(7); 0: it is none, or has none. */
static uint64_t unix_peer(int netlink, uint64_t inode, bool *ret_waits)
{
	struct {
		struct nlmsghdr head;
		struct unix_diag_req req;
	} ask = {{sizeof(ask), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 0, 0},
		{.sdiag_family = AF_UNIX,
			.udiag_states = ~0u,
			.udiag_ino = (uint32_t)inode,
			.udiag_cookie = {~0u, ~0u},
			.udiag_show = UDIAG_SHOW_PEER}};
	union {
		struct nlmsghdr head;
		char bytes[1024];
	} got;
	ssize_t n;

	if (netlink < 0 || inode > UINT32_MAX || send(netlink, &ask, sizeof(ask), 0) < 0)
		return 0;
	n = recv(netlink, &got, sizeof(got), MSG_DONTWAIT);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(struct unix_diag_msg)) ||
		!NLMSG_OK(&got.head, (size_t)n) || got.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return 0;
	return peer_in(&got.head, ret_waits);
}

/* Line by line: a host may have very many connections. */
static void read_table(struct rows *r, int fd)
{
	char text[8192];
	size_t len = 0;
	ssize_t n;

	for (size_t all = 0; all < TABLE_MAX; all += (size_t)n) {
		char *line = text, *end;

		n = read(fd, text + len, sizeof(text) - 1 - len);
		if (n <= 0)
			return;
		text[len += (size_t)n] = 0;
		for (; (end = strchr(line, '\n')); line = end + 1) {
			*end = 0;
			add_row(r, line);
		}
		len -= (size_t)(line - text);
		if (len == sizeof(text) - 1)
			return; /* no such line */
		memmove(text, line, len);
	}
}

static void read_tables(struct rows *r, pid_t jvm)
{
	static const char *const names[] = {"tcp", "tcp6"};

	for (size_t i = 0; i < SP_COUNT(names); i++) {
		SP_AUTO_CLOSE int fd = -1;
		char path[40];

		snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)jvm, names[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			read_table(r, fd);
	}
}

/* That it has none is asked again now and then: a list that changes as it is read may lack some. */
static const struct sp_pysocket_pair *known_pair(struct sp_pysockets *s, uint64_t own)
{
	for (size_t i = 0; i < SP_PYSOCKETS_KNOWN; i++) {
		struct sp_pysocket_pair *k = &s->known[i];

		if (k->own == own)
			return k->peer || k->looks++ < NONE_LOOKS ? k : NULL;
	}
	return NULL;
}

/* As long as there is a socket its number is no other's, and what it is connected with stays. */
static void keep_pair(struct sp_pysockets *s, uint64_t own, uint64_t peer)
{
	size_t i = 0;

	while (i < SP_PYSOCKETS_KNOWN && s->known[i].own != own)
		i++;
	if (i == SP_PYSOCKETS_KNOWN)
		i = s->next_known++ % SP_PYSOCKETS_KNOWN;
	s->known[i] = (struct sp_pysocket_pair){own, peer, 0};
}

/* The other end of @own; 0: none on this host. One that was not accepted yet is asked for again. */
static uint64_t find_peer(struct sp_pysockets *s, const struct rows *r, int netlink, uint64_t own)
{
	const struct row *row = row_of(r, own);
	bool waits = row != NULL;
	uint64_t peer = row ? tcp_peer(r, row) : unix_peer(netlink, own, &waits);

	if (peer || !waits)
		keep_pair(s, own, peer);
	return peer;
}

static void find_new_peers(struct sp_pysockets *s, pid_t jvm)
{
	SP_AUTO_CLOSE int netlink =
		same_network(jvm) ? socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)
				  : -1;
	struct rows r = {0};

	s->tables++;
	read_tables(&r, jvm);
	for (size_t i = 0; i < s->count; i++)
		if (!s->ends[i].known)
			s->ends[i].peer = find_peer(s, &r, netlink, s->ends[i].peer);
	free(r.list);
}

/* The kernel walks through all that it has to list the connections of a host. */
static void find_peers(struct sp_pysockets *s, pid_t jvm)
{
	bool all = true;

	for (size_t i = 0; i < s->count; i++) {
		const struct sp_pysocket_pair *k = known_pair(s, s->ends[i].peer);

		s->ends[i].known = k != NULL;
		if (k)
			s->ends[i].peer = k->peer;
		all &= s->ends[i].known;
	}
	if (!all)
		find_new_peers(s, jvm);
}

struct threads {
	struct sp_pysockets *s;
	pid_t jvm;
};

static void saw_thread(void *ctx, const char *name)
{
	const struct threads *t = ctx;

	if (name[0] != '.' && runs_tasks(t->jvm, name))
		look_at_thread(t->s, t->jvm, name);
}

void sp_pysockets_look(struct sp_pysockets *s, pid_t jvm)
{
	struct threads t = {s, jvm};
	uint32_t tasks[TASKS];
	size_t n = s->tasks ? s->tasks(s->ctx, tasks, TASKS) : 0;
	char text[32];

	s->count = 0;
	for (size_t i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "%u", tasks[i]);
		look_at_thread(s, jvm, text);
	}
	snprintf(text, sizeof(text), "/proc/%d/task", (int)jvm);
	if (!s->tasks)
		sp_list_dir(text, saw_thread, &t);
	if (s->count)
		find_peers(s, jvm);
}

struct descriptors {
	const struct sp_pysockets *s;
	pid_t pid;
	uint32_t found;
};

static void saw_descriptor(void *ctx, const char *name)
{
	struct descriptors *d = ctx;
	uint64_t inode = d->found ? 0 : socket_inode(d->pid, name);

	for (size_t i = 0; inode && i < d->s->count; i++)
		if (d->s->ends[i].peer == inode)
			d->found = d->s->ends[i].tid;
}

uint32_t sp_pysockets_find(const struct sp_pysockets *s, pid_t pid)
{
	struct descriptors d = {s, pid, 0};
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	if (s->count)
		sp_list_dir(path, saw_descriptor, &d);
	return d.found;
}
