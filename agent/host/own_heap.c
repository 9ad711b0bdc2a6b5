/* See own_heap.h. Small blocks come from chunks, by size classes with a list of free blocks each;
 * large ones are mappings of their own. Chunks stay until no small block is in use. */
#include "own_heap.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define CHUNK	((size_t)256 << 10)
#define LARGEST ((size_t)32 << 10) /* of a block in a chunk */
#define PAGE	((size_t)4096)
#define CLASSES 21 /* 32, 48, 64, 96, … LARGEST */
#define MAPPED	CLASSES

/* Before each block. */
struct head {
	size_t size; /* with the head; of a mapping the whole of it */
	size_t class;
};

struct chunk {
	struct chunk *next;
	size_t unused; /* keeps what follows aligned */
};

struct free_block {
	struct free_block *next;
};

static struct {
	pthread_mutex_t lock;
	struct chunk *chunks;
	char *at, *end; /* what is left of the newest chunk */
	struct free_block *free[CLASSES];
	size_t used; /* small blocks */
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t mapped_bytes;

static size_t class_size(size_t class)
{
	size_t base = (size_t)32 << class / 2;

	return class % 2 ? base + base / 2 : base;
}

static size_t class_of(size_t size)
{
	size_t class = 0;

	while (class_size(class) < size)
		class ++;
	return class;
}

static void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	__atomic_fetch_add(&mapped_bytes, size, __ATOMIC_RELAXED);
	return p;
}

static void unmap(void *p, size_t size)
{
	munmap(p, size);
	__atomic_fetch_sub(&mapped_bytes, size, __ATOMIC_RELAXED);
}

static size_t whole_pages(size_t size)
{
	return size > SIZE_MAX - PAGE ? 0 : (size + PAGE - 1) & ~(PAGE - 1);
}

static void *large(size_t size)
{
	size_t whole = whole_pages(size);
	struct head *h = whole ? map(whole) : NULL;

	if (!h)
		return NULL;
	*h = (struct head){whole, MAPPED};
	return h + 1;
}

static bool more_locked(size_t size)
{
	struct chunk *c;

	if ((size_t)(heap.end - heap.at) >= size)
		return true;
	c = map(CHUNK);
	if (!c)
		return false;
	c->next = heap.chunks;
	heap.chunks = c;
	heap.at = (char *)(c + 1);
	heap.end = (char *)c + CHUNK;
	return true;
}

static struct head *small_locked(size_t class)
{
	struct free_block *b = heap.free[class];
	struct head *h = NULL;

	if (b) {
		heap.free[class] = b->next;
		h = (struct head *)b - 1;
	} else if (more_locked(class_size(class))) {
		h = (struct head *)heap.at;
		heap.at += class_size(class);
	}
	heap.used += h != NULL;
	return h;
}

void *sp_own_malloc(size_t size)
{
	size_t with_head = size + sizeof(struct head), class;
	struct head *h;

	if (with_head < size)
		return NULL;
	if (with_head > LARGEST)
		return large(with_head);
	class = class_of(with_head);
	pthread_mutex_lock(&heap.lock);
	h = small_locked(class);
	pthread_mutex_unlock(&heap.lock);
	if (!h)
		return NULL;
	*h = (struct head){class_size(class), class};
	return h + 1;
}

void *sp_own_calloc(size_t n, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(n, size, &bytes))
		return NULL;
	p = sp_own_malloc(bytes);
	if (p && ((struct head *)p - 1)->class != MAPPED)
		memset(p, 0, bytes);
	return p;
}

/* Takes the chunks out of the heap, for nobody uses a block of them. */
static struct chunk *empty_locked(void)
{
	struct chunk *c = heap.chunks;

	heap.chunks = NULL;
	heap.at = heap.end = NULL;
	memset(heap.free, 0, sizeof(heap.free));
	return c;
}

void sp_own_free(void *p)
{
	struct chunk *c = NULL, *next;
	struct free_block *b = p;
	struct head *h;

	if (!p)
		return;
	h = (struct head *)p - 1;
	if (h->class == MAPPED) {
		unmap(h, h->size);
		return;
	}
	pthread_mutex_lock(&heap.lock);
	b->next = heap.free[h->class];
	heap.free[h->class] = b;
	if (--heap.used == 0)
		c = empty_locked();
	pthread_mutex_unlock(&heap.lock);
	for (; c; c = next) {
		next = c->next;
		unmap(c, CHUNK);
	}
}

static void *grow_mapping(struct head *h, size_t size)
{
	size_t whole = whole_pages(size), before = h->size;
	struct head *moved = whole ? mremap(h, before, whole, MREMAP_MAYMOVE) : MAP_FAILED;

	if (moved == MAP_FAILED)
		return NULL;
	__atomic_fetch_add(&mapped_bytes, whole - before, __ATOMIC_RELAXED);
	moved->size = whole;
	return moved + 1;
}

void *sp_own_realloc(void *p, size_t size)
{
	struct head *h;
	size_t has;
	void *to;

	if (!p)
		return sp_own_malloc(size);
	h = (struct head *)p - 1;
	if (size > SIZE_MAX - sizeof(*h))
		return NULL;
	if (h->class == MAPPED && size + sizeof(*h) > LARGEST)
		return grow_mapping(h, size + sizeof(*h));
	has = h->size - sizeof(*h);
	if (h->class != MAPPED && size <= has && size >= has / 2)
		return p;
	to = sp_own_malloc(size);
	if (!to)
		return NULL;
	memcpy(to, p, size < has ? size : has);
	sp_own_free(p);
	return to;
}

static char *copy_text(const char *s, size_t n)
{
	char *to = sp_own_malloc(n + 1);

	if (!to)
		return NULL;
	memcpy(to, s, n);
	to[n] = '\0';
	return to;
}

char *sp_own_strndup(const char *s, size_t max)
{
	return copy_text(s, strnlen(s, max));
}

char *sp_own_strdup(const char *s)
{
	return copy_text(s, strlen(s));
}

size_t sp_own_heap_mapped(void)
{
	return __atomic_load_n(&mapped_bytes, __ATOMIC_RELAXED);
}
