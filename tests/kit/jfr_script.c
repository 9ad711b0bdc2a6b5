/* Writes a scripted recording to a file, or to stdout as a stream:
 *   jfr-script FILE|- FLUSHES SAMPLES DEPTH [ROTATE-EVERY [DIE-AT-OP [BYTES]]]
 * Prints one line per flush to stderr: the samples of each kind that are durable from there on.
 * DIE-AT-OP: kill -9 in the middle of that write, after BYTES of it (pwrite, write and ftruncate
 * are wrapped at link time). */
#include "jfr_script.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

ssize_t __real_pwrite(int fd, const void *data, size_t len, off_t offset);
int __real_ftruncate(int fd, off_t len);
ssize_t __wrap_pwrite(int fd, const void *data, size_t len, off_t offset);
int __wrap_ftruncate(int fd, off_t len);

static long ops, die_at = -1, die_bytes;

ssize_t __wrap_pwrite(int fd, const void *data, size_t len, off_t offset)
{
	if (ops++ == die_at) {
		if (die_bytes > 0)
			__real_pwrite(fd, data, (size_t)die_bytes < len ? (size_t)die_bytes : len,
				offset);
		raise(SIGKILL);
	}
	return __real_pwrite(fd, data, len, offset);
}

int __wrap_ftruncate(int fd, off_t len)
{
	if (ops++ == die_at)
		raise(SIGKILL);
	return __real_ftruncate(fd, len);
}

static int run(struct sp_jfrw *w, struct sp_dict *d, char **argv, int argc)
{
	unsigned flushes = (unsigned)atoi(argv[2]), samples = (unsigned)atoi(argv[3]);
	unsigned depth = (unsigned)atoi(argv[4]), every = argc > 5 ? (unsigned)atoi(argv[5]) : 0;

	script_head(w);
	for (unsigned i = 0; i < flushes; i++) {
		int r;

		script_events(w, d, i, samples, depth);
		r = every && i % every == every - 1 ? sp_jfrw_rotate(w) : sp_jfrw_flush(w);
		if (r < 0)
			return r;
		if (r == 1) {
			sp_dict_reset(d);
			script_head(w);
		}
		fprintf(stderr, "%u\n", (i + 1) * samples);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct sp_jfrw_cfg cfg = {0};
	struct sp_err err;
	struct sp_dict *d;
	struct sp_jfrw *w;
	int fd = 1, r;

	if (argc < 5)
		return 2;
	cfg.stream = strcmp(argv[1], "-") == 0;
	if (!cfg.stream)
		fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	die_at = argc > 6 ? atol(argv[6]) : -1;
	die_bytes = argc > 7 ? atol(argv[7]) : 0;
	if (fd < 0 || sp_dict_new(&d, 64 << 20) < 0)
		return 2;
	r = sp_jfrw_new(&w, fd, d, &cfg, &err);
	if (r < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	r = run(w, d, argv, argc);
	r = sp_jfrw_close(w) < 0 ? -1 : r;
	sp_dict_free(d);
	fprintf(stderr, "ops %ld\n", ops);
	return r < 0;
}
