/* See perf_chain.h. */
#include "perf_chain.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Events that the pages hold, some fifty; and words of those that wait for a signal: some forty
 * have frames, of five hundred more only the moment is kept, and later ones are counted. */
#define DATA_PAGES 2u
#define WORDS_MAX  1024u
#define WORDS_FULL (WORDS_MAX / 2)
#define IDLE_NS	   1000000000ull

#define SAME (1ull << 63) /* beside a time: the frames are those of the one before */

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t map_size(void)
{
	return (1 + DATA_PAGES) * page_size();
}

void sp_chains_attr(struct perf_event_attr *attr)
{
	attr->sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
	attr->exclude_callchain_user = 1;
}

void sp_chains_init(struct sp_chains *x, size_t memory)
{
	size_t each = map_size() + WORDS_MAX * sizeof(uint64_t);

	*x = (struct sp_chains){.most = (uint32_t)(memory / each)};
}

void sp_chains_drain(struct sp_chains *x)
{
	struct sp_chain *c, **at = &x->all;

	while ((c = *at)) {
		if (!atomic_load(&c->gone)) {
			sp_chain_read(x, c);
			at = &c->next;
			continue;
		}
		*at = c->next;
		munmap(c->page, map_size());
		free(c->words);
		free(c);
		x->mapped--;
	}
}

bool sp_chains_room(struct sp_chains *x, uint64_t now_ns)
{
	struct sp_chain *idle = NULL, *mine;

	if (x->mapped < x->most)
		return !x->refused;
	for (struct sp_chain *c = x->all; c; c = c->next)
		if (!idle || c->used_ns < idle->used_ns)
			idle = c;
	mine = idle;
	if (idle && idle->used_ns + IDLE_NS < now_ns &&
		atomic_compare_exchange_strong(idle->place, &mine, NULL))
		sp_chain_retire(idle);
	return false;
}

void sp_chain_map(struct sp_chains *x, int fd, _Atomic(struct sp_chain *) *place, uint64_t now_ns)
{
	struct sp_chain *c = calloc(1, sizeof(*c));

	if (!c)
		return;
	c->page = mmap(NULL, map_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (c->page == MAP_FAILED) {
		x->refused = true;
		free(c);
		return;
	}
	c->place = place;
	c->used_ns = now_ns;
	c->next = x->all;
	x->all = c;
	x->mapped++;
	atomic_store(place, c);
}

void sp_chain_retire(struct sp_chain *chain)
{
	if (chain)
		atomic_store(&chain->gone, true);
}

uint32_t sp_chain_kernel(const uint64_t *ips, uint64_t n, uint64_t *ret, uint32_t max)
{
	uint32_t count = 0;

	for (uint64_t i = 0; i < n && count < max; i++)
		if (ips[i] < (uint64_t)-4095) /* else a marker: PERF_CONTEXT_… */
			ret[count++] = ips[i];
	return count;
}

static bool make_room(struct sp_chain *c, uint32_t words)
{
	uint32_t room = c->room ? c->room : 256;
	void *to;

	while (room < c->len + words && room < WORDS_MAX)
		room *= 2;
	if (room < c->len + words)
		return false;
	to = room > c->room ? realloc(c->words, room * sizeof(*c->words)) : c->words;
	if (!to)
		return false;
	c->words = to;
	c->room = room;
	return true;
}

static void count_more(struct sp_chain *c, uint64_t time_ns)
{
	if (!c->more++)
		c->more_ns = time_ns;
	c->more_end_ns = time_ns;
}

/* @v: time, count and addresses, @n words in all. */
static void keep_record(struct sp_chain *c, const uint64_t *v, uint64_t n)
{
	uint64_t count = v[1] < n - 2 ? v[1] : n - 2;
	bool full = c->len && c->len + n > WORDS_FULL;

	if (!c->since_ns)
		c->since_ns = v[0];
	if (c->more || !make_room(c, full ? 1 : (uint32_t)n)) {
		count_more(c, v[0]);
		return;
	}
	if (full) {
		c->words[c->len++] = v[0] | SAME;
		return;
	}
	c->words[c->len] = v[0];
	c->words[c->len + 1] =
		sp_chain_kernel(v + 2, count, c->words + c->len + 2, (uint32_t)(n - 2));
	c->len += 2 + (uint32_t)c->words[c->len + 1];
}

/* Forgets what was read, but for frames that others share. */
static void compact(struct sp_chain *c)
{
	uint32_t from = c->at;

	if (c->more || (c->at < c->len && c->words[c->at] & SAME))
		from = c->last;
	c->len -= from;
	c->at -= from;
	c->last -= c->last < from ? c->last : from;
	memmove(c->words, c->words + from, c->len * sizeof(*c->words));
}

/* Copies @n bytes at @at of pages that begin anew at their end. */
static void copy(const uint8_t *data, size_t size, uint64_t at, void *to, size_t n)
{
	size_t from = at & (size - 1), first = n < size - from ? n : size - from;

	memcpy(to, data + from, first);
	memcpy((uint8_t *)to + first, data, n - first);
}

void sp_chain_read(struct sp_chains *x, struct sp_chain *chain)
{
	size_t size = DATA_PAGES * page_size();
	const uint8_t *data = (const uint8_t *)chain->page + page_size();
	uint64_t tail = chain->page->data_tail, v[256];
	uint64_t head = __atomic_load_n(&chain->page->data_head, __ATOMIC_ACQUIRE);

	if (chain->at)
		compact(chain);
	while (head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header h;
		size_t body;

		copy(data, size, tail, &h, sizeof(h));
		if (h.size < sizeof(h) || h.size > head - tail)
			break;
		body = h.size - sizeof(h) < sizeof(v) ? h.size - sizeof(h) : sizeof(v);
		copy(data, size, tail + sizeof(h), v, body);
		if (h.type == PERF_RECORD_SAMPLE && body >= 16)
			keep_record(chain, v, body / 8);
		else if (h.type == PERF_RECORD_LOST && body >= 16)
			x->lost += v[1];
		tail += h.size;
	}
	__atomic_store_n(&chain->page->data_tail, tail, __ATOMIC_RELEASE);
}

/* The next of those that were only counted: they came one like the other. */
static bool next_counted(struct sp_chain *c, uint64_t until_ns)
{
	if (!c->more || c->more_ns > until_ns)
		return false;
	c->more--;
	if (c->more)
		c->more_ns += (c->more_end_ns - c->more_ns) / c->more;
	return true;
}

static bool next_kept(struct sp_chain *c, uint64_t until_ns)
{
	const uint64_t *v = c->words + c->at;

	if ((*v & ~SAME) > until_ns)
		return false;
	if (*v & SAME) {
		c->at++;
		return true;
	}
	c->last = c->at;
	c->at += 2 + (uint32_t)v[1];
	return true;
}

bool sp_chain_next(
	struct sp_chain *chain, uint64_t until_ns, uint64_t *ret, uint32_t max, uint32_t *ret_count)
{
	static const uint64_t none[2];
	const uint64_t *v;

	if (chain->at < chain->len ? !next_kept(chain, until_ns) : !next_counted(chain, until_ns))
		return false;
	v = chain->len ? chain->words + chain->last : none;
	*ret_count = v[1] < max ? (uint32_t)v[1] : max;
	memcpy(ret, v + 2, *ret_count * sizeof(*ret));
	if (chain->at == chain->len && !chain->more)
		chain->at = chain->len = chain->last = 0;
	return true;
}
