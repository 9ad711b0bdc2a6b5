/* Reading /proc/kallsyms: "ffffffff81000000 T name [module]" per line. */
#include "elf/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "elf/symtab_table.h"

#define KALLSYMS_MAX (64u << 20)

struct counts {
	size_t code, hidden;
};

/* Returns 0 or -ENOMEM; a line that is no symbol is skipped. */
static int add_line(struct sp_symtab *t, const char *line, size_t len, struct counts *n)
{
	uint64_t addr = 0;
	size_t i = 0, end;

	for (; i < len && i < 16; i++) {
		const char *digits = "0123456789abcdef";
		const char *d = line[i] ? strchr(digits, line[i]) : NULL;

		if (!d)
			break;
		addr = addr << 4 | (uint64_t)(d - digits);
	}
	if (i == 0 || len < i + 4 || line[i] != ' ' || line[i + 2] != ' ')
		return 0;
	if (!strchr("tTwW", line[i + 1]))
		return 0;
	n->code++;
	if (addr == 0) {
		n->hidden++;
		return 0;
	}
	for (end = i + 3; end < len && line[end] != '\t' && line[end] != ' ';)
		end++;
	return sp_symtab_add(
		t, addr, 0, 0, line + i + 3, end - i - 3, strchr("TW", line[i + 1]) ? 0 : 1);
}

static int parse_lines(struct sp_symtab *t, const struct sp_buf *text, struct counts *n)
{
	const char *p = text->data, *end = p + text->len;
	int r = 0;

	while (r == 0 && p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));

		if (!nl)
			nl = end;
		r = add_line(t, p, (size_t)(nl - p), n);
		p = nl + 1;
	}
	return r < 0 ? r : sp_symtab_finish(t);
}

int sp_kallsyms_open(const char *path, struct sp_symtab **ret, struct sp_err *err)
{
	SP_AUTO_CLOSE int fd = -1;
	SP_AUTO_BUF struct sp_buf text;
	struct counts n = {0, 0};
	struct sp_symtab *t;
	int r;

	sp_buf_init(&text);
	if (!path)
		path = "/proc/kallsyms";
	fd = open(path, O_RDONLY | O_CLOEXEC);
	r = fd < 0 ? -errno : sp_buf_read_fd(&text, fd, KALLSYMS_MAX);
	if (r < 0)
		return sp_err_set(
			err, r, "no names for kernel functions: %s: %s", path, strerror(-r));
	r = sp_symtab_new(&t);
	if (r == 0 && (r = parse_lines(t, &text, &n)) < 0)
		sp_symtab_free(t);
	if (r < 0)
		return sp_err_set(err, r, "not enough memory for the kernel's symbols");
	if (t->count == 0) {
		sp_symtab_free(t);
		if (n.hidden > 0)
			return sp_err_set(err, -EPERM,
				"kernel functions have no names: the kernel hides their addresses "
				"(kernel.kptr_restrict); run as root, or sysctl "
				"kernel.kptr_restrict=0");
		return sp_err_set(err, -ENOENT, "no names for kernel functions: %s is empty", path);
	}
	sp_buf_adds(&t->origin, path);
	*ret = t;
	return 0;
}
