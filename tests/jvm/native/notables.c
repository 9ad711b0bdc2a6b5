/* Native methods without unwind tables, for NoTables.java: compiled without them, or written in
 * assembler without a word of CFI. */
#include <jni.h>

static volatile jlong sink;

#define NOINLINE __attribute__((noinline))

static NOINLINE jlong innermost(jlong n)
{
	jlong x = n;

	for (jlong i = 0; i < n; i++)
		x = x * 6364136223846793005L + 1442695040888963407L;
	return x;
}

static NOINLINE jlong middle(jlong n)
{
	volatile char room[300];

	room[n & 255] = 1;
	return innermost(n) + room[n & 255];
}

JNIEXPORT jlong JNICALL Java_NoTables_nested(JNIEnv *env, jclass c, jlong n)
{
	return sink = middle(n) + 1;
}

#pragma GCC push_options
#pragma GCC optimize("no-omit-frame-pointer")
static NOINLINE jlong framed_middle(jlong n)
{
	return innermost(n) + 1;
}

JNIEXPORT jlong JNICALL Java_NoTables_framed(JNIEnv *env, jclass c, jlong n)
{
	return sink = framed_middle(n) + 1;
}
#pragma GCC pop_options

/* stale: its frame holds whatever earlier calls left there.
 * planted: it holds what looks like return addresses: of the caller of this function, and of one
 * (never) that does not call it. clobbered: the frame pointer is a loop counter. sleep: waits n
 * nanoseconds in a system call. */
__asm__(".text\n"
	".globl Java_NoTables_stale\n"
	".type Java_NoTables_stale, @function\n"
	"Java_NoTables_stale:\n"
	"	sub $2048, %rsp\n"
	"1:	dec %rdx\n"
	"	jnz 1b\n"
	"	add $2048, %rsp\n"
	"	ret\n"
	".size Java_NoTables_stale, .-Java_NoTables_stale\n"

	".globl never\n"
	".type never, @function\n"
	"never:\n"
	"	call *%rax\n"
	"after_call:\n"
	"	ret\n"
	".size never, .-never\n"

	".globl Java_NoTables_planted\n"
	".type Java_NoTables_planted, @function\n"
	"Java_NoTables_planted:\n"
	"	sub $2048, %rsp\n"
	"	lea after_call(%rip), %rax\n"
	"	mov %rax, (%rsp)\n"
	"	mov 2048(%rsp), %rax\n"
	"	mov %rax, 8(%rsp)\n"
	"	mov %rax, 24(%rsp)\n"
	"1:	dec %rdx\n"
	"	jnz 1b\n"
	"	add $2048, %rsp\n"
	"	ret\n"
	".size Java_NoTables_planted, .-Java_NoTables_planted\n"

	".globl Java_NoTables_clobbered\n"
	".type Java_NoTables_clobbered, @function\n"
	"Java_NoTables_clobbered:\n"
	"	push %rbp\n"
	"	sub $2048, %rsp\n"
	"	mov %rdx, %rbp\n"
	"1:	dec %rbp\n"
	"	jnz 1b\n"
	"	add $2048, %rsp\n"
	"	pop %rbp\n"
	"	ret\n"
	".size Java_NoTables_clobbered, .-Java_NoTables_clobbered\n"

	".globl Java_NoTables_sleep\n"
	".type Java_NoTables_sleep, @function\n"
	"Java_NoTables_sleep:\n"
	"	sub $2072, %rsp\n"
	"	movq $0, (%rsp)\n"
	"	mov %rdx, 8(%rsp)\n"
	"	mov %rsp, %rdi\n"
	"	xor %esi, %esi\n"
	"	mov $35, %eax\n"
	"	syscall\n"
	"	add $2072, %rsp\n"
	"	ret\n"
	".size Java_NoTables_sleep, .-Java_NoTables_sleep\n");
