/* Guests in a JVM's control group: see cgroup_guest.h. */
#include "cgroup_guest.h"

#include "base/cgroup.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_java(const char *pid)
{
	char path[64], exe[4096];
	const char *slash;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/exe", pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	if (n < 0)
		return false;
	exe[n] = '\0';
	slash = strrchr(exe, '/');
	return slash && strcmp(slash + 1, "java") == 0;
}

bool sp_cgroup_guest_of_jvm(void)
{
	DIR *proc = opendir("/proc");
	bool guest = false;
	struct dirent *d;

	while (proc && !guest && (d = readdir(proc))) {
		pid_t pid = (pid_t)atoi(d->d_name);

		guest = isdigit((unsigned char)d->d_name[0]) && is_java(d->d_name) &&
			sp_cgroup_is_guest(pid) && sp_cgroup_is_limited(pid);
	}
	if (proc)
		closedir(proc);
	return guest;
}
