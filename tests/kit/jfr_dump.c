/* Prints what the reader finds in a recording, for comparison with other readers:
 *   jfr-dump FILE            counts per event type, sorted by first appearance
 *   jfr-dump --stacks FILE   each sample: type, thread, state, frames leaf first
 *   jfr-dump --rewrite IN OUT   copies with native frames named "fn_<offset>" */
#include "base/cleanup.h"
#include "jfr/reader.h"
#include "jfr/rewrite.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

struct count {
	char name[96];
	unsigned long n;
};

struct dump {
	struct sp_dict *dict;
	struct count counts[512];
	unsigned types;
	bool stacks;
};

static int want(void *ctx, const char *type)
{
	struct dump *d = ctx;

	for (unsigned i = 0; i < d->types; i++) {
		if (strcmp(d->counts[i].name, type) == 0)
			return (int)i + 1;
	}
	if (d->types == SP_COUNT(d->counts))
		return 0;
	snprintf(d->counts[d->types].name, sizeof(d->counts[0].name), "%s", type);
	return (int)++d->types;
}

static const char *text(const struct dump *d, uint32_t id)
{
	return sp_dict_get_string(d->dict, id, NULL);
}

static void print_stack(const struct dump *d, const struct sp_jfr_event *e)
{
	const struct sp_thread *t = sp_dict_get_thread(d->dict, e->thread);
	const struct sp_stack *s = sp_dict_get_stack(d->dict, e->stack);

	printf("%s\t%llu\t%s\t%d\t", e->type, (unsigned long long)e->start_ns,
		t ? text(d, t->name_id) : "", e->state);
	for (uint32_t i = 0; s && i < s->count; i++) {
		const struct sp_method *m = sp_dict_get_method(d->dict, s->frames[i].method);

		printf("%s%s.%s:%d", i ? ";" : "", m ? text(d, m->class_id) : "",
			m ? text(d, m->name_id) : "?", s->frames[i].line);
	}
	printf("%s\n", s && s->truncated ? ";..." : "");
}

static int event(void *ctx, const struct sp_jfr_event *e)
{
	struct dump *d = ctx;

	d->counts[e->wanted - 1].n++;
	if (d->stacks && e->stack)
		print_stack(d, e);
	return 0;
}

static const char *name_of(
	void *ctx, const char *module, uint64_t offset, const char *build_id, const char *has)
{
	static char text[64];

	if (has)
		return NULL;

	snprintf(text, sizeof(text), "fn_%llx", (unsigned long long)offset);
	return text;
}

static int rewrite(const char *from, const char *to)
{
	SP_AUTO_CLOSE int in = open(from, O_RDONLY | O_CLOEXEC);
	SP_AUTO_CLOSE int out = open(to, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	struct sp_jfr_rewrite_stats st;
	struct sp_err err;
	int r = sp_jfr_rewrite(in, out, SP_JFR_REWRITE_REDACT, name_of, NULL, &st, &err);

	if (r < 0)
		fprintf(stderr, "%s\n", err.text);
	printf("chunks %llu renamed %llu kept %llu copied %llu\n", (unsigned long long)st.chunks,
		(unsigned long long)st.renamed, (unsigned long long)st.kept,
		(unsigned long long)st.copied);
	return r < 0;
}

int main(int argc, char **argv)
{
	static struct dump d;
	struct sp_jfr_visitor v = {.ctx = &d, .want = want, .event = event};
	struct sp_jfr_stats st;
	struct sp_err err;
	SP_AUTO_CLOSE int fd = -1;
	int r;

	if (argc < 2)
		return 2;
	if (argc == 4 && strcmp(argv[1], "--rewrite") == 0)
		return rewrite(argv[2], argv[3]);
	d.stacks = strcmp(argv[1], "--stacks") == 0;
	fd = open(argv[argc - 1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || sp_dict_new(&d.dict, 1u << 30) < 0)
		return 2;
	r = sp_jfr_read(fd, d.dict, &v, &st, &err);
	for (unsigned i = 0; i < d.types && !d.stacks; i++) {
		if (d.counts[i].n)
			printf("%s %lu\n", d.counts[i].name, d.counts[i].n);
	}
	fprintf(stderr, "chunks %llu unfinished %llu skipped %llu dropped %llu\n",
		(unsigned long long)st.chunks, (unsigned long long)st.unfinished,
		(unsigned long long)st.skipped, (unsigned long long)st.dropped);
	if (r < 0)
		fprintf(stderr, "%s\n", err.text);
	sp_dict_free(d.dict);
	return r < 0;
}
