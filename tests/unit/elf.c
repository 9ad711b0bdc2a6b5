/* Symbols of real ELF files that the test builds with gcc, objcopy, strip and xz. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libelf.h>
#include <gelf.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/boot_id.h"
#include "elf/kallsyms.h"
#include "elf/symbols.h"
#include "elf/symtab.h"

static char dir[PATH_MAX];

static int __attribute__((format(printf, 1, 2))) sh(const char *fmt, ...)
{
	SP_AUTO_FREE char *cmd = NULL, *full = NULL;
	va_list ap;

	va_start(ap, fmt);
	cr_assert(vasprintf(&cmd, fmt, ap) > 0);
	va_end(ap);
	cr_assert(asprintf(&full, "cd '%s' && { %s; } >log 2>&1", dir, cmd) > 0);
	return system(full);
}

static void must(const char *cmd)
{
	cr_assert(sh("%s", cmd) == 0, "%s (in %s)", cmd, dir);
}

/* lib.so: an exported and a local function, 64 bytes of code at least, with debug information. */
static void setup(void)
{
	snprintf(dir, sizeof(dir), "/tmp/sparkprof-elf-XXXXXX");
	cr_assert(mkdtemp(dir));
	must("printf '%s\\n' 'int v; __attribute__((noinline)) static int hidden_one(int x) "
	     "{ for (int i = 0; i < x; i++) v += i * v; return v; }' "
	     "'int shown_one(int x) { return hidden_one(x) + hidden_one(x + 1); }' >lib.c");
	must("gcc -g -O1 -fPIC -shared -Wl,--build-id -o lib.so lib.c");
}

static void teardown(void)
{
	char cmd[PATH_MAX + 16];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	cr_assert(system(cmd) == 0);
}

TestSuite(elf, .init = setup, .fini = teardown);

/* Opens @name below the test's directory as the target's root. */
static int open_as_root(
	const char *name, const char *build_id, struct sp_symtab **ret, struct sp_err *err)
{
	SP_AUTO_CLOSE int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct sp_symtab_source src = {
		.root_fd = root, .host_fd = -1, .path = name, .build_id = build_id};

	return sp_symtab_open(&src, ret, err);
}

static bool has(const struct sp_symtab *t, const char *name)
{
	const char *s, *found;
	uint64_t addr;

	for (size_t i = 0; sp_symtab_get(t, i, &addr, &s); i++) {
		if (strcmp(s, name) != 0)
			continue;
		return sp_symtab_find(t, addr, &found) == 0 && strcmp(found, name) == 0 &&
		       sp_symtab_find(t, addr + 1, &found) == 0 && strcmp(found, name) == 0;
	}
	return false;
}

/* Opens, checks for both functions or the exported one only, and where they came from. */
static void expect(const char *name, bool hidden, const char *origin)
{
	struct sp_symtab *t = NULL;
	struct sp_err err = {""};

	cr_assert(open_as_root(name, NULL, &t, &err) == 0, "%s", err.text);
	cr_assert(has(t, "shown_one"));
	cr_assert(has(t, "hidden_one") == hidden, "%s", sp_symtab_origin(t));
	cr_assert_str_eq(sp_symtab_origin(t), origin);
	sp_symtab_free(t);
}

Test(elf, symtab_of_the_file_itself)
{
	expect("/lib.so", true, ".symtab");
}

Test(elf, stripped_file_has_its_exported_names)
{
	must("strip -s -o s.so lib.so");
	expect("s.so", false, ".dynsym");
}

Test(elf, debuglink_beside_and_in_dot_debug_and_in_usr_lib_debug)
{
	must("objcopy --only-keep-debug lib.so x.debug && strip -s -o s.so lib.so && "
	     "objcopy --add-gnu-debuglink=x.debug s.so && mkdir -p .debug usr/lib/debug/opt opt");
	expect("/s.so", true, ".dynsym and /x.debug");
	must("mv x.debug .debug/");
	expect("/s.so", true, ".dynsym and /.debug/x.debug");
	must("mv .debug/x.debug usr/lib/debug/opt/ && mv s.so opt/");
	expect("/opt/s.so", true, ".dynsym and /usr/lib/debug/opt/x.debug");
}

Test(elf, debuglink_of_another_build_is_refused)
{
	must("objcopy --only-keep-debug lib.so x.debug && strip -s -o s.so lib.so && "
	     "objcopy --add-gnu-debuglink=x.debug s.so");
	must("gcc -g -O0 -DOTHER -fPIC -shared -Wl,--build-id -o o.so lib.c && "
	     "objcopy --only-keep-debug o.so x.debug");
	expect("/s.so", false, ".dynsym");
}

Test(elf, debuglink_without_build_ids_is_checked_by_crc)
{
	must("gcc -g -O1 -fPIC -shared -Wl,--build-id=none -o n.so lib.c && "
	     "objcopy --only-keep-debug n.so x.debug && strip -s -o s.so n.so && "
	     "objcopy --add-gnu-debuglink=x.debug s.so");
	expect("/s.so", true, ".dynsym and /x.debug");
	must("printf x >>x.debug");
	expect("/s.so", false, ".dynsym");
}

Test(elf, build_id_directory)
{
	struct sp_symtab *t;
	char id[129], want[300];

	cr_assert(open_as_root("/lib.so", NULL, &t, NULL) == 0);
	snprintf(id, sizeof(id), "%s", sp_symtab_build_id(t));
	sp_symtab_free(t);
	cr_assert(strlen(id) == 40);
	snprintf(want, sizeof(want), ".dynsym and /usr/lib/debug/.build-id/%.2s/%s.debug", id,
		id + 2);
	cr_assert(sh("strip -s -o s.so lib.so && mkdir -p usr/lib/debug/.build-id/%.2s && "
		     "objcopy --only-keep-debug lib.so usr/lib/debug/.build-id/%.2s/%s.debug",
			  id, id, id + 2) == 0);
	expect("/s.so", true, want);
}

Test(elf, mini_debuginfo)
{
	/* as the gdb manual makes it: debug file without debug sections, only the symbols */
	must("objcopy --only-keep-debug lib.so m.debug && strip -g m.debug && xz -f m.debug && "
	     "strip -s -o s.so lib.so && objcopy --add-section .gnu_debugdata=m.debug.xz s.so");
	expect("/s.so", true, ".dynsym and .gnu_debugdata");
	must("head -c 300 m.debug.xz >cut.xz && strip -s -o s.so lib.so && "
	     "objcopy --add-section .gnu_debugdata=cut.xz s.so");
	expect("/s.so", false, ".dynsym");
}

Test(elf, compressed_debug_sections)
{
	must("objcopy --compress-debug-sections=zlib lib.so z.so");
	expect("/z.so", true, ".symtab");
}

/* Compresses the string table of .symtab itself, which objcopy never does. */
static void compress_strings(const char *name, unsigned type)
{
	char path[PATH_MAX + 32];
	SP_AUTO_CLOSE int fd = -1;
	Elf *e;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh_;
	size_t names;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR);
	elf_version(EV_CURRENT);
	e = elf_begin(fd, ELF_C_RDWR, NULL);
	cr_assert(e && elf_getshdrstrndx(e, &names) == 0);
	while ((scn = elf_nextscn(e, scn)) && gelf_getshdr(scn, &sh_))
		if (sh_.sh_type == SHT_STRTAB && !(sh_.sh_flags & SHF_ALLOC) &&
			elf_ndxscn(scn) != names)
			break;
	cr_assert(scn && elf_compress(scn, ELFCOMPRESS_ZLIB, ELF_CHF_FORCE) == 1);
	if (type != ELFCOMPRESS_ZLIB)
		*(uint32_t *)elf_rawdata(scn, NULL)->d_buf = type;
	cr_assert(elf_update(e, ELF_C_WRITE) > 0);
	elf_end(e);
}

Test(elf, compressed_string_table)
{
	must("strip -g -o c.so lib.so");
	compress_strings("c.so", ELFCOMPRESS_ZLIB);
	expect("/c.so", true, ".symtab");
}

Test(elf, zstd_is_named_where_there_is_nothing_else)
{
	struct sp_symtab *t;
	struct sp_err err = {""};

	must("gcc -c -o c.o lib.c"); /* an object has no .dynsym to fall back on */
	compress_strings("c.o", 2);
	cr_assert(open_as_root("/c.o", NULL, &t, &err) == -ENOTSUP);
	cr_assert(strstr(err.text, "zstd"), "%s", err.text);
}

Test(elf, only_the_mapped_file_is_believed)
{
	SP_AUTO_CLOSE int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct sp_symtab_source src = {.root_fd = root, .host_fd = -1, .path = "/lib.so"};
	char path[PATH_MAX + 32];
	struct sp_err err = {""};
	struct sp_symtab *t;
	struct stat st;

	snprintf(path, sizeof(path), "%s/lib.so", dir);
	cr_assert(stat(path, &st) == 0);
	src.dev = st.st_dev;
	src.ino = st.st_ino;
	cr_assert(sp_symtab_open(&src, &t, &err) == 0, "%s", err.text);
	src.build_id = strdup(sp_symtab_build_id(t));
	sp_symtab_free(t);
	src.ino++; /* another inode, the recorded build id: an overlay */
	cr_assert(sp_symtab_open(&src, &t, &err) == 0, "%s", err.text);
	sp_symtab_free(t);
	free((char *)src.build_id);
	src.build_id = NULL;
	cr_assert(sp_symtab_open(&src, &t, &err) == -ESTALE);
	cr_assert(strstr(err.text, "replaced"), "%s", err.text);
	src.build_id = "0011";
	src.ino--;
	cr_assert(sp_symtab_open(&src, &t, &err) == -ESTALE);
}

Test(elf, only_regular_files_inside_of_the_root)
{
	struct sp_symtab *t;
	struct sp_err err;

	must("mkfifo pipe && mkdir -p d etc && ln -s /dev/zero zero && ln -s /lib.so d/abs && "
	     "ln -s ../../../../../../../lib.so d/up && ln -s loop loop && ln -s /etc out && "
	     "ln -s /proc/self/exe magic");
	cr_assert(open_as_root("/pipe", NULL, &t, &err) == -EINVAL);
	cr_assert(open_as_root("/d", NULL, &t, &err) == -EINVAL);
	cr_assert(open_as_root("/zero", NULL, &t, &err) == -ENOENT);
	cr_assert(open_as_root("/loop", NULL, &t, &err) == -ELOOP);
	cr_assert(open_as_root("/out/passwd", NULL, &t, &err) == -ENOENT);
	cr_assert(open_as_root("/magic", NULL, &t, &err) == -ENOENT);
	expect("/d/abs", true, ".symtab");
	expect("/d/up", true, ".symtab");
}

static char *slurp(const char *name, size_t *ret_len)
{
	SP_AUTO_BUF struct sp_buf b;
	char path[PATH_MAX + 32], *s;
	SP_AUTO_CLOSE int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY);
	sp_buf_init(&b);
	cr_assert(fd >= 0 && sp_buf_read_fd(&b, fd, 1 << 24) == 0);
	s = malloc(b.len);
	memcpy(s, b.data, b.len);
	*ret_len = b.len;
	return s;
}

static void try_bytes(const char *data, size_t len)
{
	char path[PATH_MAX + 32];
	struct sp_symtab *t = NULL;
	const char *name;
	FILE *f;

	if (sp_symtab_open_image(data, len, &t, NULL) == 0) {
		for (uint64_t pc = 0; pc < 0x3000; pc += 64)
			if (sp_symtab_find(t, pc, &name) == 0)
				cr_assert_not_null(name);
		sp_symtab_free(t);
	}
	snprintf(path, sizeof(path), "%s/bad.so", dir);
	f = fopen(path, "w");
	cr_assert(f && fwrite(data, 1, len, f) == len && fclose(f) == 0);
	if (open_as_root("/bad.so", NULL, &t, NULL) == 0)
		sp_symtab_free(t);
}

Test(elf, truncation_anywhere_is_survived, .timeout = 60)
{
	size_t len;
	SP_AUTO_FREE char *data = NULL;

	must("strip -s -o s.so lib.so && strip -g -o m lib.so && xz -f m && "
	     "objcopy --add-section .gnu_debugdata=m.xz --add-gnu-debuglink=lib.so s.so");
	data = slurp("s.so", &len);
	for (size_t n = 0; n < len; n += n < 1024 || n + 4096 > len ? 7 : 61) {
		SP_AUTO_FREE char *exact =
			malloc(n + 1); /* so that ASan sees a read past the end */

		memcpy(exact, data, n);
		try_bytes(exact, n);
	}
}

/* Headers and section headers are where damage hurts: change bytes there, and anywhere. */
Test(elf, random_damage_is_survived, .timeout = 100)
{
	size_t len, n;
	SP_AUTO_FREE char *data = slurp("lib.so", &len);
	uint64_t headers;

	memcpy(&headers, data + 40, 8); /* e_shoff */
	srand(1);
	for (int round = 0; round < 3000; round++) {
		SP_AUTO_FREE char *copy = malloc(len);

		memcpy(copy, data, len);
		for (n = 0; n < 1 + (size_t)rand() % 4; n++) {
			size_t at = round % 3 == 0   ? (size_t)rand() % 1024
				    : round % 3 == 1 ? headers + (size_t)rand() % (len - headers)
						     : (size_t)rand() % len;

			copy[at] = (char)(rand() % 2 ? rand() : rand() % 2 ? 0xff : 0);
		}
		try_bytes(copy, len);
	}
}

Test(elf, own_vdso_and_maps_by_last_part)
{
	SP_AUTO_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	SP_AUTO_CLOSE int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	SP_AUTO_BUF struct sp_buf maps;
	struct sp_symbols *s;
	struct sp_symtab *t;
	struct sp_symtab_source src = {.root_fd = root, .host_fd = root};
	const char *name = NULL, *wanted;
	char *libc;
	uint64_t addr = 0;

	sp_buf_init(&maps);
	cr_assert(sp_buf_read_fd(&maps, fd, 1 << 24) == 0);
	libc = strstr(sp_buf_str(&maps), "/libc.so.6");
	cr_assert_not_null(libc);
	while (*libc != ' ')
		libc--;
	src.path = strndup(libc + 1, strcspn(libc + 1, "\n"));
	cr_assert(sp_symtab_open(&src, &t, NULL) == 0);
	for (size_t i = 0; sp_symtab_get(t, i, &addr, &wanted); i++)
		if (strcmp(wanted, "malloc") == 0)
			break;
	cr_assert(sp_symbols_new(&s, root, NULL) == 0);
	cr_assert(sp_symbols_add_maps(s, maps.data, maps.len) == 0);
	cr_assert(sp_symbols_find(s, "libc.so.6", NULL, addr + 1, &name) == 0, "%s",
		sp_symbols_problem(s, 0));
	cr_assert_str_eq(name, "malloc");
	cr_assert(sp_symbols_find(s, "libc.so.6", sp_symtab_build_id(t), addr, &name) == 0);
	cr_assert(sp_symbols_find(s, "libc.so.6", "dead", addr, &name) == -ENOENT);
	cr_assert(sp_symbols_find(s, "libnone.so", NULL, addr, &name) == -ENOENT);
	cr_assert(strstr(sp_symbols_problem(s, 1), "libnone.so"));
	cr_assert_null(sp_symbols_problem(s, 2));
	for (addr = 0; addr < 0x2000 && sp_symbols_find(s, "[vdso]", NULL, addr, &name) < 0;)
		addr += 16;
	cr_assert(addr < 0x2000 && (strstr(name, "time") || strstr(name, "getcpu")), "%s", name);
	sp_symtab_free(t);
	sp_symbols_free(s);
	free((char *)src.path);
}

Test(elf, kernel_of_another_boot_has_no_names)
{
	static const char *const others[] = {NULL, "", "00112233445566778899aabbccddeeff"};
	SP_AUTO_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char boot[SP_BOOT_ID];
	const char *name = NULL, *why = NULL;
	struct sp_symbols *s;

	cr_assert(sp_boot_id(boot) == 0 && strlen(boot) == 32);
	cr_assert(sp_symbols_new(&s, root, NULL) == 0);
	for (size_t i = 0; i < SP_COUNT(others); i++) {
		cr_expect_eq(sp_symbols_find(s, "[kernel]", others[i], 0xffffffff81000000, &name),
			-ENOENT);
		cr_expect(sp_symbols_refused(s, "[kernel]", others[i], &why) && why[0]);
	}
	cr_expect_not(sp_symbols_refused(s, "[kernel]", boot, &why)); /* shown or hidden, ours */
	sp_symbols_free(s);
}

Test(elf, module_elsewhere_is_believed_by_build_id_only)
{
	SP_AUTO_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	SP_AUTO_CLOSE int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	SP_AUTO_BUF struct sp_buf maps;
	const char *name = NULL, *why = NULL;
	struct sp_symbols *s;

	sp_buf_init(&maps);
	cr_assert(sp_buf_read_fd(&maps, fd, 1 << 24) == 0);
	cr_assert(sp_symbols_new(&s, root, NULL) == 0);
	cr_assert(sp_symbols_add_maps(s, maps.data, maps.len) == 0);
	sp_symbols_elsewhere(s);
	cr_expect_eq(sp_symbols_find(s, "libc.so.6", NULL, 0x30000, &name), -ENOENT);
	cr_expect(sp_symbols_refused(s, "libc.so.6", NULL, &why) && strstr(why, "build id"));
	cr_expect_eq(sp_symbols_find(s, "libc.so.6", "dead", 0x30000, &name), -ENOENT);
	cr_expect(sp_symbols_refused(s, "libc.so.6", "dead", &why) && strstr(why, "another file"));
	cr_expect_not(
		sp_symbols_refused(s, "libnone.so", "dead", &why)); /* it is not there at all */
	sp_symbols_free(s);
}

Test(elf, kallsyms_hidden_and_shown)
{
	char path[PATH_MAX + 32];
	struct sp_symtab *t;
	struct sp_err err;
	const char *name;

	must("printf '0000000000000000 T _text\\n0000000000000000 t do_futex\\n' >hidden; "
	     "printf 'ffffffff81000000 T _text\\nffffffff81000100 t do_futex\\t[mod]\\n"
	     "ffffffff81000200 D data\\nffffffff81000300 T last\\ngarbage\\n' >shown; : >none");
	snprintf(path, sizeof(path), "%s/hidden", dir);
	cr_assert(sp_kallsyms_open(path, &t, &err) == -EPERM && strstr(err.text, "kptr_restrict"));
	snprintf(path, sizeof(path), "%s/none", dir);
	cr_assert(sp_kallsyms_open(path, &t, &err) == -ENOENT);
	snprintf(path, sizeof(path), "%s/shown", dir);
	cr_assert(sp_kallsyms_open(path, &t, &err) == 0);
	cr_assert(sp_symtab_count(t) == 3);
	cr_assert(sp_symtab_find(t, 0xffffffff81000180, &name) == 0);
	cr_assert_str_eq(name, "do_futex");
	cr_assert(sp_symtab_find(t, 0xffffffff80ffffff, &name) == -ENOENT);
	sp_symtab_free(t);
}

Test(elf, table_prefers_and_encloses)
{
	struct sp_symtab *t;
	const char *name;

	cr_assert(sp_symtab_new(&t) == 0);
	sp_symtab_add(t, 0x100, 0x100, 0, "outer", 5, 0);
	sp_symtab_add(t, 0x140, 0x10, 0, "inner", 5, 0);
	sp_symtab_add(t, 0x100, 0x10, 0, "alias", 5, 9);
	sp_symtab_add(t, 0x300, 0, 0x320, "open", 4, 0);
	cr_assert(sp_symtab_finish(t) == 0 && sp_symtab_count(t) == 3);
	cr_assert(sp_symtab_find(t, 0x145, &name) == 0 && strcmp(name, "inner") == 0);
	cr_assert(sp_symtab_find(t, 0x150, &name) == 0 && strcmp(name, "outer") == 0);
	cr_assert(sp_symtab_find(t, 0x100, &name) == 0 && strcmp(name, "outer") == 0);
	cr_assert(sp_symtab_find(t, 0x31f, &name) == 0 && strcmp(name, "open") == 0);
	cr_assert(sp_symtab_find(t, 0x320, &name) == -ENOENT);
	cr_assert(sp_symtab_find(t, 0xff, &name) == -ENOENT);
	sp_symtab_free(t);
}
