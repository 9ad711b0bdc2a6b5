/* What a recording is asked for, as fields: START brings them to the agent, STATE brings them back.
 * And the defaults of both sides; launcher/cli/options.def shows the same (tests/unit/args.c). */
#ifndef SP_WIRE_RECORD_OPTIONS_H
#define SP_WIRE_RECORD_OPTIONS_H

#include "wire/msg.h"

#define SP_DEFAULT_ALLOC       524287	/* bytes of Java objects that one sample represents */
#define SP_DEFAULT_NATIVEMEM   524288	/* the same of malloc */
#define SP_DEFAULT_LOCK_NS     10000	/* waits that are shorter are sampled */
#define SP_DEFAULT_INTERVAL_NS 10000000 /* between samples; of wall: */
#define SP_DEFAULT_WALL_NS     50000000
#define SP_DEFAULT_PROC_NS     30000000000
#define SP_DEFAULT_DEPTH       2048	   /* frames */
#define SP_DEFAULT_MEMORY      (12u << 20) /* what the agent may map */
#define SP_DEFAULT_CHUNK_BYTES (100u << 20)
#define SP_DEFAULT_CHUNK_NS    3600000000000ull

/* Events that hooks report: which option has the amount of each, its field, and its default. */
struct sp_record_hook {
	const char *event, *word;
	enum sp_record_num at;
	uint64_t amount;
};

#define SP_RECORD_HOOKS 5
extern const struct sp_record_hook sp_record_hooks[SP_RECORD_HOOKS];

/* Of those, the one for @event; NULL: no hook reports it. */
const struct sp_record_hook *sp_record_hook_find(const char *event);

struct sp_record_options {
	uint64_t num[SP_RECORD_NUMS];
	const char *text[SP_RECORD_TEXTS]; /* borrowed; NULL and "" are the same: none */
};

/* Puts @o into a START or STATE, or takes it out of one; texts are borrowed. */
void sp_record_options_put(const struct sp_record_options *o, struct sp_msg *m);
void sp_record_options_get(const struct sp_msg *m, struct sp_record_options *ret);

#endif
