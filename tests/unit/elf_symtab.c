/* Names of functions from a file's symbol table: of this very program. */
#include "host/elf_symtab.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

static __attribute__((noinline)) int nobody_exports_me(int n)
{
	return n * 3 + getppid();
}

static int first(struct dl_phdr_info *info, size_t size, void *ctx)
{
	*(uint64_t *)ctx = info->dlpi_addr;
	return 1;
}

static uint64_t offset_of(const void *function)
{
	uint64_t base = 0;

	dl_iterate_phdr(first, &base);
	return (uint64_t)function - base;
}

static int find(const struct sp_module *m, uint64_t offset, char *ret, size_t size)
{
	struct sp_elf_symtab *f;
	int r;

	cr_assert_eq(sp_elf_symtab_new(&f), 0);
	r = sp_elf_symtab_find(f, m, offset, ret, size);
	sp_elf_symtab_free(f);
	return r;
}

Test(elf_symtab, a_static_function_has_its_name)
{
	struct sp_module m = {.path = "/proc/self/exe", .id = 7};
	char name[64] = "", cut[8] = "";

	cr_assert_eq(nobody_exports_me(1), 3 + getppid());
	cr_expect_eq(find(&m, offset_of((void *)nobody_exports_me) + 1, name, sizeof(name)), 0);
	cr_expect_str_eq(name, "nobody_exports_me");
	cr_expect_eq(find(&m, offset_of((void *)nobody_exports_me), cut, sizeof(cut)), 0);
	cr_expect_str_eq(cut, "nobody_");
	cr_expect_eq(find(&m, 1ull << 50, name, sizeof(name)), -ENOENT);
	cr_expect_eq(find(&m, 0, name, sizeof(name)), -ENOENT);
}

Test(elf_symtab, another_build_or_no_file_gives_none)
{
	struct sp_module m = {.path = "/proc/self/exe", .build_id_len = 20};
	struct sp_module gone = {.path = "/no/such/file"};
	struct sp_module text = {.path = "/proc/self/maps"};
	uint64_t at = offset_of((void *)nobody_exports_me);
	char name[64];

	cr_expect_eq(find(&m, at, name, sizeof(name)), -ENOENT);
	cr_expect_eq(find(&gone, at, name, sizeof(name)), -ENOENT);
	cr_expect_eq(find(&text, at, name, sizeof(name)), -ENOENT);
}

/* Cut at many places, and with bytes turned: it may find less, and must not read beyond. */
Test(elf_symtab, a_damaged_file_is_survived)
{
	char path[] = "/tmp/funcnames-XXXXXX", name[64];
	int from = open("/proc/self/exe", O_RDONLY), to = mkstemp(path);
	off_t len = lseek(from, 0, SEEK_END);
	uint8_t *all = malloc((size_t)len);
	uint64_t at = offset_of((void *)nobody_exports_me);

	cr_assert(all && pread(from, all, (size_t)len, 0) == len);
	for (uint32_t id = 0; id < 200; id++) {
		struct sp_module m = {.path = path, .id = id};
		off_t keep = id < 100 ? len * id / 100 : len;
		size_t hit = id < 100 ? 0 : id % 64; /* the ELF header */

		all[hit] ^= id < 100 ? 0 : 0xff;
		cr_assert(pwrite(to, all, (size_t)keep, 0) == keep && ftruncate(to, keep) == 0);
		(void)find(&m, at, name, sizeof(name));
		all[hit] ^= id < 100 ? 0 : 0xff;
	}
	unlink(path);
	free(all);
	close(from);
	close(to);
}

/* As strip and cp do with a library that is in use: its code stays, its symbols go. */
Test(elf_symtab, a_file_that_is_cut_while_it_is_in_use)
{
	char path[] = "/tmp/funcnames-XXXXXX", name[64];
	int from = open("/proc/self/exe", O_RDONLY), to = mkstemp(path);
	struct sp_module m = {.path = path, .id = 3};
	uint64_t at = offset_of((void *)nobody_exports_me);
	struct sp_elf_symtab *f;

	while (sendfile(to, from, NULL, 1 << 20) > 0)
		;
	cr_assert_eq(sp_elf_symtab_new(&f), 0);
	cr_assert_eq(sp_elf_symtab_find(f, &m, at, name, sizeof(name)), 0);
	cr_expect_str_eq(name, "nobody_exports_me");
	cr_assert_eq(ftruncate(to, 4096), 0);
	cr_expect_eq(sp_elf_symtab_find(f, &m, at, name, sizeof(name)), -ENOENT);
	sp_elf_symtab_free(f);
	unlink(path);
	close(from);
	close(to);
}
