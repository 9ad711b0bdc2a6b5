/* SHA-256 (FIPS 180-4), for the proof of the control socket's token; no secrets are kept. */
#ifndef SP_WIRE_SHA256_H
#define SP_WIRE_SHA256_H

#include <stddef.h>
#include <stdint.h>

/* Digest of @n bytes at @data. Any thread; allocates nothing. */
void sp_sha256(const void *data, size_t n, uint8_t ret[32]);

#endif
