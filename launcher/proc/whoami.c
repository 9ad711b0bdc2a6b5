/* See who.h. */
#include "who.h"
#include "proc.h"
#include "base/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

void sp_who_am_i(char ret[SP_WHO_LEN])
{
	struct utsname host = {.nodename = "?"};
	SP_AUTO_CLOSE int passwd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	char user[64];

	uname(&host);
	sp_proc_user_name(passwd, getuid(), user, sizeof(user));
	snprintf(
		ret, SP_WHO_LEN, "pid %d, user %s, host %.64s", (int)getpid(), user, host.nodename);
}
