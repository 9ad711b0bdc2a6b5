/* Native stacks of this very process, compared with libunwind frame by frame. */
#define UNW_LOCAL_ONLY
#include "chain.h"
#include "base/buf.h"
#include "unwind/unwind.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <libunwind.h>
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define DEPTH	  512
#define STACK_MAX (256u << 10)

static struct sp_mem_live *live;
static struct sp_modules *modules;
static struct sp_unwinder *unwinder;
static struct sp_frame frames[DEPTH];
static struct sp_unwind_result result;
static uint64_t oracle[DEPTH];
static int oracle_count;
static uint8_t *stack_copy;

/* byte by byte, so that no sanitizer has a say about other functions' frames */
__attribute__((no_sanitize("address", "undefined"), noinline)) static void copy_stack(
	uint8_t *to, uint64_t from, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		to[i] = ((const volatile uint8_t *)from)[i];
}

static void snapshot_of(struct sp_snapshot *s, const ucontext_t *uc, uint64_t end)
{
	static const int from[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP,
		REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
		REG_RIP};

	memset(s, 0, sizeof(*s));
	for (int i = 0; i < SP_REG_COUNT; i++)
		s->regs[i] = (uint64_t)uc->uc_mcontext.gregs[from[i]];
	s->known = SP_REG_ALL;
	s->stack_addr = s->regs[SP_REG_RSP];
	s->stack_end = end;
	s->stack_len =
		end - s->stack_addr > STACK_MAX ? STACK_MAX : (uint32_t)(end - s->stack_addr);
	copy_stack(stack_copy, s->stack_addr, s->stack_len);
	s->stack = stack_copy;
}

static void snapshot_here(struct sp_snapshot *s, uint64_t end)
{
	ucontext_t uc;

	getcontext(&uc);
	snapshot_of(s, &uc, end);
}

static void ask_libunwind(void)
{
	unw_context_t ctx;
	unw_cursor_t cursor;

	unw_getcontext(&ctx);
	unw_init_local(&cursor, &ctx);
	oracle_count = 0;
	do {
		unw_word_t ip;

		unw_get_reg(&cursor, UNW_REG_IP, &ip);
		oracle[oracle_count++] = ip;
	} while (oracle_count < DEPTH && unw_step(&cursor) > 0);
}

__attribute__((noinline)) void chain_hit(void)
{
	struct sp_snapshot s;

	snapshot_here(&s, (uint64_t)pthread_self());
	sp_unwind(unwinder, &s, frames, DEPTH, &result);
	ask_libunwind();
}

static void *thread(void *arg)
{
	chain_start(*(int *)arg);
	return NULL;
}

/* Both lists are equal from chain_hit's caller on; how they got there differs by design. */
static void same_as_libunwind(int depth)
{
	int ours = (int)result.count, theirs = oracle_count;

	cr_assert_eq(result.status, SP_UNWIND_COMPLETE, "depth %d: %s (%s)", depth,
		sp_unwind_status_text(result.status), sp_unwind_reason_text(result.reason));
	while (theirs > 0 && oracle[theirs - 1] == 0)
		theirs--;
	cr_assert(ours > depth && theirs > depth);
	for (int i = 1; i < ours - 3 && i < theirs - 3; i++)
		cr_assert_eq(frames[ours - i].pc, oracle[theirs - i],
			"depth %d: frame %d from the bottom is %lx, libunwind says %lx", depth, i,
			(long)frames[ours - i].pc, (long)oracle[theirs - i]);
	cr_assert(abs(ours - theirs) <= 3, "%d frames, libunwind has %d", ours, theirs);
}

static void set_up(void)
{
	stack_copy = malloc(STACK_MAX);
	cr_assert_eq(sp_mem_live_new(&live, 0, NULL), 0);
	cr_assert_eq(sp_modules_new(&modules, sp_mem_live_mem(live)), 0);
	cr_assert(sp_modules_refresh(modules, true) > 0);
	cr_assert_eq(sp_unwinder_new(&unwinder, sp_mem_live_mem(live), modules, NULL, 0), 0);
}

static void tear_down(void)
{
	sp_unwinder_free(unwinder);
	sp_modules_free(modules);
	sp_mem_live_free(live);
	free(stack_copy);
}

Test(native, known_chain_has_every_frame, .init = set_up, .fini = tear_down)
{
	for (int depth = 1; depth < 64; depth += 7) {
		pthread_t t;

		cr_assert_eq(pthread_create(&t, NULL, thread, &depth), 0);
		pthread_join(t, NULL);
		sp_mem_live_refresh(live);
		same_as_libunwind(depth);
	}
}

/* As zstd's decoders are: written by hand, all registers and some arguments pushed, no unwind row.
 */
__asm__(".text\nrowless:\n"
	"push %rax\npush %rbx\npush %rcx\npush %rdx\npush %rbp\npush %rsi\npush %rdi\n"
	"push %r8\npush %r9\npush %r10\npush %r11\npush %r12\npush %r13\npush %r14\npush %r15\n"
	"push %rdi\nsub $24, %rsp\nxor %ebp, %ebp\nxor %ebx, %ebx\nint3\nadd $32, %rsp\n"
	"pop %r15\npop %r14\npop %r13\npop %r12\npop %r11\npop %r10\npop %r9\npop %r8\n"
	"pop %rdi\npop %rsi\npop %rbp\npop %rdx\npop %rcx\npop %rbx\npop %rax\nret\n");
void rowless(void);

static void on_trap(int sig, siginfo_t *info, void *context)
{
	struct sp_snapshot s;

	(void)sig, (void)info;
	snapshot_of(&s, context, (uint64_t)pthread_self());
	sp_unwind(unwinder, &s, frames, DEPTH, &result);
}

__attribute__((optimize("O2", "omit-frame-pointer"))) static void *trapped(void *arg)
{
	void (*volatile call)(void) = rowless;

	call();
	return arg;
}

Test(native, hand_written_code_without_a_row, .init = set_up, .fini = tear_down)
{
	struct sigaction sa = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	pthread_t t;

	cr_assert_eq(sigaction(SIGTRAP, &sa, NULL), 0);
	cr_assert_eq(pthread_create(&t, NULL, trapped, NULL), 0);
	pthread_join(t, NULL);
	cr_assert_eq(result.status, SP_UNWIND_COMPLETE, "%s", sp_unwind_reason_text(result.reason));
	cr_assert(result.count >= 3 && frames[1].pc - (uint64_t)(uintptr_t)trapped < 256);
}

/* Functions whose frame hangs on rbp, which is not known of a thread that sleeps: the frame's size
 * is in their first instructions. They are called through a register, so that no call instruction
 * names them. */
__asm__(".text\nsmall_frame:\n.cfi_startproc\nendbr64\npush %rbp\n.cfi_def_cfa_offset "
	"16\n.cfi_offset 6, -16\n"
	"mov %rsp, %rbp\n.cfi_def_cfa_register 6\npush %r12\npush %rbx\nsub $64, %rsp\nint3\n"
	"add $64, %rsp\npop %rbx\npop %r12\npop %rbp\n.cfi_def_cfa 7, 8\nret\n.cfi_endproc\n"
	"large_frame:\n.cfi_startproc\npush %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset 6, -16\n"
	"mov %rsp, %rbp\n.cfi_def_cfa_register 6\nmov %edi, %eax\nsub $0x1230, %rsp\nint3\n"
	"leave\n.cfi_def_cfa 7, 8\nret\n.cfi_endproc\n");
void small_frame(void);
void large_frame(void);

static void on_trap_asleep(int sig, siginfo_t *info, void *context)
{
	struct sp_snapshot s;

	(void)sig, (void)info;
	snapshot_of(&s, context, (uint64_t)pthread_self());
	s.known = 1u << SP_REG_RSP | 1u << SP_REG_PC;
	sp_unwind(unwinder, &s, frames, DEPTH, &result);
}

__attribute__((optimize("O2", "omit-frame-pointer"))) static void *trapped_asleep(void *arg)
{
	void (*volatile call)(void);

	memcpy((void *)&call, arg, sizeof(call));
	call();
	return arg;
}

Test(native, frames_of_which_only_the_stack_pointer_is_known, .init = set_up, .fini = tear_down)
{
	struct sigaction sa = {.sa_sigaction = on_trap_asleep, .sa_flags = SA_SIGINFO};
	void (*functions[])(void) = {small_frame, large_frame};

	cr_assert_eq(sigaction(SIGTRAP, &sa, NULL), 0);
	for (int i = 0; i < 2; i++) {
		pthread_t t;

		cr_assert_eq(pthread_create(&t, NULL, trapped_asleep, &functions[i]), 0);
		pthread_join(t, NULL);
		sp_mem_live_refresh(live);
		cr_assert(result.count >= 3, "%d: %u frames, %s", i, result.count,
			sp_unwind_reason_text(result.reason));
		cr_assert(frames[1].pc - (uint64_t)(uintptr_t)trapped_asleep < 256, "%d", i);
	}
}

/* A library's file that is mapped as data just below the library, as those who look for symbols do.
 */
Test(native, a_file_below_its_image_is_not_its_beginning, .init = set_up, .fini = tear_down)
{
	struct sp_module libc = *sp_modules_by_name(modules, "libc.so");
	SP_AUTO_BUF struct sp_buf maps;
	struct sp_buf with;
	char *at, *line, start[32];
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	sp_buf_init(&maps);
	sp_buf_init(&with);
	cr_assert_eq(sp_buf_read_fd(&maps, fd, 1 << 20), 0);
	close(fd);
	snprintf(start, sizeof(start), "%lx-", (long)libc.start);
	at = strstr(sp_buf_str(&maps), start);
	cr_assert(at);
	line = strndup(at, (size_t)(strchr(at, '\n') - at));
	sp_buf_add(&with, maps.data, (size_t)(at - maps.data));
	sp_buf_addf(&with, "%lx-%lx r--p 00000000%s\n", (long)libc.start - 0x21000,
		(long)libc.start, strchr(strchr(strchr(line, ' ') + 1, ' ') + 1, ' '));
	sp_buf_adds(&with, at);
	cr_assert(sp_modules_parse(modules, with.data, with.len) >= 0);
	cr_assert_eq(sp_modules_by_name(modules, "libc.so")->start, libc.start);
	cr_assert_eq(sp_modules_by_name(modules, "libc.so")->base, libc.base);
	cr_assert_eq(sp_modules_by_name(modules, "libc.so")->id, libc.id);
	sp_buf_done(&with);
	free(line);
}

Test(native, modules_know_build_ids_and_symbols, .init = set_up, .fini = tear_down)
{
	const struct sp_module *libc = sp_modules_by_name(modules, "libc.so");
	const struct sp_module *vdso = sp_modules_by_name(modules, "[vdso]");
	char name[64];

	cr_assert(libc && vdso);
	cr_assert(libc->build_id_len > 0 && vdso->eh_frame_hdr);
	cr_assert_eq(sp_modules_symbol(modules, libc, "lfind"), (uint64_t)(uintptr_t)&lfind);
	cr_assert_eq(sp_modules_symbol(modules, libc, "no such symbol"), 0);
	cr_assert_eq(sp_modules_name(modules, (uint64_t)(uintptr_t)&lfind, name, sizeof(name)), 0);
	cr_assert_str_eq(name, "lfind");
	cr_assert(!sp_modules_find(modules, 0) && !sp_modules_find(modules, ~0ull));
	cr_assert_eq(sp_modules_refresh(modules, false), 0, "nothing was loaded");
}

Test(native, memory_that_is_not_there_is_an_error, .init = set_up, .fini = tear_down)
{
	const struct sp_mem *mem = sp_mem_live_mem(live);
	struct sp_mem_stats stats;
	uint64_t word;

	cr_assert(!sp_mem_u64(mem, 0, &word) && !sp_mem_u64(mem, 8, &word));
	cr_assert(!sp_mem_u64(mem, ~0ull - 3, &word) && !sp_mem_u64(mem, 0x7ffffffff000, &word));
	cr_assert(sp_mem_u64(mem, (uint64_t)(uintptr_t)&stats, &word));
	sp_mem_live_stats(live, &stats);
	cr_assert(stats.faults >= 1 && stats.bytes < (1u << 20));
}

/* Whether a read needs no system call, right after all that was kept has been forgotten. */
static bool is_read_directly(const uint64_t *at)
{
	const struct sp_mem *mem = sp_mem_live_mem(live);
	struct sp_mem_stats before, after;
	uint64_t word = 0;

	sp_mem_live_refresh(live);
	sp_mem_live_stats(live, &before);
	cr_assert(sp_mem_u64(mem, (uint64_t)(uintptr_t)at, &word) && word == *at);
	sp_mem_live_stats(live, &after);
	cr_assert_eq(after.reads, before.reads + 1);
	return after.hits == before.hits + 1;
}

static void stays(const uint64_t *from, const uint64_t *to)
{
	const struct sp_mem *mem = sp_mem_live_mem(live);

	mem->stable(mem->ctx, (uint64_t)(uintptr_t)from, (uint64_t)(uintptr_t)to);
}

Test(native, ranges_that_stay_are_read_directly, .init = set_up, .fini = tear_down)
{
	enum { RANGES = 32, EACH = 16 }; /* so many are kept */
	static uint64_t words[(RANGES + 2) * EACH];

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		words[i] = 0x1000 + i;
	cr_assert(!is_read_directly(words));
	for (int i = 0; i < RANGES + 2; i++)
		stays(words + i, words + i); /* empty ones take no room */
	stays(words, words + EACH / 2);
	cr_assert(is_read_directly(words) && is_read_directly(words + EACH / 2 - 1));
	cr_assert(!is_read_directly(words + EACH / 2));
	stays(words, words + EACH); /* it grew */
	for (int i = 1; i < RANGES + 2; i++)
		stays(words + i * EACH, words + (i + 1) * EACH);
	for (int i = 0; i < RANGES + 2; i++)
		cr_assert_eq(is_read_directly(words + i * EACH + EACH - 1), i < RANGES, "%d", i);
}
