/* See own_memory.h. */
#include "own_memory.h"

#include "base/filtered.h"
#include "sig/memory_read.h"

#include <fcntl.h>

static bool call_works(void)
{
	uint64_t word = 1, got = 0;
	struct iovec to = {&got, sizeof(got)}, from = {&word, sizeof(word)};

	return !sp_filtered() &&
	       process_vm_readv(sp_sig.memory_pid, &to, 1, &from, 1, 0) == sizeof(got);
}

void sp_own_memory_open(void)
{
	int fd;

	sp_sig.memory_pid = getpid();
	if (call_works()) {
		atomic_store(&sp_sig.memory, SP_SIG_MEMORY_CALL);
		return;
	}
	fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	atomic_store(&sp_sig.memory, fd < 0 ? SP_SIG_MEMORY_NONE : fd + 1);
}

void sp_own_memory_close(void)
{
	int32_t way = atomic_exchange(&sp_sig.memory, SP_SIG_MEMORY_NONE);

	if (way > 0)
		close(way - 1);
}
