/* Programs of the user's as children: ssh and kubectl with pipes to talk over, kubectl and curl to
 * be asked once. Each is in a process group of its own: Ctrl-C is ours to pass on. */
#ifndef SP_LAUNCHER_VIA_CHILD_H
#define SP_LAUNCHER_VIA_CHILD_H

#include "base/buf.h"
#include "base/err.h"

#include <sys/types.h>

struct sp_via_child {
	pid_t pid; /* 0: none */
	int in, out,
		err; /* our ends, owned by the caller: to its standard input, from the others */
};

/* Starts words[0], found on PATH. Returns 0 or -errno; a program that cannot be run says so on its
 * standard error. */
int sp_via_child_start(struct sp_via_child *ret, char *const *words);

/* Runs it with no input and appends what it prints to @ret.
 * Returns 0; -EINTR; -EIO where it failed or did not end within 60 s: then @err is the last line
 * that it said. */
int sp_via_child_ask(char *const *words, struct sp_buf *ret, struct sp_err *err);

/* What is done five times a second while a child is asked; NULL: nothing. */
void sp_via_child_meanwhile(void (*step)(void *ctx), void *ctx);

/* Raises the limit of open files as far as that goes: each host takes three, each recording one.
 * Children get the limit that was there before. */
void sp_via_child_more_files(void);

/* Words of a call while they are put together; NULL behind the last. */
struct sp_via_words {
	char **list; /* owned, each too */
	size_t n, cap;
	bool failed; /* no memory: all are gone, and later ones are dropped */
};

void sp_via_words_add(struct sp_via_words *w, const char *word);
/* --NAME=VALUE, where @value is not NULL. */
void sp_via_words_option(struct sp_via_words *w, const char *name, const char *value);
void sp_via_words_done(struct sp_via_words *w);

#define SP_AUTO_WORDS __attribute__((cleanup(sp_via_words_done)))

#endif
