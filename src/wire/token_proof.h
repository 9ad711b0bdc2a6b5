/* How launcher and agent prove to each other that they hold the one-time token, before any message.
 *
 * The launcher listens, the agent connects:
 *     agent    → launcher   nonce_a
 *     launcher → agent      nonce_l, SHA-256(token, "L", nonce_a, nonce_l)
 *     agent    → launcher   SHA-256(token, "A", nonce_a, nonce_l)
 * The token itself never travels over the socket, so an attacker who gets hold of one connection
 * (by replacing the socket's name in a directory that lets him) learns nothing that he can use on
 * another, and neither side can be made to answer with the other's proof (the letter). All inputs
 * have one fixed length, so SHA-256's length extension gives nothing and no HMAC is needed. What a
 * challenge cannot stop is a relay that passes every byte on; for that both sides ask the kernel
 * who the peer is (SO_PEERCRED): the launcher's door child listens with the target's own uid, and
 * the agent's pid is the target's. */
#ifndef SP_WIRE_TOKEN_PROOF_H
#define SP_WIRE_TOKEN_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_TOKEN_BYTES 16
#define SP_TOKEN_HEX   (2 * SP_TOKEN_BYTES)
#define SP_NONCE_BYTES 16

struct sp_token {
	uint8_t bytes[SP_TOKEN_BYTES];
};

/* Random bytes from the kernel: getrandom, or /dev/urandom before Linux 3.17. 0 or -errno. */
int sp_random(void *ret, size_t n);

void sp_token_format(const struct sp_token *t, char ret[SP_TOKEN_HEX + 1]);
/* Exactly SP_TOKEN_HEX lower-case hex digits, nothing behind. 0 or -EINVAL. */
int sp_token_parse(const char *s, size_t n, struct sp_token *ret);

/* The proof that side 'L' or 'A' sends. Pure. */
void sp_token_proof_make(const struct sp_token *t, char side, const uint8_t nonce_a[SP_NONCE_BYTES],
	const uint8_t nonce_l[SP_NONCE_BYTES], uint8_t ret[32]);

/* Both sides over a connected SOCK_SEQPACKET socket, each step within @deadline_ns (monotonic).
 * Returns 0, -EACCES if the peer does not know the token, -ETIMEDOUT, or -errno. */
int sp_token_proof_agent(int fd, const struct sp_token *t, uint64_t deadline_ns);
int sp_token_proof_launcher(int fd, const struct sp_token *t, uint64_t deadline_ns);

#endif
