/* Packets over two descriptors: see packets.h. */
#include "packets.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { READ_SIZE = 1 << 16, LINE_MAX_LEN = 1 << 16, READS_AT_ONCE = 16 };

struct head {
	uint32_t len;
	uint16_t type, id;
};

static void set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0)
		fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

void sp_packets_init(struct sp_packets *f, int in, int out)
{
	memset(f, 0, sizeof(*f));
	f->in = in;
	f->out = out;
	sp_buf_init(&f->rx);
	sp_buf_init(&f->tx);
	set_nonblocking(in);
	set_nonblocking(out);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void sp_packets_done(struct sp_packets *f)
{
	close_fd(&f->in);
	close_fd(&f->out);
	sp_buf_done(&f->rx);
	sp_buf_done(&f->tx);
}

/* Drops the first @taken bytes, when that is worth a move. */
static void shift(struct sp_buf *b, size_t *taken)
{
	if (*taken < b->len && *taken < READ_SIZE)
		return;
	if (*taken < b->len)
		memmove(b->data, b->data + *taken, b->len - *taken);
	b->len -= *taken;
	*taken = 0;
}

void sp_packets_send_raw(struct sp_packets *f, const void *data, size_t len)
{
	sp_buf_add(&f->tx, data, len);
	f->broken |= f->tx.failed;
}

void sp_packets_send(
	struct sp_packets *f, enum sp_packet_type type, uint16_t id, const void *data, size_t len)
{
	struct head h = {(uint32_t)len, (uint16_t)type, id};

	sp_packets_send_raw(f, &h, sizeof(h));
	sp_packets_send_raw(f, data, len);
}

void sp_packets_lend(struct sp_packets *f, const void *data, size_t len)
{
	f->lent = data;
	f->lent_len = len;
}

/* Counts what was written of what is lent, or of tx. */
static void advance(struct sp_packets *f, size_t n)
{
	f->written += n;
	if (f->lent_len) {
		f->lent += n;
		f->lent_len -= n;
	} else {
		f->sent += n;
	}
}

static void write_some(struct sp_packets *f)
{
	while (f->out >= 0 && sp_packets_waiting(f)) {
		ssize_t n = f->lent_len ? write(f->out, f->lent, f->lent_len)
					: write(f->out, f->tx.data + f->sent, f->tx.len - f->sent);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0) {
			close_fd(&f->out); /* nobody reads any more */
			return;
		}
		advance(f, (size_t)n);
	}
	shift(&f->tx, &f->sent);
}

bool sp_packets_full(const struct sp_packets *f)
{
	return f->rx.len - f->taken >= SP_PACKETS_FULL;
}

static void read_some(struct sp_packets *f)
{
	for (int i = 0; f->in >= 0 && i < READS_AT_ONCE && !sp_packets_full(f); i++) {
		void *to = sp_buf_reserve(&f->rx, READ_SIZE);
		ssize_t n = to ? read(f->in, to, READ_SIZE) : -1;

		if (!to) {
			f->broken = true;
			return;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			f->ended = true;
			close_fd(&f->in);
			return;
		}
		f->rx.len += (size_t)n;
		f->received += (uint64_t)n;
	}
}

void sp_packets_pump(struct sp_packets *f)
{
	write_some(f);
	read_some(f);
}

bool sp_packets_next(struct sp_packets *f, struct sp_packet *ret)
{
	struct head h;

	shift(&f->rx, &f->taken);
	if (f->broken || f->rx.len - f->taken < sizeof(h))
		return false;
	memcpy(&h, f->rx.data + f->taken, sizeof(h));
	if (h.len > SP_PACKET_MAX) {
		f->broken = true;
		return false;
	}
	if (f->rx.len - f->taken - sizeof(h) < h.len)
		return false;
	*ret = (struct sp_packet){.type = (enum sp_packet_type)h.type,
		.id = h.id,
		.data = (const uint8_t *)f->rx.data + f->taken + sizeof(h),
		.len = h.len};
	f->taken += sizeof(h) + h.len;
	return true;
}

const char *sp_packets_line(struct sp_packets *f)
{
	char *begin, *end;

	shift(&f->rx, &f->taken);
	if (f->rx.len == f->taken)
		return NULL;
	begin = f->rx.data + f->taken;
	end = memchr(begin, '\n', f->rx.len - f->taken);
	if (!end && f->rx.len - f->taken > LINE_MAX_LEN)
		f->taken = f->rx.len;
	if (!end)
		return NULL;
	*end = '\0';
	f->taken += (size_t)(end - begin) + 1;
	return begin;
}

size_t sp_packets_waiting(const struct sp_packets *f)
{
	return f->lent_len + f->tx.len - f->sent;
}
