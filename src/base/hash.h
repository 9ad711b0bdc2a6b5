/* A 64-bit hash of bytes for tables in memory; nothing that is written depends on it. Quick for
 * what is long: sixteen bytes a multiplication, and two of these at once. Not for keys that
 * an attacker may choose. */
#ifndef SP_BASE_HASH_H
#define SP_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t sp_hash_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 x = (unsigned __int128)a * b;

	return (uint64_t)x ^ (uint64_t)(x >> 64);
}

static inline uint64_t sp_hash_bytes(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t a = 0x9e3779b97f4a7c15ull ^ len, b = 0xff51afd7ed558ccdull, v[4];

	for (; len >= 32; p += 32, len -= 32) {
		memcpy(v, p, 32);
		a = sp_hash_mix(v[0] ^ a, v[1] ^ 0xa0761d6478bd642full);
		b = sp_hash_mix(v[2] ^ b, v[3] ^ 0xe7037ed1a0b428dbull);
	}
	memset(v, 0, sizeof(v));
	memcpy(v, p, len);
	a = sp_hash_mix(v[0] ^ a, v[1] ^ 0xa0761d6478bd642full);
	if (len > 16)
		b = sp_hash_mix(v[2] ^ b, v[3] ^ 0xe7037ed1a0b428dbull);
	return sp_hash_mix(a ^ 0x8ebc6af09c88c6e3ull, b ^ 0x589965cc75374cc3ull);
}

#endif
