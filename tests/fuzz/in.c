/* Reads changed copies of inputs until the time is over: sanitizers and signals are the judges.
 *   fuzz-in SECONDS SEED LAST FILE…
 * What is being read is always in LAST, so that what ended the program is there to be read again
 * (fuzz-in 0 0 - LAST). Reports of what was read are made, too: a profile that was read must be
 * fit to be written. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "change.h"
#include "in/input.h"
#include "out/out.h"

/* Reads what is in @fd and writes reports of it. */
static void read_one(int fd)
{
	static const char *const formats[] = {"html", "collapsed", "pprof", "text"};
	struct sp_load_opts opts = {.tasks = true, .dict_cap = 64 << 20};
	struct sp_err err = {{0}}, note = {{0}};
	struct sp_profile *p = NULL;
	enum sp_input_kind kind;
	int own;

	if (sp_input_open(fd, &own, &kind, &note, &err) < 0)
		return;
	opts.readers = 1 + (unsigned)rnd(2);
	opts.timeless = rnd(2);
	if (sp_input_read(own, kind, &opts, NULL, &p, &err) == 0) {
		struct sp_sink sink;

		sp_sink_init(&sink, -1);
		sp_out_by_name(formats[rnd(4)])->write(p, &(struct sp_out_opts){0}, &sink);
		sp_sink_done(&sink);
		sp_profile_free(p);
	} else if (!err.text[0]) {
		fprintf(stderr, "fuzz-in: refused without a sentence\n");
		abort();
	}
	close(own);
}

static void set(int fd, const uint8_t *d, size_t len)
{
	if (ftruncate(fd, 0) < 0 || pwrite(fd, d, len, 0) != (ssize_t)len ||
		lseek(fd, 0, SEEK_SET) < 0)
		abort();
}

int main(int argc, char **argv)
{
	static struct input in[FILES];
	uint8_t *d = malloc(MOST + 64);
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 0);
	unsigned long runs = 0;
	int fd, count = argc - 4;

	if (argc < 5 || count > FILES || !d)
		return 2;
	state = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15ull + 88172645463325252ull;
	fd = strcmp(argv[3], "-") == 0 ? memfd_create("last", 0)
				       : open(argv[3], O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; i < count; i++)
		if (fd < 0 || load(argv[4 + i], &in[i]) < 0)
			return 2;
	do {
		const struct input *from = &in[rnd((uint64_t)count)];
		size_t len = from->len;

		memcpy(d, from->data, len);
		for (uint64_t k = atoi(argv[1]) ? rnd(6) + 1 : 0; k; k--)
			len = change(d, len);
		set(fd, d, len);
		alarm(HANG_S); /* reading without an end is a fault, too */
		read_one(fd);
		runs++;
	} while (time(NULL) < end);
	printf("%lu runs\n", runs);
	free(d);
	for (int i = 0; i < count; i++)
		free(in[i].data);
	return 0;
}
