/* Inside of src/elf: the state of one run of the Rust v0 demangler. All functions do nothing, or
 * nothing that matters, once @bad is set: callers look at the end. */
#ifndef SP_ELF_RUST_H
#define SP_ELF_RUST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct sp_rust {
	const char *s; /* behind "_R" */
	size_t len, pos;
	struct sp_buf *out;
	size_t start; /* of our part in out */
	unsigned depth, steps;
	uint64_t lifetimes; /* bound by the binders around us */
	bool quiet;	    /* read, but print nothing */
	bool bad;
};

struct sp_rust_ident {
	const char *s; /* borrowed from the symbol */
	size_t len;
	uint64_t disambiguator;
	bool punycode;
};

char sp_rust_peek(const struct sp_rust *d); /* 0 at the end */
char sp_rust_next(struct sp_rust *d);
bool sp_rust_eat(struct sp_rust *d, char c);

/* Goes one level down, counting; leave() must follow even where it returns false (too deep). */
bool sp_rust_enter(struct sp_rust *d);
void sp_rust_leave(struct sp_rust *d);

uint64_t sp_rust_base62(struct sp_rust *d);	      /* "_" is 0, "0_" is 1, … */
uint64_t sp_rust_tagged(struct sp_rust *d, char tag); /* absent 0, "s_" 1, "s0_" 2, … */
struct sp_rust_ident sp_rust_identifier(struct sp_rust *d);

void sp_rust_put_n(struct sp_rust *d, const char *s, size_t n);
void sp_rust_put(struct sp_rust *d, const char *s);
void sp_rust_put_number(struct sp_rust *d, uint64_t v);
void sp_rust_put_ident(struct sp_rust *d, const struct sp_rust_ident *id);

/* Appends a printable code point; false (nothing appended) for controls, surrogates and beyond. */
bool sp_rust_add_char(struct sp_buf *out, uint32_t c);

#endif
