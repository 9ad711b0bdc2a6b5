/* See py_sockets.h. */
#include "py_sockets.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "py/target_mem.h"
#include "py_proc.h"

#include <dirent.h>
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

enum { TABLE_MAX = 4 << 20, FDS = 16 };

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

/* The descriptors that a thread waits for, by the system call that it is in. */
static size_t waited_for(pid_t pid, const char *call, unsigned long *ret)
{
	char *args;
	long nr = strtol(call, &args, 10);
	unsigned long first = args == call ? 0 : strtoul(args, NULL, 0);
	struct sp_pymem_process process = {.pid = pid};
	struct sp_pymem mem = {sp_pymem_process, &process};
	int fd;

	if (args == call)
		return 0;
	switch (nr) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return watched(pid, first, ret);
	case SYS_poll:
	case SYS_ppoll: /* struct pollfd begins with it */
		if (!sp_pymem_get(&mem, first, &fd, sizeof(fd)) || fd < 0)
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

/* Sockets that a thread of the JVM waits for; until the peers are known, by its own end. */
static void look_at_thread(struct sp_pysockets *s, pid_t jvm, const char *task)
{
	/* Spark's name for it, as the kernel cuts it */
	static const char name[] = "Executor task l";
	unsigned long fds[FDS];
	char text[256], fd[24];
	size_t n;

	read_small(jvm, task, "comm", text, sizeof(text));
	if (strncmp(text, name, sizeof(name) - 1) != 0)
		return;
	read_small(jvm, task, "syscall", text, sizeof(text));
	n = waited_for(jvm, text, fds);
	for (size_t i = 0; i < n && s->count < SP_PYSOCKETS_MAX; i++) {
		uint64_t inode;

		snprintf(fd, sizeof(fd), "%lu", fds[i]);
		inode = socket_inode(jvm, fd);
		if (!inode)
			continue;
		s->ends[s->count].tid = sp_pyproc_own_tid(jvm, (pid_t)strtol(task, NULL, 10));
		s->ends[s->count++].peer = inode;
	}
}

struct row {
	char here[48], there[48]; /* address:port */
	uint64_t inode;
};

struct rows {
	struct row *list;
	size_t count, cap;
};

/* Two ends of one connection may be of both families: ::ffff:127.0.0.1 is 127.0.0.1. */
static void plain(char *address)
{
	static const char mapped[] = "0000000000000000FFFF0000";

	if (strncmp(address, mapped, sizeof(mapped) - 1) == 0)
		memmove(address, address + sizeof(mapped) - 1,
			strlen(address + sizeof(mapped) - 1) + 1);
}

/* "  sl  local_address rem_address st … inode" of net/tcp and tcp6. */
static void add_rows(struct rows *r, char *text)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct row x;
		unsigned long long inode;

		if (sscanf(line,
			    " %*d: %40[0-9A-F:] %40[0-9A-F:] %*x %*x:%*x %*x:%*x %*x %*u %*u "
			    "%llu",
			    x.here, x.there, &inode) != 3)
			continue;
		plain(x.here);
		plain(x.there);
		if (r->count == r->cap) {
			size_t cap = r->cap ? 2 * r->cap : 256;
			void *to = reallocarray(r->list, cap, sizeof(*r->list));

			if (!to)
				return;
			r->list = to;
			r->cap = cap;
		}
		x.inode = inode;
		r->list[r->count++] = x;
	}
}

static uint64_t tcp_peer(const struct rows *r, uint64_t inode)
{
	const struct row *own = NULL;

	for (size_t i = 0; i < r->count && !own; i++)
		if (r->list[i].inode == inode)
			own = &r->list[i];
	for (size_t i = 0; own && i < r->count; i++)
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

static uint64_t peer_in(const struct nlmsghdr *h)
{
	const struct unix_diag_msg *m = NLMSG_DATA(h);
	int left = (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof(*m)));

	for (const struct rtattr *a = (const void *)(m + 1); RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == UNIX_DIAG_PEER && RTA_PAYLOAD(a) >= 4)
			return *(const uint32_t *)RTA_DATA(a);
	return 0;
}

/* The other end of a Unix socket, by sock_diag(7); 0: it is none, or has none. */
static uint64_t unix_peer(int netlink, uint64_t inode)
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
	return peer_in(&got.head);
}

static void read_tables(struct rows *r, pid_t jvm)
{
	static const char *const names[] = {"tcp", "tcp6"};

	for (size_t i = 0; i < SP_COUNT(names); i++) {
		SP_AUTO_BUF struct sp_buf text;
		SP_AUTO_CLOSE int fd = -1;
		char path[40];

		sp_buf_init(&text);
		snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)jvm, names[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || sp_buf_read_fd(&text, fd, TABLE_MAX) < 0)
			continue;
		sp_buf_str(&text);
		add_rows(r, text.data);
	}
}

static void find_peers(struct sp_pysockets *s, pid_t jvm)
{
	SP_AUTO_CLOSE int netlink =
		same_network(jvm) ? socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)
				  : -1;
	struct rows r = {0};

	read_tables(&r, jvm);
	for (size_t i = 0; i < s->count; i++) {
		uint64_t peer = tcp_peer(&r, s->ends[i].peer);

		s->ends[i].peer = peer ? peer : unix_peer(netlink, s->ends[i].peer);
	}
	free(r.list);
}

void sp_pysockets_look(struct sp_pysockets *s, pid_t jvm)
{
	char path[32];
	struct dirent *e;
	DIR *d;

	s->count = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)jvm);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			look_at_thread(s, jvm, e->d_name);
	if (d)
		closedir(d);
	if (s->count)
		find_peers(s, jvm);
}

uint32_t sp_pysockets_find(const struct sp_pysockets *s, pid_t pid)
{
	char path[32];
	struct dirent *e;
	uint32_t found = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = s->count ? opendir(path) : NULL;
	while (d && !found && (e = readdir(d))) {
		uint64_t inode = socket_inode(pid, e->d_name);

		for (size_t i = 0; inode && i < s->count; i++)
			if (s->ends[i].peer == inode)
				found = s->ends[i].tid;
	}
	if (d)
		closedir(d);
	return found;
}
