/* See perf_chain.h. A page holds the chains of some twenty events; where the collector comes later
 * than that, samples in between have no kernel frames. */
#include "perf_chain.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

void sp_chains_attr(struct perf_event_attr *attr)
{
	attr->sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
	attr->exclude_callchain_user = 1;
}

void sp_chains_init(struct sp_chains *x, size_t memory)
{
	memset(x, 0, sizeof(*x));
	x->most = (uint32_t)(memory / (2 * page_size()));
}

void sp_chains_sweep(struct sp_chains *x)
{
	struct sp_chain *next, *c = atomic_exchange(&x->retired, NULL);

	for (; c; c = next) {
		next = c->next;
		munmap(c->page, 2 * page_size());
		free(c);
		x->mapped--;
	}
}

struct sp_chain *sp_chain_map(struct sp_chains *x, int fd)
{
	struct sp_chain *c = x->mapped < x->most ? malloc(sizeof(*c)) : NULL;

	if (!c)
		return NULL;
	c->page = mmap(NULL, 2 * page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (c->page == MAP_FAILED) {
		free(c);
		return NULL;
	}
	x->mapped++;
	return c;
}

void sp_chain_retire(struct sp_chains *x, struct sp_chain *chain)
{
	if (!chain)
		return;
	chain->next = atomic_load(&x->retired);
	while (!atomic_compare_exchange_weak(&x->retired, &chain->next, chain))
		;
}

uint32_t sp_chain_kernel(const uint64_t *ips, uint64_t n, uint64_t *ret, uint32_t max)
{
	uint32_t count = 0;

	for (uint64_t i = 0; i < n && count < max; i++)
		if (ips[i] < (uint64_t)-4095) /* else a marker: PERF_CONTEXT_… */
			ret[count++] = ips[i];
	return count;
}

/* Copies @n bytes at @at of a page that begins anew at its end. */
static void copy(const uint8_t *data, size_t size, uint64_t at, void *to, size_t n)
{
	size_t from = at & (size - 1), first = n < size - from ? n : size - from;

	memcpy(to, data + from, first);
	memcpy((uint8_t *)to + first, data, n - first);
}

bool sp_chain_next(
	struct sp_chain *chain, uint64_t until_ns, uint64_t *ret, uint32_t max, uint32_t *ret_count)
{
	size_t size = page_size();
	const uint8_t *data = (const uint8_t *)chain->page + size;
	uint64_t tail = chain->page->data_tail, v[512];
	uint64_t head = __atomic_load_n(&chain->page->data_head, __ATOMIC_ACQUIRE);
	bool found = false;

	while (!found && head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header h;
		size_t body;

		copy(data, size, tail, &h, sizeof(h));
		if (h.size < sizeof(h) || h.size > head - tail)
			break;
		body = h.size - sizeof(h) < sizeof(v) ? h.size - sizeof(h) : sizeof(v);
		copy(data, size, tail + sizeof(h), v, body);
		if (h.type == PERF_RECORD_SAMPLE && body >= 16) {
			uint64_t have = body / 8 - 2;

			if (v[0] > until_ns)
				break;
			*ret_count = sp_chain_kernel(v + 2, v[1] < have ? v[1] : have, ret, max);
			found = true;
		}
		tail += h.size;
	}
	__atomic_store_n(&chain->page->data_tail, tail, __ATOMIC_RELEASE);
	return found;
}
