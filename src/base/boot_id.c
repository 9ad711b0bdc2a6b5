/* See boot_id.h. */
#include "base/boot_id.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int sp_boot_id(char ret[static SP_BOOT_ID])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC), n = 0;
	char text[64];
	ssize_t len;

	ret[0] = 0;
	if (fd < 0)
		return -errno;
	len = read(fd, text, sizeof(text));
	close(fd);
	for (ssize_t i = 0; i < len && n < SP_BOOT_ID - 1; i++)
		if ((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f'))
			ret[n++] = text[i];
	ret[n] = 0;
	if (n == SP_BOOT_ID - 1)
		return 0;
	ret[0] = 0;
	return -ENODATA;
}
