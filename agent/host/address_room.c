/* See address_room.h. */
#include "address_room.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The first and the sixth number of statm (proc(5)), in bytes: everything, and what RLIMIT_DATA
 * counts. */
static bool read_mapped(uint64_t *ret_all, uint64_t *ret_data)
{
	SP_AUTO_CLOSE int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), number[6];
	char text[256], *at = text;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return false;
	text[n] = '\0';
	for (int i = 0; i < 6; i++)
		number[i] = strtoull(at, &at, 10);
	*ret_all = number[0] * page;
	*ret_data = number[5] * page;
	return number[0] > 0;
}

static uint64_t room_below(int which, uint64_t used)
{
	struct rlimit limit;

	if (getrlimit(which, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

uint64_t sp_address_room(void)
{
	uint64_t all, data, below_all, below_data;

	if (!read_mapped(&all, &data))
		return UINT64_MAX;
	below_all = room_below(RLIMIT_AS, all);
	below_data = room_below(RLIMIT_DATA, data);
	return below_all < below_data ? below_all : below_data;
}
