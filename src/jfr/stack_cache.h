/* Stacks known from earlier chunks. Recorders write a stack that stays in use into the constants of
 * every chunk, under the same key and with the same bytes; decoding it once is enough, as long as
 * the methods it refers to are still the same. Inside of src/jfr; one reader, one dictionary. */
#ifndef SP_JFR_STACK_CACHE_H
#define SP_JFR_STACK_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_jfr_stack_cache;

/* Returns NULL when out of memory. */
struct sp_jfr_stack_cache *sp_jfr_stack_cache_new(void);
void sp_jfr_stack_cache_free(struct sp_jfr_stack_cache *k);

/* A chunk begins with stacks laid out as @layout says (any hash of it), with such kinds of
 * frames (the same) and such a method: what differs from the chunks before makes all stacks
 * unknown. Given what sp_jfr_stack_cache_enter returned, sp_jfr_stack_cache_since says whether that
 * happened. */
uint64_t sp_jfr_stack_cache_enter(struct sp_jfr_stack_cache *k, uint64_t layout);
void sp_jfr_stack_cache_kinds(struct sp_jfr_stack_cache *k, uint64_t kinds);
void sp_jfr_stack_cache_method(struct sp_jfr_stack_cache *k, uint64_t key, uint32_t id);
bool sp_jfr_stack_cache_since(const struct sp_jfr_stack_cache *k, uint64_t round);

/* The stack of that key, with bytes from @data on, at most @left of them, as an id of the
 * dictionary, and how many they are; 0: not known. */
uint32_t sp_jfr_stack_cache_stack(const struct sp_jfr_stack_cache *k, uint64_t key,
	const uint8_t *data, size_t left, size_t *ret_len);

/* Keeps it, or does not when there is no memory for it. */
void sp_jfr_stack_cache_keep(
	struct sp_jfr_stack_cache *k, uint64_t key, const uint8_t *data, size_t len, uint32_t id);

#endif
