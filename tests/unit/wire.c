#include "base/build_id.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "wire/chan.h"
#include "wire/perf_attr.h"
#include "wire/sha256.h"
#include "wire/token_proof.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void check_digest(const char *text, const char *hex)
{
	uint8_t d[32];
	char got[65];

	sp_sha256(text, strlen(text), d);
	for (int i = 0; i < 32; i++)
		snprintf(got + 2 * i, 3, "%02x", d[i]);
	cr_assert_str_eq(got, hex, "%s", text);
}

/* FIPS 180-4's examples, and lengths around the padding's edge against coreutils' sha256sum. */
Test(sha256, known_digests)
{
	check_digest("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	check_digest("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	check_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void check_against_sha256sum(size_t len)
{
	char text[200], cmd[300], want[70] = "";
	FILE *p;

	memset(text, 'x', len);
	text[len] = '\0';
	snprintf(cmd, sizeof(cmd), "printf %%s '%s' | sha256sum", text);
	p = popen(cmd, "r");
	cr_assert(p && fgets(want, 65, p));
	pclose(p);
	check_digest(text, want);
}

Test(sha256, lengths_around_a_block)
{
	static const size_t lens[] = {1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 128};

	for (size_t i = 0; i < SP_COUNT(lens); i++)
		check_against_sha256sum(lens[i]);
}

Test(token, text_and_back)
{
	struct sp_token t, back;
	char hex[SP_TOKEN_HEX + 1];

	cr_assert_eq(sp_random(&t, sizeof(t)), 0);
	sp_token_format(&t, hex);
	cr_assert_eq(sp_token_parse(hex, strlen(hex), &back), 0);
	cr_assert_arr_eq(t.bytes, back.bytes, sizeof(t.bytes));
	cr_assert_eq(sp_token_parse(hex, SP_TOKEN_HEX - 1, &back), -EINVAL);
	hex[3] = 'G';
	cr_assert_eq(sp_token_parse(hex, SP_TOKEN_HEX, &back), -EINVAL);
	hex[3] = 'A';
	cr_assert_eq(sp_token_parse(hex, SP_TOKEN_HEX, &back), -EINVAL, "upper case");
}

/* One end of a proof in a thread of its own. */
struct side {
	int fd, r;
	struct sp_token token;
};

static void *run_agent(void *arg)
{
	struct side *s = arg;

	s->r = sp_token_proof_agent(s->fd, &s->token, sp_clock_mono_ns() + 2000000000ull);
	if (s->r < 0)
		shutdown(s->fd, SHUT_RDWR);
	return NULL;
}

static void prove(
	const struct sp_token *agent, const struct sp_token *launcher, int *ret_a, int *ret_l)
{
	struct side a = {.token = *agent};
	pthread_t thread;
	int pair[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	a.fd = pair[0];
	pthread_create(&thread, NULL, run_agent, &a);
	*ret_l = sp_token_proof_launcher(pair[1], launcher, sp_clock_mono_ns() + 2000000000ull);
	pthread_join(thread, NULL);
	*ret_a = a.r;
	close(pair[0]);
	close(pair[1]);
}

Test(proof, both_ends_with_one_token)
{
	struct sp_token t;
	int a, l;

	sp_random(&t, sizeof(t));
	prove(&t, &t, &a, &l);
	cr_assert_eq(a, 0);
	cr_assert_eq(l, 0);
}

Test(proof, another_token_is_refused_by_the_agent_first)
{
	struct sp_token t = {{1}}, u = {{2}};
	int a, l;

	prove(&t, &u, &a, &l);
	cr_assert_eq(a, -EACCES);
	cr_assert_neq(l, 0);
}

Test(proof, a_recorded_conversation_does_not_open_another)
{
	struct sp_token t = {{7}};
	uint8_t nonce_a[SP_NONCE_BYTES] = {1}, old_l[SP_NONCE_BYTES] = {2},
		new_l[SP_NONCE_BYTES] = {3};
	uint8_t old[32], fresh[32], other_side[32];

	sp_token_proof_make(&t, 'A', nonce_a, old_l, old);
	sp_token_proof_make(&t, 'A', nonce_a, new_l, fresh);
	sp_token_proof_make(&t, 'L', nonce_a, new_l, other_side);
	cr_assert(memcmp(old, fresh, 32) != 0);
	cr_assert(memcmp(fresh, other_side, 32) != 0, "a proof cannot be reflected");
}

Test(proof, a_peer_that_says_nothing_times_out)
{
	struct sp_token t = {{7}};
	int pair[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	cr_assert_eq(
		sp_token_proof_launcher(pair[1], &t, sp_clock_mono_ns() + 20000000), -ETIMEDOUT);
	cr_assert_eq(sp_token_proof_agent(pair[0], &t, sp_clock_mono_ns() + 20000000), -ETIMEDOUT);
}

/* A message of every type with all its fields set. */
static struct sp_msg sample(unsigned type)
{
	static const char *const texts[] = {"one", "", "three and \xc3\xa4", "4"};
	struct sp_msg m = {.type = type};

	for (int i = 0; i < SP_MSG_NUMS; i++)
		m.num[i] = 0x0102030405060708ull * (uint64_t)(i + 1);
	for (size_t i = 0; i < SP_MSG_TEXTS; i++)
		m.text[i] = texts[i % SP_COUNT(texts)];
	return m;
}

Test(msg, every_type_comes_back_as_it_was)
{
	for (unsigned type = 1; type < SP_MSG_TYPES; type++) {
		struct sp_msg_shape shape = sp_msg_shape(type);
		struct sp_msg m = sample(type), back;
		uint8_t buf[SP_MSG_MAX];
		int n = sp_msg_encode(&m, buf, sizeof(buf));

		cr_assert_gt(n, 0);
		cr_assert_eq(sp_msg_decode(buf, (size_t)n, &back), 0);
		cr_assert_eq(back.type, type);
		for (int i = 0; i < shape.nums; i++)
			cr_assert_eq(back.num[i], m.num[i]);
		for (int i = 0; i < shape.texts; i++)
			cr_assert_str_eq(back.text[i], m.text[i]);
	}
}

Test(msg, cut_at_every_byte_is_refused)
{
	for (unsigned type = 1; type < SP_MSG_TYPES; type++) {
		struct sp_msg m = sample(type), back;
		uint8_t buf[SP_MSG_MAX];
		int n = sp_msg_encode(&m, buf, sizeof(buf));

		for (int cut = 0; cut < n; cut++) {
			/* A copy of its own, so that a read past the end is seen. */
			uint8_t *copy = malloc((size_t)cut + 1);

			memcpy(copy, buf, (size_t)cut);
			cr_assert_eq(sp_msg_decode(copy, (size_t)cut, &back), -EBADMSG);
			if (cut >= 8) { /* even if the length agrees */
				copy[4] = (uint8_t)cut;
				copy[5] = (uint8_t)(cut >> 8);
				cr_assert_eq(sp_msg_decode(copy, (size_t)cut, &back), -EBADMSG);
			}
			free(copy);
		}
		cr_assert_eq(sp_msg_decode(buf, (size_t)n + 1, &back), -EBADMSG, "a byte more");
	}
}

Test(msg, nothing_too_large_and_no_unknown_type)
{
	static char big[SP_MSG_MAX];
	struct sp_msg m = {.type = SP_MSG_LOG, .text = {big}}, back;
	uint8_t buf[SP_MSG_MAX];

	memset(big, 'x', sizeof(big) - 1);
	cr_assert_eq(sp_msg_encode(&m, buf, sizeof(buf)), -EMSGSIZE);
	big[SP_MSG_MAX - 8 - 3] = '\0';
	cr_assert_eq(sp_msg_encode(&m, buf, sizeof(buf)), SP_MSG_MAX);
	cr_assert_eq(sp_msg_encode(&m, buf, 20), -EMSGSIZE);
	m.type = SP_MSG_TYPES;
	cr_assert_eq(sp_msg_encode(&m, buf, sizeof(buf)), -EINVAL);
	memcpy(buf, "SP\x01\x63\x08\0\0\0", 8);
	cr_assert_eq(sp_msg_decode(buf, 8, &back), -EBADMSG);
	memcpy(buf, "SP\x01\0\x08\0\0\0", 8);
	cr_assert_eq(sp_msg_decode(buf, 8, &back), -EBADMSG);
}

Test(msg, a_zero_inside_a_text_is_refused)
{
	struct sp_msg m = {.type = SP_MSG_LOG, .text = {"abc"}}, back;
	uint8_t buf[64];
	int n = sp_msg_encode(&m, buf, sizeof(buf));

	buf[n - 3] = '\0';
	cr_assert_eq(sp_msg_decode(buf, (size_t)n, &back), -EBADMSG);
	buf[n - 3] = 'b';
	buf[n - 1] = 'x';
	cr_assert_eq(sp_msg_decode(buf, (size_t)n, &back), -EBADMSG, "not terminated");
}

/* Damaged messages: decoded or refused, never read outside. SP_FUZZ_ROUNDS for longer runs. */
Test(msg, damaged_bytes_are_harmless, .timeout = 600)
{
	const char *rounds = getenv("SP_FUZZ_ROUNDS");
	long n_rounds = rounds ? atol(rounds) : 200000;
	unsigned seed = 1;

	for (long round = 0; round < n_rounds; round++) {
		struct sp_msg m = sample(1 + (unsigned)rand_r(&seed) % (SP_MSG_TYPES - 1)), back;
		uint8_t buf[4096], *copy;
		int n = sp_msg_encode(&m, buf, sizeof(buf));

		cr_assert_gt(n, 0);
		for (int k = rand_r(&seed) % 4; k >= 0; k--)
			buf[rand_r(&seed) % n] = (uint8_t)rand_r(&seed);
		copy = malloc((size_t)n);
		memcpy(copy, buf, (size_t)n);
		if (sp_msg_decode(copy, (size_t)n, &back) == 0)
			for (int i = 0; i < sp_msg_shape(back.type).texts; i++)
				cr_assert_leq(strlen(back.text[i]), (size_t)n);
		free(copy);
	}
}

static void pair_of(struct sp_chan *a, struct sp_chan *b)
{
	int pair[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	a->fd = pair[0];
	b->fd = pair[1];
	a->n_fds = b->n_fds = 0;
}

static int open_count(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static const uint64_t soon = 1; /* a deadline that has passed */

Test(chan, descriptors_travel_where_they_are_expected)
{
	static struct sp_chan a, b;
	struct sp_msg m = {.type = SP_MSG_PERF}, got;
	int fds[3] = {open("/dev/null", O_WRONLY | O_CLOEXEC),
		open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO};
	int before;

	pair_of(&a, &b);
	before = open_count();
	cr_assert_eq(sp_chan_send(&a, &m, fds, 2, soon), 0);
	cr_assert_eq(sp_chan_recv(&b, &got, soon), 0);
	cr_assert_eq(b.n_fds, 2);
	cr_assert(fcntl(b.fds[0], F_GETFD) & FD_CLOEXEC);
	m.type = SP_MSG_START;
	cr_assert_eq(sp_chan_send(&a, &m, fds, 3, soon), -EINVAL,
		"an output, and what the launcher samples");
	m.type = SP_MSG_STOP;
	cr_assert_eq(sp_chan_send(&a, &m, fds, 1, soon), -EINVAL);
	cr_assert_eq(sp_chan_send(&a, &m, NULL, 0, soon), 0);
	cr_assert_eq(sp_chan_recv(&b, &got, soon), 0);
	cr_assert_eq(b.n_fds, 0, "those of the last message are closed");
	cr_assert_eq(open_count(), before);
}

/* Sends @bytes with @n descriptors as a stranger would. */
static void send_strange(int fd, const void *bytes, size_t len, int n)
{
	char control[CMSG_SPACE(sizeof(int) * (SP_MSG_FDS + 1))] = {0};
	struct iovec iov = {(void *)bytes, len};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control};
	struct cmsghdr *cm;

	h.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)n);
	cm = CMSG_FIRSTHDR(&h);
	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)n);
	for (int i = 0; i < n; i++)
		((int *)(void *)CMSG_DATA(cm))[i] = STDERR_FILENO;
	cr_assert_gt(sendmsg(fd, &h, 0), 0);
}

Test(chan, uninvited_or_too_many_descriptors_are_closed)
{
	static struct sp_chan a, b;
	struct sp_msg m = {.type = SP_MSG_STOP}, got;
	uint8_t buf[256];
	int n, before;

	pair_of(&a, &b);
	before = open_count();
	n = sp_msg_encode(&m, buf, sizeof(buf));
	send_strange(a.fd, buf, (size_t)n, 1);
	cr_assert_eq(sp_chan_recv(&b, &got, soon), -EBADMSG);
	m = (struct sp_msg){.type = SP_MSG_START};
	n = sp_msg_encode(&m, buf, sizeof(buf));
	send_strange(a.fd, buf, (size_t)n, 3);
	cr_assert_eq(sp_chan_recv(&b, &got, soon), -EBADMSG);
	m = (struct sp_msg){.type = SP_MSG_PERF};
	n = sp_msg_encode(&m, buf, sizeof(buf));
	send_strange(a.fd, buf, (size_t)n, SP_MSG_FDS + 1);
	cr_assert_eq(sp_chan_recv(&b, &got, soon), -EBADMSG);
	send_strange(a.fd, "junk", 4, 3);
	cr_assert_eq(sp_chan_recv(&b, &got, soon), -EBADMSG);
	send_strange(a.fd, "junk", 4, 3);
	cr_assert_eq(sp_chan_recv_raw(b.fd, buf, 4, soon), -EBADMSG);
	cr_assert_eq(open_count(), before);
}

Test(chan, a_packet_larger_than_the_limit_is_refused)
{
	static struct sp_chan a, b;
	static uint8_t big[SP_MSG_MAX + 1];
	struct sp_msg got;

	pair_of(&a, &b);
	cr_assert_gt(send(a.fd, big, sizeof(big), 0), 0);
	cr_assert_eq(sp_chan_recv(&b, &got, soon), -EBADMSG);
	cr_assert_eq(sp_chan_recv(&b, &got, soon), -ETIMEDOUT);
	close(a.fd);
	cr_assert_eq(sp_chan_recv(&b, &got, soon), -ECONNRESET);
	cr_assert_eq(sp_chan_send(&b, &(struct sp_msg){.type = SP_MSG_STOP}, NULL, 0, soon),
		-ECONNRESET);
}

Test(chan, only_files_and_pipes_open_for_writing_are_outputs)
{
	int p[2], s[2];
	char name[] = "/tmp/sp-wire-XXXXXX";
	int file = mkstemp(name);

	cr_assert_eq(pipe(p), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	cr_assert_eq(sp_chan_check_output(file), 0);
	cr_assert_eq(sp_chan_check_output(p[1]), 0);
	cr_assert_eq(sp_chan_check_output(p[0]), -EPERM, "reading end");
	cr_assert_eq(sp_chan_check_output(s[0]), -EPERM, "socket");
	cr_assert_eq(sp_chan_check_output(open(name, O_RDONLY)), -EPERM);
	cr_assert_eq(sp_chan_check_output(open(name, O_PATH)), -EPERM);
	cr_assert_eq(sp_chan_check_output(open("/dev/null", O_WRONLY)), -EPERM, "device");
	cr_assert_eq(sp_chan_check_output(open("/tmp", O_RDONLY)), -EPERM);
	cr_assert_eq(sp_chan_check_output(-1), -EPERM);
	unlink(name);
}

Test(chan, perf_events_are_known_by_their_kind)
{
	struct perf_event_attr attr = {.size = PERF_ATTR_SIZE_VER1,
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	cr_assert_eq(sp_chan_check_perf(STDERR_FILENO), -EPERM);
	if (fd < 0)
		cr_skip("perf_event_open is not permitted here");
	cr_assert_eq(sp_chan_check_perf(fd), 0);
	cr_assert_not(sp_chan_perf_allowed(-1, 0), "system-wide");
	cr_assert(sp_chan_perf_allowed(1, -1));
}

Test(perf, a_window_holds_the_stack_as_far_as_the_ring_allows)
{
	cr_expect_eq(sp_perf_attr_window(0, UINT64_MAX), 8u << 10);
	cr_expect_eq(sp_perf_attr_window(8u << 10, UINT64_MAX), 8u << 10);
	cr_expect_eq(sp_perf_attr_window((8u << 10) + 1, UINT64_MAX), 16u << 10);
	cr_expect_eq(sp_perf_attr_window(33u << 10, UINT64_MAX), SP_PERF_WINDOW_MAX);
	cr_expect_eq(sp_perf_attr_window(UINT64_MAX, UINT64_MAX), SP_PERF_WINDOW_MAX);
	cr_expect_eq(sp_perf_attr_window(33u << 10, 20u << 10), 16u << 10);
	cr_expect_eq(sp_perf_attr_window(33u << 10, 0), 8u << 10);
}
