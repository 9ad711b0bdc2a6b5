/* See other_agents.h: a library that has one of the JVM's entry points for agents is one. The JDK's
 * own are no strangers. */
#include "other_agents.h"

#include "base/cleanup.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARIES 1024

struct found {
	char *paths[LIBRARIES];
	size_t count;
};

static int list_library(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct found *f = ctx;

	if (info->dlpi_name[0] == '/' && f->count < LIBRARIES &&
		(f->paths[f->count] = strdup(info->dlpi_name)))
		f->count++;
	return 0;
}

/* dlsym() looks into the libraries that it needs, too: they are not it. */
static bool is_agent(const char *path)
{
	static const char *const entries[] = {"Agent_OnAttach", "Agent_OnLoad"};
	void *lib = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	bool yes = false;

	for (size_t i = 0; lib && i < SP_COUNT(entries) && !yes; i++) {
		void *entry = dlsym(lib, entries[i]);
		Dl_info where;

		yes = entry && dladdr(entry, &where) && strcmp(where.dli_fname, path) == 0;
	}
	if (lib)
		dlclose(lib);
	return yes;
}

static bool is_stranger(const char *path)
{
	static const char *const jdk[] = {
		"libinstrument.so", "libjdwp.so", "libmanagement_agent.so"};
	const char *name = strrchr(path, '/') + 1;
	Dl_info self;

	if (dladdr((void *)sp_other_agents, &self) && strcmp(self.dli_fname, path) == 0)
		return false;
	for (size_t i = 0; i < SP_COUNT(jdk); i++)
		if (strcmp(jdk[i], name) == 0)
			return false;
	return is_agent(path);
}

int sp_other_agents(char *ret, size_t size)
{
	SP_AUTO_FREE struct found *f = calloc(1, sizeof(*f));
	size_t used = 0;
	int count = 0;

	ret[0] = '\0';
	if (!f)
		return 0;
	/* The loader is locked meanwhile: only names are taken. */
	dl_iterate_phdr(list_library, f);
	for (size_t i = 0; i < f->count; i++) {
		if (is_stranger(f->paths[i])) {
			snprintf(ret + used, size - used, "%s%s", count++ ? ", " : "",
				strrchr(f->paths[i], '/') + 1);
			used = strlen(ret);
		}
		free(f->paths[i]);
	}
	return count;
}
