/* Opens HotSpot for the unwinder: code heaps, parts of the interpreter, list of Java threads. */
#include "unwind/layout.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 100000u

static bool read_space(const struct sp_hotspot *h, uint64_t space, struct sp_heap *ret)
{
	return sp_mem_u64(h->mem, space + h->f.space_low_boundary, &ret->low) &&
	       sp_mem_u64(h->mem, space + h->f.space_high_boundary, &ret->end) &&
	       ret->low < ret->end;
}

void sp_layout_committed(const struct sp_hotspot *h, struct sp_heap *heap)
{
	uint64_t high, map_high;

	if (!sp_mem_u64(h->mem, heap->heap + h->f.heap_memory + h->f.space_high, &high) ||
		!sp_mem_u64(h->mem, heap->heap + h->f.heap_segmap + h->f.space_high, &map_high) ||
		high <= heap->committed || high > heap->end)
		return;
	heap->committed = high;
	if (h->mem->stable) {
		h->mem->stable(h->mem->ctx, heap->low, high);
		h->mem->stable(h->mem->ctx, heap->segmap, map_high);
	}
}

int sp_layout_heaps(struct sp_hotspot *h, struct sp_err *err)
{
	uint64_t array, data;
	uint32_t count;

	if (!sp_mem_u64(h->mem, h->f.code_heaps, &array) ||
		!sp_mem_u32(h->mem, array + h->f.array_len, &count) ||
		!sp_mem_u64(h->mem, array + h->f.array_data, &data) || count == 0 ||
		count > SP_HEAPS_MAX)
		return sp_err_set(err, -ENOTSUP, "the JVM's list of code heaps cannot be read");
	h->code_low = ~0ull;
	for (uint32_t i = 0; i < count; i++) {
		struct sp_heap *heap = &h->heaps[i];

		if (!sp_mem_u64(h->mem, data + 8ull * i, &heap->heap) ||
			!read_space(h, heap->heap + h->f.heap_memory, heap) ||
			!sp_mem_u64(h->mem, heap->heap + h->f.heap_segmap + h->f.space_low,
				&heap->segmap) ||
			!sp_mem_u32(h->mem, heap->heap + h->f.heap_log2, &heap->log2_segment) ||
			heap->log2_segment > 20)
			return sp_err_set(err, -ENOTSUP, "a code heap of the JVM cannot be read");
		sp_layout_committed(h, heap);
		if (heap->low < h->code_low)
			h->code_low = heap->low;
		if (heap->end > h->code_high)
			h->code_high = heap->end;
		h->heap_count = i + 1;
	}
	return 0;
}

/* Where a method entry sets up its frame: before it there is none. */
static uint64_t find_enter(const struct sp_hotspot *h, uint64_t start, uint64_t end)
{
	uint8_t b[4];

	if (end - start > 1024)
		end = start + 1024;
	for (uint64_t p = start; p + 4 <= end; p++) {
		if (sp_mem_read(h->mem, p, b, 4) < 0)
			return 0;
		if (b[0] == 0x55 && b[1] == 0x48 &&
			((b[2] == 0x8b && b[3] == 0xec) || (b[2] == 0x89 && b[3] == 0xe5)))
			return p;
	}
	return 0;
}

static void add_codelet(struct sp_hotspot *h, uint64_t at, uint32_t size)
{
	struct sp_codelet *c = &h->codelets[h->codelet_count];
	uint64_t description;
	char text[64] = "";

	c->start = at;
	c->end = at + size;
	if (sp_mem_u64(h->mem, at + h->f.codelet_description, &description) && description)
		sp_mem_str(h->mem, description, text, sizeof(text));
	c->entry = !strncmp(text, "method entry point", 18);
	c->enter = c->entry ? find_enter(h, at, c->end) : 0;
	h->codelet_count++;
}

void sp_layout_codelets(struct sp_hotspot *h)
{
	uint64_t queue, buffer, at;
	uint32_t end, size;

	if (!sp_mem_u64(h->mem, h->f.interpreter, &queue) || !queue ||
		!sp_mem_u64(h->mem, queue + h->f.queue_buffer, &buffer) ||
		!sp_mem_u32(h->mem, queue + h->f.queue_end, &end))
		return;
	h->interp_low = buffer;
	h->interp_high = buffer + end;
	for (at = buffer; at < h->interp_high && h->codelet_count < SP_CODELETS; at += size) {
		if (!sp_mem_u32(h->mem, at + h->f.codelet_size, &size) || size < 16 ||
			size > h->interp_high - at)
			return;
		add_codelet(h, at, size);
	}
}

static void find_version(struct sp_hotspot *h)
{
	uint32_t v = 0;

	if (h->f.vm_version)
		sp_mem_u32(h->mem, h->f.vm_version, &v);
	h->version = (int)v;
}

int sp_hotspot_new(struct sp_hotspot **ret, const struct sp_mem *mem,
	const struct sp_modules *modules, struct sp_err *err)
{
	struct sp_hotspot *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return sp_err_set(err, -ENOMEM, "no memory for the JVM's layout");
	h->mem = mem;
	h->code_methods = calloc(SP_CODE_METHODS, sizeof(*h->code_methods));
	r = h->code_methods ? sp_vmstructs_read(&h->f, mem, modules, err)
			    : sp_err_set(err, -ENOMEM, "no memory for the JVM's layout");
	if (r == 0)
		r = sp_layout_heaps(h, err);
	if (r == 0 && !sp_mem_u64(mem, h->f.call_stub_return, &h->call_stub_return))
		r = sp_err_set(err, -ENOTSUP, "the JVM's call stub cannot be found");
	if (r < 0) {
		sp_hotspot_free(h);
		return r;
	}
	find_version(h);
	sp_layout_codelets(h);
	*ret = h;
	return 0;
}

void sp_hotspot_free(struct sp_hotspot *h)
{
	if (!h)
		return;
	sp_stubs_free(h->stubs);
	free(h->code_methods);
	free(h);
}

int sp_hotspot_version(const struct sp_hotspot *h)
{
	return h->version;
}

bool sp_hotspot_archive(const struct sp_hotspot *h, uint64_t *ret_from, uint64_t *ret_to)
{
	return h->f.archive_from && h->f.archive_to &&
	       sp_mem_u64(h->mem, h->f.archive_from, ret_from) &&
	       sp_mem_u64(h->mem, h->f.archive_to, ret_to) && *ret_from && *ret_from < *ret_to;
}

void sp_hotspot_anchor(const struct sp_hotspot *h, struct sp_anchor_layout *ret)
{
	ret->anchor = h->f.thread_anchor;
	ret->sp = h->f.anchor_sp;
	ret->pc = h->f.anchor_pc;
	ret->fp = h->f.anchor_fp;
}

static bool read_thread(const struct sp_hotspot *h, uint64_t thread, struct sp_java_thread *ret)
{
	uint64_t os;
	uint32_t tid;

	*ret = (struct sp_java_thread){.thread = thread};
	if (!sp_mem_u64(h->mem, thread + h->f.thread_osthread, &os) || !os ||
		!sp_mem_u32(h->mem, os + h->f.os_thread_id, &tid))
		return false;
	ret->tid = tid;
	if (h->f.os_pthread_id != SP_NO_FIELD)
		sp_mem_u64(h->mem, os + h->f.os_pthread_id, &ret->pthread);
	if (h->f.thread_stack_base != SP_NO_FIELD) {
		sp_mem_u64(h->mem, thread + h->f.thread_stack_base, &ret->stack_base);
		sp_mem_u64(h->mem, thread + h->f.thread_stack_size, &ret->stack_size);
	}
	return tid != 0;
}

/* The chain may change meanwhile: what is missed or read twice, the next look corrects. */
static int chained_threads(const struct sp_hotspot *h, sp_hotspot_known_fn *known, void *ctx,
	struct sp_java_thread *ret, uint32_t max)
{
	uint32_t found = 0;
	uint64_t thread;

	if (!sp_mem_u64(h->mem, h->f.thread_first, &thread))
		return -EFAULT;
	for (uint32_t i = 0; thread && i < THREADS_MAX; i++) {
		struct sp_java_thread t;

		if (!(known && known(ctx, thread)) && read_thread(h, thread, &t)) {
			if (found < max)
				ret[found] = t;
			found++;
		}
		if (!sp_mem_u64(h->mem, thread + h->f.thread_next, &thread))
			break;
	}
	return (int)found;
}

int sp_hotspot_threads(const struct sp_hotspot *h, sp_hotspot_known_fn *known, void *ctx,
	struct sp_java_thread *ret, uint32_t max)
{
	uint64_t list, threads, thread;
	uint32_t count, found = 0;

	if (!h->f.thread_list && h->f.thread_first && h->f.thread_next != SP_NO_FIELD &&
		h->f.thread_osthread != SP_NO_FIELD && h->f.os_thread_id != SP_NO_FIELD)
		return chained_threads(h, known, ctx, ret, max);
	if (!h->f.thread_list || h->f.list_length == SP_NO_FIELD ||
		h->f.thread_osthread == SP_NO_FIELD || h->f.os_thread_id == SP_NO_FIELD)
		return -ENOTSUP;
	if (!sp_mem_u64(h->mem, h->f.thread_list, &list) ||
		!sp_mem_u32(h->mem, list + h->f.list_length, &count) ||
		!sp_mem_u64(h->mem, list + h->f.list_threads, &threads) || count > THREADS_MAX)
		return -EFAULT;
	for (uint32_t i = 0; i < count; i++) {
		struct sp_java_thread t;

		if (!sp_mem_u64(h->mem, threads + 8ull * i, &thread) ||
			(known && known(ctx, thread)) || !read_thread(h, thread, &t))
			continue;
		if (found < max)
			ret[found] = t;
		found++;
	}
	return (int)found;
}

void sp_hotspot_code_unloaded(struct sp_hotspot *h, uint64_t addr)
{
	uint32_t i = __atomic_fetch_add(&h->unload_next, 1, __ATOMIC_RELAXED) % SP_UNLOADS;

	__atomic_store_n(&h->unloads[i].addr, addr, __ATOMIC_RELAXED);
	__atomic_store_n(&h->unloads[i].time_ns, sp_clock_mono_ns(), __ATOMIC_RELEASE);
}

int sp_hotspot_keep_stubs(struct sp_hotspot *h, size_t cap)
{
	return h->stubs ? 0 : sp_stubs_new(&h->stubs, cap);
}

/* Adapters come by the thousand, each a blob of its own with this name. */
void sp_hotspot_stub_generated(struct sp_hotspot *h, const char *name, uint64_t begin, uint64_t end)
{
	if (h->stubs && name && strncmp(name, "I2C/C2I", 7) != 0)
		sp_stubs_add(h->stubs, name, begin, end);
}
