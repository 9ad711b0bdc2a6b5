/* A library that the loader relocates for two seconds, unless somebody writes into its table
 * meanwhile. Called as tests/jvm/native/opener.c calls: it says whether somebody did. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

static int touched;

static void *entry(void)
{
	void *p;

	__asm__ volatile("mov malloc@GOTPCREL(%%rip), %0" : "=r"(p));
	return p;
}

/* No function can be called yet. */
static void pause_a_moment(void)
{
	struct timespec moment = {0, 10000000};
	long r = SYS_nanosleep;

	__asm__ volatile("syscall" : "+a"(r) : "D"(&moment), "S"(NULL) : "rcx", "r11", "memory");
}

static long allocate(long count, long size, long every)
{
	free(malloc(1));
	return printf("touched %d\n", touched);
}

static long (*resolve(void))(long, long, long)
{
	void *before = entry();

	for (int i = 0; i < 200 && !touched; i++) {
		pause_a_moment();
		touched = entry() != before;
	}
	return allocate;
}

static long chosen(long count, long size, long every) __attribute__((ifunc("resolve")));

long allocate_some(long count, long size, long every)
{
	return chosen(count, size, every);
}
