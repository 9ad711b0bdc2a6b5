/* See who.h. */
#include "who.h"
#include "base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The name of @uid in /etc/passwd, else its number: getpwuid would load NSS modules. */
static void user_name(uid_t uid, char *ret, size_t cap)
{
	SP_AUTO_FCLOSE FILE *f = fopen("/etc/passwd", "re");
	char line[512], name[64];
	unsigned id;

	snprintf(ret, cap, "%u", (unsigned)uid);
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63[^:]:%*[^:]:%u", name, &id) == 2 && id == uid) {
			snprintf(ret, cap, "%s", name);
			return;
		}
}

void sp_who_am_i(char ret[SP_WHO_LEN])
{
	struct utsname host = {.nodename = "?"};
	char user[64];

	uname(&host);
	user_name(getuid(), user, sizeof(user));
	snprintf(
		ret, SP_WHO_LEN, "pid %d, user %s, host %.64s", (int)getpid(), user, host.nodename);
}
