/* Puts calls into every method of class files.
 *   fuzz-classes SECONDS SEED FILE…    of changed copies, until the time is over: sanitizers judge
 *   fuzz-classes rewrite DIR FILE…     each as it is, over itself; DIR/left names what was left out
 * What is rewritten well formed must be so again when it is read back. */
#include "change.h"
#include "classfile/class_instrument.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

static FILE *left;

static struct sp_class_instrument_want want(
	void *ctx, struct sp_class_text name, struct sp_class_text descriptor)
{
	return (struct sp_class_instrument_want){1, 2};
}

static void left_out(void *ctx, struct sp_class_text name, const char *why)
{
	if (left)
		fprintf(left, "%s %.*s %s\n", (const char *)ctx, (int)name.len, name.s, why);
}

/* Of its own length, for the sanitizer to watch the end. */
static int rewrite(const char *path, const uint8_t *data, size_t len, struct sp_buf *out)
{
	struct sp_class_instrument rw = {want, left_out, (void *)path};
	uint8_t *own = malloc(len ? len : 1);
	int r = -ENOMEM;

	if (own) {
		memcpy(own, data, len);
		r = sp_class_instrument_class(&rw, own, len, out);
	}
	free(own);
	return r;
}

static int rewrite_file(const char *path)
{
	SP_AUTO_BUF struct sp_buf out = {0};
	struct input in;
	FILE *f;
	int r;

	if (load(path, &in) < 0)
		return -ENOENT;
	r = rewrite(path, in.data, in.len, &out);
	free(in.data);
	if (r <= 0)
		return r;
	f = fopen(path, "we");
	if (!f || fwrite(out.data, 1, out.len, f) != out.len)
		r = -EIO;
	if (f)
		fclose(f);
	return r;
}

static int rewrite_files(int argc, char **argv)
{
	char name[4096];
	long methods = 0;

	snprintf(name, sizeof(name), "%s/left", argv[2]);
	left = fopen(name, "we");
	for (int i = 3; i < argc; i++) {
		int r = rewrite_file(argv[i]);

		if (r < 0) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(-r));
			return 1;
		}
		methods += r;
	}
	if (left)
		fclose(left);
	printf("%ld methods\n", methods);
	return 0;
}

/* Once, and what came out of it once more. */
static void rewrite_twice(const uint8_t *d, size_t len)
{
	SP_AUTO_BUF struct sp_buf once = {0}, twice = {0};

	if (rewrite("changed", d, len, &once) > 0 &&
		rewrite("again", (const uint8_t *)once.data, once.len, &twice) == -EBADMSG) {
		fprintf(stderr, "fuzz-classes: wrote what it cannot read\n");
		abort();
	}
}

int main(int argc, char **argv)
{
	static struct input in[FILES];
	uint8_t *d = malloc(MOST + 64);
	int count = argc - 3 < FILES ? argc - 3 : FILES;
	unsigned long runs = 0;
	time_t end;

	if (argc < 4 || !d)
		return 2;
	if (strcmp(argv[1], "rewrite") == 0) {
		free(d);
		return rewrite_files(argc, argv);
	}
	end = time(NULL) + atoi(argv[1]);
	state = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15ull + 88172645463325252ull;
	for (int i = 0; i < count; i++)
		if (load(argv[3 + i], &in[i]) < 0)
			return 2;
	do {
		const struct input *from = &in[rnd((uint64_t)count)];
		size_t len = from->len;

		memcpy(d, from->data, len);
		for (uint64_t k = rnd(6) + 1; k; k--)
			len = change(d, len);
		alarm(HANG_S);
		rewrite_twice(d, len);
		runs++;
	} while (runs % 64 || time(NULL) < end);
	printf("%lu runs\n", runs);
	free(d);
	for (int i = 0; i < count; i++)
		free(in[i].data);
	return 0;
}
