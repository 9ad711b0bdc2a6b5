/* The proof of the token: see token_proof.h. */
#include "wire/token_proof.h"
#include "base/cleanup.h"
#include "wire/chan.h"
#include "wire/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct answer {
	uint8_t nonce[SP_NONCE_BYTES];
	uint8_t proof[32];
};

int sp_random(void *ret, size_t n)
{
	SP_AUTO_CLOSE int fd = -1;

	if (syscall(SYS_getrandom, ret, n, 0) == (ssize_t)n)
		return 0;
	fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return read(fd, ret, n) == (ssize_t)n ? 0 : -EIO;
}

void sp_token_format(const struct sp_token *t, char ret[SP_TOKEN_HEX + 1])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < SP_TOKEN_BYTES; i++) {
		ret[2 * i] = digits[t->bytes[i] >> 4];
		ret[2 * i + 1] = digits[t->bytes[i] & 15];
	}
	ret[SP_TOKEN_HEX] = '\0';
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int sp_token_parse(const char *s, size_t n, struct sp_token *ret)
{
	struct sp_token t;

	if (n != SP_TOKEN_HEX)
		return -EINVAL;
	for (size_t i = 0; i < SP_TOKEN_BYTES; i++) {
		int hi = hex_digit(s[2 * i]), lo = hex_digit(s[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return -EINVAL;
		t.bytes[i] = (uint8_t)(hi << 4 | lo);
	}
	*ret = t;
	return 0;
}

void sp_token_proof_make(const struct sp_token *t, char side, const uint8_t nonce_a[SP_NONCE_BYTES],
	const uint8_t nonce_l[SP_NONCE_BYTES], uint8_t ret[32])
{
	uint8_t in[SP_TOKEN_BYTES + 1 + 2 * SP_NONCE_BYTES];

	memcpy(in, t->bytes, SP_TOKEN_BYTES);
	in[SP_TOKEN_BYTES] = (uint8_t)side;
	memcpy(in + SP_TOKEN_BYTES + 1, nonce_a, SP_NONCE_BYTES);
	memcpy(in + SP_TOKEN_BYTES + 1 + SP_NONCE_BYTES, nonce_l, SP_NONCE_BYTES);
	sp_sha256(in, sizeof(in), ret);
}

/* Compares in a time that does not show how far the two agree. */
static bool same(const uint8_t a[32], const uint8_t b[32])
{
	uint8_t diff = 0;

	for (int i = 0; i < 32; i++)
		diff |= a[i] ^ b[i];
	return diff == 0;
}

int sp_token_proof_agent(int fd, const struct sp_token *t, uint64_t deadline_ns)
{
	uint8_t nonce[SP_NONCE_BYTES], want[32], mine[32];
	struct answer a;
	int r = sp_random(nonce, sizeof(nonce));

	if (r < 0 || (r = sp_chan_send_raw(fd, nonce, sizeof(nonce), deadline_ns)) < 0 ||
		(r = sp_chan_recv_raw(fd, &a, sizeof(a), deadline_ns)) < 0)
		return r;
	sp_token_proof_make(t, 'L', nonce, a.nonce, want);
	if (!same(want, a.proof))
		return -EACCES;
	sp_token_proof_make(t, 'A', nonce, a.nonce, mine);
	return sp_chan_send_raw(fd, mine, sizeof(mine), deadline_ns);
}

int sp_token_proof_launcher(int fd, const struct sp_token *t, uint64_t deadline_ns)
{
	uint8_t nonce[SP_NONCE_BYTES], got[32], want[32];
	struct answer a;
	int r = sp_chan_recv_raw(fd, nonce, sizeof(nonce), deadline_ns);

	if (r < 0 || (r = sp_random(a.nonce, sizeof(a.nonce))) < 0)
		return r;
	sp_token_proof_make(t, 'L', nonce, a.nonce, a.proof);
	if ((r = sp_chan_send_raw(fd, &a, sizeof(a), deadline_ns)) < 0 ||
		(r = sp_chan_recv_raw(fd, got, sizeof(got), deadline_ns)) < 0)
		return r;
	sp_token_proof_make(t, 'A', nonce, a.nonce, want);
	return same(want, got) ? 0 : -EACCES;
}
