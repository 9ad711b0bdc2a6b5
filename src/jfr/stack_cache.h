/* Stacks known from earlier chunks. Recorders write a stack that stays in use into the constants of
 * every chunk, under the same key and with the same bytes; decoding it once is enough, as long as
 * the methods it refers to are still the same. Inside of src/jfr; one reader, one dictionary. */
#ifndef SP_JFR_KNOWN_H
#define SP_JFR_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_jfr_known;

/* Returns NULL when out of memory. */
struct sp_jfr_known *sp_jfr_known_new(void);
void sp_jfr_known_free(struct sp_jfr_known *k);

/* A chunk begins whose stacks are laid out as @layout says (any hash of it), with such kinds of
 * frames (the same) and such a method: what differs from the chunks before makes all stacks
 * unknown. What sp_jfr_known_enter returned tells sp_jfr_known_since whether that happened. */
uint64_t sp_jfr_known_enter(struct sp_jfr_known *k, uint64_t layout);
void sp_jfr_known_kinds(struct sp_jfr_known *k, uint64_t kinds);
void sp_jfr_known_method(struct sp_jfr_known *k, uint64_t key, uint32_t id);
bool sp_jfr_known_since(const struct sp_jfr_known *k, uint64_t round);

/* The stack of that key whose bytes begin at @data, at most @left of them, as an id of the
 * dictionary, and how many they are; 0: not known. */
uint32_t sp_jfr_known_stack(const struct sp_jfr_known *k, uint64_t key, const uint8_t *data,
	size_t left, size_t *ret_len);

/* Keeps it, or does not when there is no memory for it. */
void sp_jfr_known_keep(
	struct sp_jfr_known *k, uint64_t key, const uint8_t *data, size_t len, uint32_t id);

#endif
