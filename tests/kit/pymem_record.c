/* pymem_record PID FILE: what the Python reader reads of a process, for tests that read it again
 * without one. FILE: minor version and address of _PyRuntime, then blocks of memory. */
#include "py/find_runtime.h"
#include "py/pyspark_task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64, BLOCKS = 1 << 16 };

static struct {
	uint64_t addr;
	uint8_t bytes[BLOCK];
} blocks[BLOCKS];
static size_t count;
static struct sp_pymem_process process;

static void keep(uint64_t addr)
{
	for (size_t i = 0; i < count; i++)
		if (blocks[i].addr == addr)
			return;
	if (count < BLOCKS &&
		sp_pymem_process(
			&process, &(struct sp_pyspan){addr, blocks[count].bytes, BLOCK}, 1) == 1)
		blocks[count++].addr = addr;
}

static int read_and_keep(void *ctx, const struct sp_pyspan *spans, size_t n)
{
	int got = sp_pymem_process(&process, spans, n);

	for (int i = 0; i < got; i++)
		for (uint64_t at = spans[i].addr & -(uint64_t)BLOCK;
			at < spans[i].addr + spans[i].len; at += BLOCK)
			keep(at);
	return got;
}

int main(int argc, char **argv)
{
	struct sp_pymem mem = {read_and_keep, NULL};
	struct sp_pyreader r;
	struct sp_pyruntime place;
	struct sp_err err = {""};
	static struct sp_pystack stack;
	uint64_t head[2];
	FILE *f;

	process.pid = atoi(argv[1]);
	if (sp_pyruntime_find(&process, &place, &err) < 0 ||
		sp_pyreader_init(&r, &mem, place.runtime, place.minor) < 0 ||
		sp_pyreader_threads(&r) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (size_t i = 0; i < r.thread_count; i++)
		sp_pyreader_stack(&r, i, &stack);
	head[0] = place.minor;
	head[1] = place.runtime;
	f = fopen(argv[2], "w");
	fwrite(head, sizeof(head), 1, f);
	fwrite(blocks, sizeof(blocks[0]), count, f);
	sp_pyreader_done(&r);
	return fclose(f) != 0;
}
