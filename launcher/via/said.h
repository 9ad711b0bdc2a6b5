/* What copies of this program said on other hosts: each sentence once, with the hosts it came from.
 */
#ifndef SP_LAUNCHER_VIA_SAID_H
#define SP_LAUNCHER_VIA_SAID_H

#include "base/buf.h"

struct sp_via_sentence {
	char *text;	     /* owned */
	struct sp_buf hosts; /* "n1, n2" */
	size_t n;
	const char *last; /* the host that said it last; borrowed */
};

struct sp_via_said {
	struct sp_via_sentence *list; /* owned */
	size_t n;
};

/* @host is borrowed until _done. */
void sp_via_said_add(struct sp_via_said *s, const char *host, const char *text, size_t len);

/* Prints all; the name of the host is left out where @hosts is 1. */
void sp_via_said_print(const struct sp_via_said *s, size_t hosts);
void sp_via_said_done(struct sp_via_said *s);

#endif
