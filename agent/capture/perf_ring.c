/* See perf_ring.h. */
#include "perf_ring.h"

#include "perf_event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SCRATCH	 (64u << 10)
#define RING_MIN (64u << 10)

static int open_one(struct sp_perf_ring *r, int cpu)
{
	struct perf_event_attr attr;

	sp_perf_attr_owner(&attr);
	r->page = MAP_FAILED;
	r->cpu = cpu;
	r->fd = sp_perf_event_ask(&attr, 0, cpu);
	return r->fd < 0 ? r->fd : 0;
}

static int map_all(struct sp_perf_rings *r, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (uint32_t i = 0; i < r->count; i++) {
		r->ring[i].page = mmap(
			NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->ring[i].fd, 0);
		if (r->ring[i].page != MAP_FAILED)
			continue;
		int e = -errno;

		while (i-- > 0) {
			munmap(r->ring[i].page, page + bytes);
			r->ring[i].page = MAP_FAILED;
		}
		return e;
	}
	r->bytes = bytes;
	return 0;
}

static int open_all(struct sp_perf_rings *r, struct sp_err *err)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	r->ring = calloc((size_t)cpus, sizeof(*r->ring));
	r->scratch = malloc(SCRATCH);
	if (!r->ring || !r->scratch)
		return sp_err_set(err, -ENOMEM, "out of memory");
	for (int cpu = 0; cpu < cpus; cpu++) {
		int e = open_one(&r->ring[r->count], cpu);

		if (e == -ENODEV)
			continue; /* offline */
		if (e < 0)
			return sp_perf_event_explain("perf rings", e, err);
		r->count++;
	}
	return 0;
}

/* As large as @memory and the kernel allow; closes the rings where none is. */
static int map_most(struct sp_perf_rings *r, size_t memory, struct sp_err *err)
{
	size_t bytes = RING_MIN;
	int e;

	while (bytes * 2 * r->count <= memory && bytes < 4u << 20)
		bytes *= 2;
	while ((e = map_all(r, bytes)) == -EPERM && bytes > RING_MIN)
		bytes /= 2;
	if (e == 0)
		return 0;
	sp_perf_rings_close(r);
	return sp_err_set(err, e,
		"perf rings: the kernel gives this user no more locked memory "
		"(kernel.perf_event_mlock_kb or ulimit -l would help)");
}

int sp_perf_rings_open(struct sp_perf_rings *r, size_t memory, struct sp_err *err)
{
	int e;

	memset(r, 0, sizeof(*r));
	e = open_all(r, err);
	if (e < 0) {
		sp_perf_rings_close(r);
		return e;
	}
	return map_most(r, memory, err);
}

int sp_perf_rings_adopt(
	struct sp_perf_rings *r, const int *fds, uint32_t n, size_t memory, struct sp_err *err)
{
	memset(r, 0, sizeof(*r));
	r->ring = calloc(n, sizeof(*r->ring));
	r->scratch = malloc(SCRATCH);
	for (uint32_t i = 0; i < n && r->ring; i++)
		r->ring[r->count++] = (struct sp_perf_ring){fds[i], -1, MAP_FAILED};
	if (r->ring && r->scratch)
		return map_most(r, memory, err);
	for (uint32_t i = r->count; i < n; i++)
		close(fds[i]);
	sp_perf_rings_close(r);
	return sp_err_set(err, -ENOMEM, "out of memory");
}

void sp_perf_rings_close(struct sp_perf_rings *r)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (uint32_t i = 0; i < r->count; i++) {
		if (r->ring[i].page != MAP_FAILED)
			munmap(r->ring[i].page, page + r->bytes);
		close(r->ring[i].fd);
	}
	free(r->ring);
	free(r->scratch);
	memset(r, 0, sizeof(*r));
}

static void drain_one(struct sp_perf_rings *r, struct perf_event_mmap_page *page,
	void (*fn)(void *ctx, const struct perf_event_header *h), void *ctx, bool keep)
{
	const uint8_t *data = (const uint8_t *)page + sysconf(_SC_PAGESIZE);
	uint64_t tail = page->data_tail;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);

	while (tail < head) {
		uint64_t at = tail & (r->bytes - 1);
		const struct perf_event_header *h = (const void *)(data + at);
		uint16_t size = h->size;

		if (size < sizeof(*h))
			break;
		if (at + size > r->bytes) {
			size_t first = r->bytes - at;

			memcpy(r->scratch, data + at, first);
			memcpy(r->scratch + first, data, size - first);
			h = (const void *)r->scratch;
		}
		fn(ctx, h);
		tail += size;
		/* Release: the kernel may write over the record from here on. */
		if (!keep)
			__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
	}
}

bool sp_perf_rings_filling(const struct sp_perf_rings *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const struct perf_event_mmap_page *page = r->ring[i].page;
		uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_RELAXED);

		if (head - page->data_tail > r->bytes / 4)
			return true;
	}
	return false;
}

void sp_perf_rings_drain(struct sp_perf_rings *r,
	void (*fn)(void *ctx, const struct perf_event_header *h), void *ctx)
{
	for (uint32_t i = 0; i < r->count; i++)
		drain_one(r, r->ring[i].page, fn, ctx, false);
}

void sp_perf_rings_peek(struct sp_perf_rings *r,
	void (*fn)(void *ctx, const struct perf_event_header *h), void *ctx)
{
	for (uint32_t i = 0; i < r->count; i++)
		drain_one(r, r->ring[i].page, fn, ctx, true);
}
