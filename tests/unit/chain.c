#include "chain.h"

#include <alloca.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone, optimize("O2", "omit-frame-pointer")))

static volatile int sink;

static NOINLINE void handler(int sig)
{
	sink += sig;
	chain_hit();
	sink++;
}

static NOINLINE void raise_it(int n)
{
	struct sigaction sa = {.sa_handler = handler};

	sigaction(SIGUSR2, &sa, NULL);
	raise(SIGUSR2);
	sink += n;
}

/* an over-aligned local makes the compiler realign the stack (DRAP) */
static NOINLINE void realigned(int n)
{
	__attribute__((aligned(64))) volatile char buf[128];

	memset((char *)buf, n, sizeof(buf));
	raise_it(n + buf[5]);
	sink += buf[7];
}

static NOINLINE void dynamic(int n)
{
	char *p = alloca((unsigned)n * 16 + 16);

	memset(p, n, 16);
	realigned(n + p[3]);
	sink += p[1];
}

static int depth_left;

static NOINLINE int compare(const void *a, const void *b)
{
	if (depth_left > 0) {
		int n = depth_left;

		depth_left = 0;
		dynamic(n);
	}
	return *(const int *)a - *(const int *)b;
}

NOINLINE void chain_middle(int depth)
{
	int v[4] = {4, 2, 3, 1};

	depth_left = depth + 1;
	qsort(v, 4, sizeof(v[0]), compare);
	sink += v[0];
}

static NOINLINE void recurse(int n, int depth)
{
	if (n == 0)
		chain_cpp(depth);
	else
		recurse(n - 1, depth);
	sink += n;
}

NOINLINE void chain_start(int depth)
{
	recurse(depth, depth);
	sink++;
}
