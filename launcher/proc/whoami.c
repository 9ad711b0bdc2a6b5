/* See whoami.h. */
#include "whoami.h"
#include "base/cleanup.h"
#include "proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

void sp_whoami(char ret[SP_WHO_LEN])
{
	struct utsname host = {.nodename = "?"};
	SP_AUTO_CLOSE int passwd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	char user[64];

	uname(&host);
	sp_proc_user_name(passwd, getuid(), user, sizeof(user));
	snprintf(
		ret, SP_WHO_LEN, "pid %d, user %s, host %.64s", (int)getpid(), user, host.nodename);
}
