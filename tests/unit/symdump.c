/* Not a test: shows what src/elf says, for tests/cli/test_symbols.py to compare with nm and
 * c++filt. symdump symbols FILE          "address name" per function symdump demangle full|short
 * names from standard input, one a line */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/demangle.h"
#include "elf/symtab.h"

static int symbols(const char *path)
{
	SP_AUTO_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct sp_symtab_source src = {.root_fd = root, .host_fd = -1, .path = path};
	struct sp_symtab *t;
	struct sp_err err;
	const char *name;
	uint64_t addr;

	if (sp_symtab_open(&src, &t, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	printf("# %zu functions in %zu bytes from %s\n", sp_symtab_count(t), sp_symtab_bytes(t),
		sp_symtab_origin(t));
	for (size_t i = 0; sp_symtab_get(t, i, &addr, &name); i++)
		printf("%" PRIx64 " %s\n", addr, name);
	sp_symtab_free(t);
	return 0;
}

static int demangle(bool full)
{
	SP_AUTO_BUF struct sp_buf out;
	SP_AUTO_FREE char *line = NULL;
	size_t cap = 0;

	sp_buf_init(&out);
	while (getline(&line, &cap, stdin) > 0) {
		line[strcspn(line, "\n")] = 0;
		sp_buf_clear(&out);
		puts(sp_demangle(line, full, &out) == 0 ? sp_buf_str(&out) : line);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "symbols") == 0)
		return symbols(argv[2]);
	if (argc == 3 && strcmp(argv[1], "demangle") == 0)
		return demangle(strcmp(argv[2], "full") == 0);
	return 2;
}
