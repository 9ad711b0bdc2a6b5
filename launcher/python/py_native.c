/* See py_native.h. */
#include "py_native.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "elf/symbols.h"
#include "unwind/arch.h"
#include "unwind/unwind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

enum {
	STACK_MAX = 1 << 20, /* bytes that are copied */
	RED_ZONE = 128,
	STACKS = 64,
	MAPS_MAX = 64 << 20,
};

struct sp_pynative {
	pid_t pid;
	struct sp_mem mem;
	struct sp_modules *modules;
	struct sp_unwinder *unwinder;
	struct sp_symbols *symbols;
	int root;
	struct sp_buf maps;
	uint8_t *bytes; /* owned: of the stack */
	struct sp_frame *frames;
	struct sp_pynative_frame *names;
	struct {
		uint64_t from, to;
	} stacks[STACKS]; /* mappings that stacks were found in, the last ones */
	unsigned next_stack;
	struct sp_pyptrace stop;
};

static ssize_t read_some(pid_t pid, uint64_t addr, void *buf, size_t len)
{
	struct iovec local = {buf, len}, remote = {(void *)(uintptr_t)addr, len};

	return process_vm_readv(pid, &local, 1, &remote, 1, 0);
}

static int read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct sp_pynative *n = ctx;

	return read_some(n->pid, addr, buf, len) == (ssize_t)len ? 0 : -EFAULT;
}

static int read_maps(struct sp_pynative *n)
{
	SP_AUTO_CLOSE int fd = -1;
	char path[32];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)n->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	sp_buf_clear(&n->maps);
	memset(n->stacks, 0, sizeof(n->stacks));
	r = sp_buf_read_fd(&n->maps, fd, MAPS_MAX);
	if (r == 0)
		r = sp_modules_parse(n->modules, n->maps.data, n->maps.len);
	return r < 0 ? r : sp_symbols_add_maps(n->symbols, n->maps.data, n->maps.len);
}

int sp_pynative_new(struct sp_pynative **ret, pid_t pid, struct sp_err *err)
{
	struct sp_pynative *n = calloc(1, sizeof(*n));
	char path[32];
	int r = -ENOMEM;

	if (!n)
		return sp_err_set(err, -ENOMEM, "out of memory");
	n->pid = pid;
	n->mem = (struct sp_mem){.read = read_memory, .ctx = n};
	sp_buf_init(&n->maps);
	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	n->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	n->bytes = malloc(STACK_MAX);
	n->frames = calloc(SP_PY_DEPTH_MAX, sizeof(*n->frames));
	n->names = calloc(SP_PY_DEPTH_MAX, sizeof(*n->names));
	if (n->bytes && n->frames && n->names)
		r = sp_modules_new(&n->modules, &n->mem);
	if (r == 0)
		r = sp_unwinder_new(&n->unwinder, &n->mem, n->modules, NULL, 0);
	if (r == 0)
		r = sp_symbols_new(&n->symbols, n->root, NULL);
	if (r == 0)
		r = read_maps(n);
	if (r < 0) {
		sp_pynative_free(n);
		return sp_err_set(err, r, "its native code cannot be read: %s", strerror(-r));
	}
	*ret = n;
	return 0;
}

void sp_pynative_free(struct sp_pynative *n)
{
	if (!n)
		return;
	sp_pyptrace_tidy(&n->stop); /* who is still late is let go when this process ends */
	sp_symbols_free(n->symbols);
	if (n->unwinder)
		sp_unwinder_free(n->unwinder);
	sp_modules_free(n->modules);
	sp_buf_done(&n->maps);
	if (n->root >= 0)
		close(n->root);
	free(n->bytes);
	free(n->frames);
	free(n->names);
	free(n);
}

struct sp_pyptraces sp_pynative_stops(const struct sp_pynative *n)
{
	return n->stop.stops;
}

/* End of the mapping that @addr lies in; 0: none. The thread is stopped meanwhile: no text is
 * read for a stack that was met before. */
static uint64_t mapping_end(struct sp_pynative *n, uint64_t addr)
{
	const char *p = sp_buf_str(&n->maps);
	unsigned long long from, to;

	for (unsigned i = 0; i < STACKS; i++)
		if (addr >= n->stacks[i].from && addr < n->stacks[i].to)
			return n->stacks[i].to;
	for (; *p; p += *p != 0) {
		if (sscanf(p, "%llx-%llx", &from, &to) == 2 && addr >= from && addr < to) {
			n->stacks[n->next_stack].from = from;
			n->stacks[n->next_stack].to = to;
			n->next_stack = (n->next_stack + 1) % STACKS;
			return to;
		}
		p = strchrnul(p, '\n');
	}
	return 0;
}

/* The stack of the thread with the stack pointer in @snap. */
static int copy_stack(struct sp_pynative *n, struct sp_snapshot *snap)
{
	uint64_t sp = snap->regs[SP_REG_RSP], end = mapping_end(n, sp);
	ssize_t got;

	if (!end && read_maps(n) == 0)
		end = mapping_end(n, sp);
	if (!end)
		return -EFAULT;
	snap->stack_addr = sp - RED_ZONE;
	snap->stack_end = end;
	snap->stack = n->bytes;
	got = read_some(n->pid, snap->stack_addr, n->bytes,
		end - snap->stack_addr < STACK_MAX ? end - snap->stack_addr : STACK_MAX);
	if (got <= 0)
		return got < 0 ? -errno : -EFAULT;
	snap->stack_len = (uint32_t)got;
	return 0;
}

static int copy_registers(pid_t tid, struct sp_snapshot *snap)
{
	struct user_regs_struct u;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &u) < 0)
		return -errno;
	*snap = (struct sp_snapshot){.tid = (uint32_t)tid, .known = SP_REG_ALL};
	memcpy(snap->regs,
		(const uint64_t[SP_REG_COUNT]){u.rax, u.rdx, u.rcx, u.rbx, u.rsi, u.rdi, u.rbp,
			u.rsp, u.r8, u.r9, u.r10, u.r11, u.r12, u.r13, u.r14, u.r15, u.rip},
		sizeof(snap->regs));
	return 0;
}

/* What is wanted of a thread. */
struct want {
	struct sp_pynative *n;
	struct sp_pyreader *reader;
	size_t thread;
	pid_t tid;
	struct sp_pystack *python;
	struct sp_snapshot *snap;
};

static int look_stopped(const struct want *w)
{
	int sig = sp_pyptrace(&w->n->stop, w->tid), r;

	if (sig < 0)
		return sig;
	r = copy_registers(w->tid, w->snap);
	if (r == 0)
		r = copy_stack(w->n, w->snap);
	if (r == 0)
		r = sp_pyreader_stack(w->reader, w->thread, w->python);
	sp_pyptrace_go(&w->n->stop, w->tid, sig);
	return r;
}

/* Stack pointer and pc of a thread that waits in the kernel, as /proc has them. */
static int copy_place(struct sp_pynative *n, pid_t tid, struct sp_snapshot *snap)
{
	SP_AUTO_CLOSE int fd = -1;
	char path[64], text[256], *word;
	uint64_t last[2] = {0, 0};
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)n->pid, (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (got <= 0)
		return -ESRCH;
	text[got] = 0;
	for (char *p = text; (word = strsep(&p, " \n"));) {
		if (strncmp(word, "0x", 2) != 0)
			continue;
		last[0] = last[1];
		last[1] = strtoull(word, NULL, 16);
	}
	*snap = (struct sp_snapshot){
		.tid = (uint32_t)tid, .known = SP_KNOWN(SP_REG_RSP) | SP_KNOWN(SP_REG_PC)};
	snap->regs[SP_REG_RSP] = last[0];
	snap->regs[SP_REG_PC] = last[1];
	return last[0] && last[1] ? 0 : -EAGAIN; /* it runs */
}

static int look_blocked(void *ctx)
{
	const struct want *w = ctx;
	int r = copy_place(w->n, w->tid, w->snap);

	if (r == 0)
		r = copy_stack(w->n, w->snap);
	return r < 0 ? r : sp_pyreader_stack(w->reader, w->thread, w->python);
}

static void name_frame(
	struct sp_pynative *n, const struct sp_frame *f, struct sp_pynative_frame *to)
{
	const struct sp_module *m =
		f->kind == SP_FRAME_KIND_NATIVE ? sp_modules_get(n->modules, f->module) : NULL;
	char build_id[2 * SP_BUILD_ID_MAX + 1] = "";

	*to = (struct sp_pynative_frame){.module = m ? m->name : ""};
	if (!m)
		return;
	for (unsigned i = 0; i < m->build_id_len; i++)
		snprintf(build_id + 2 * i, 3, "%02x", m->build_id[i]);
	if (sp_symbols_find(n->symbols, m->path, build_id, f->offset, &to->name) < 0)
		to->name = NULL;
}

/* Returns whether it came to the thread's start. */
static bool unwind(struct sp_pynative *n, const struct sp_snapshot *snap, size_t *ret_count)
{
	struct sp_unwind_result res;

	sp_unwind(n->unwinder, snap, n->frames, SP_PY_DEPTH_MAX, &res);
	if (res.reason == SP_WHY_NO_MODULE && read_maps(n) == 0)
		sp_unwind(n->unwinder, snap, n->frames, SP_PY_DEPTH_MAX, &res);
	*ret_count = res.count;
	return res.status == SP_UNWIND_COMPLETE && !res.unknown;
}

int sp_pynative_stack(struct sp_pynative *n, struct sp_pyreader *reader, size_t thread, pid_t tid,
	struct sp_pystack *python, struct sp_pymixed *ret)
{
	struct sp_snapshot snap;
	struct want w = {n, reader, thread, tid, python, &snap};
	size_t count = 0;
	int r;
	bool whole;

	sp_pyptrace_tidy(&n->stop);
	r = sp_pyptrace_waiting(n->pid, tid, look_blocked, &w);
	whole = r == 0 && unwind(n, w.snap, &count);

	if (!whole) {
		r = look_stopped(&w);
		if (r < 0)
			return r;
		whole = unwind(n, w.snap, &count);
	}
	for (size_t i = 0; i < count; i++)
		name_frame(n, &n->frames[i], &n->names[i]);
	ret->count = sp_pymixed(python, n->names, count, whole, ret->frames, SP_PYMIXED_MAX);
	ret->truncated = !whole;
	return 0;
}
