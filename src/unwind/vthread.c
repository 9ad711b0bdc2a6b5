/* Virtual threads by their continuation: see vthread.h. The way is
 *   VThreadContinuation.target → its Runnable's val$vthread → Thread.tid, Thread.name → String.
 * References may be narrow, plain or coloured (ZGC): the first way that leads to an object of the
 * right class is kept. Offsets come from the fields' own description (JDK 21 and later). */
#include "unwind/vthread.h"

#include "base/utf8.h"
#include "unwind/bytes.h"
#include "unwind/layout.h"

#include <errno.h>
#include <string.h>

#define FIELDS_MAX 512
#define SUPERS_MAX 8
#define BYTES_MAX  1024
#define CONTENT	   8 /* where an object's class is */

/* Bits of a field's flags that say that more numbers follow (fieldInfo.hpp). */
#define FF_INITIALIZED 1u
#define FF_GENERIC     4u
#define FF_CONTENDED   16u

enum { CONTINUATION, RUNNABLE, THREAD, STRING };

static const char *const classes[SP_VTHREAD_CLASSES] = {
	[CONTINUATION] = "java/lang/VirtualThread$VThreadContinuation",
	[RUNNABLE] = "java/lang/VirtualThread$VThreadContinuation$1",
	[THREAD] = "java/lang/VirtualThread",
	[STRING] = "java/lang/String",
};

static bool symbol_is(const struct sp_hotspot *h, uint64_t sym, const char *text)
{
	char got[64];
	uint16_t len;

	return sym >= 4096 && sp_mem_u16(h->mem, sym + h->f.sym_length, &len) &&
	       len == strlen(text) && len <= sizeof(got) &&
	       sp_mem_read(h->mem, sym + h->f.sym_body, got, len) == 0 && !memcmp(got, text, len);
}

static bool klass_is(const struct sp_hotspot *h, uint64_t klass, const char *name)
{
	uint64_t sym;

	return klass >= 4096 && !(klass & 7) && sp_mem_u64(h->mem, klass + h->f.klass_name, &sym) &&
	       symbol_is(h, sym, name);
}

/* The offset of field @name that @klass itself declares. */
static bool own_field(
	const struct sp_hotspot *h, uint64_t klass, const char *name, uint32_t *ret_offset)
{
	uint64_t stream, pool, sym;
	struct sp_bytes b;
	uint32_t length, count;

	if (!sp_mem_u64(h->mem, klass + h->f.klass_fieldinfo, &stream) || stream < 4096 ||
		!sp_mem_u32(h->mem, stream, &length) || length > (1u << 20) ||
		!sp_mem_u64(h->mem, klass + h->f.klass_constants, &pool))
		return false;
	sp_bytes_init(&b, h->mem, stream + 4, stream + 4 + length);
	count = sp_bytes_unsigned5(&b, true);
	sp_bytes_unsigned5(&b, true); /* fields that the JVM has added follow the others */
	for (uint32_t i = 0; i < count && i < FIELDS_MAX && !b.failed; i++) {
		uint32_t index = sp_bytes_unsigned5(&b, true), flags;

		sp_bytes_unsigned5(&b, true); /* signature */
		*ret_offset = sp_bytes_unsigned5(&b, true);
		sp_bytes_unsigned5(&b, true); /* access */
		flags = sp_bytes_unsigned5(&b, true);
		for (uint32_t f = flags & (FF_INITIALIZED | FF_GENERIC | FF_CONTENDED); f;
			f &= f - 1)
			sp_bytes_unsigned5(&b, true);
		if (!b.failed && sp_mem_u64(h->mem, pool + h->f.sizeof_pool + 8ull * index, &sym) &&
			symbol_is(h, sym, name))
			return true;
	}
	return false;
}

static bool field(const struct sp_hotspot *h, uint64_t klass, const char *name, uint32_t *ret)
{
	for (int i = 0; i < SUPERS_MAX && klass >= 4096; i++) {
		if (own_field(h, klass, name, ret))
			return true;
		if (!sp_mem_u64(h->mem, klass + h->f.klass_super, &klass))
			return false;
	}
	return false;
}

static uint64_t static_u64(const struct sp_hotspot *h, uint64_t addr)
{
	uint64_t v = 0;

	if (addr)
		sp_mem_u64(h->mem, addr, &v);
	return v;
}

static uint32_t static_u32(const struct sp_hotspot *h, uint64_t addr)
{
	uint32_t v = 0;

	if (addr)
		sp_mem_u32(h->mem, addr, &v);
	return v;
}

/* The class of an object, by the way that class pointers are written here; 0 where it has none. */
static uint64_t klass_of(const struct sp_hotspot *h, uint64_t oop, bool narrow)
{
	uint64_t klass = 0;
	uint32_t n;

	if (oop < 4096 || oop & 7)
		return 0;
	if (!narrow)
		return sp_mem_u64(h->mem, oop + CONTENT, &klass) ? klass : 0;
	if (!sp_mem_u32(h->mem, oop + CONTENT, &n) || !n)
		return 0;
	return static_u64(h, h->f.narrow_klass_base) +
	       ((uint64_t)n << static_u32(h, h->f.narrow_klass_shift));
}

/* Learns which way class pointers are written, from an object of a class that is known. */
static bool is_first(struct sp_hotspot *h, uint64_t oop)
{
	struct sp_vthreads *v = &h->vthreads;

	for (int narrow = 1; narrow >= 0; narrow--) {
		uint64_t klass = klass_of(h, oop, narrow);

		if (klass_is(h, klass, classes[CONTINUATION])) {
			v->narrow_klass = narrow;
			v->klass[CONTINUATION] = klass;
			return true;
		}
	}
	return false;
}

static bool is_a(struct sp_hotspot *h, uint64_t oop, int class)
{
	struct sp_vthreads *v = &h->vthreads;
	uint64_t klass;

	if (!v->klass[CONTINUATION])
		return class == CONTINUATION && is_first(h, oop);
	klass = klass_of(h, oop, v->narrow_klass);
	if (!v->klass[class] && klass_is(h, klass, classes[class]))
		v->klass[class] = klass;
	return klass && klass == v->klass[class];
}

/* A reference, in the @way'th manner of writing it: narrow, plain, or coloured with so many bits.
 */
static uint64_t reference(const struct sp_hotspot *h, uint64_t addr, unsigned way)
{
	uint64_t v = 0;
	uint32_t n = 0;

	if (way > 0)
		return sp_mem_u64(h->mem, addr, &v) ? v >> (way == 1 ? 0 : 11 + way) : 0;
	if (!sp_mem_u32(h->mem, addr, &n) || !n)
		return 0;
	return static_u64(h, h->f.narrow_oop_base) +
	       ((uint64_t)n << static_u32(h, h->f.narrow_oop_shift));
}

#define WAYS 6 /* ZGC shifts by 13 to 16 */

static uint64_t follow(struct sp_hotspot *h, uint64_t addr, int class)
{
	struct sp_vthreads *v = &h->vthreads;

	for (unsigned way = v->way ? v->way - 1 : 0; way < WAYS; way++) {
		uint64_t oop = reference(h, addr, way);

		if (is_a(h, oop, class)) {
			v->way = way + 1;
			return oop;
		}
		if (v->way)
			break;
	}
	return 0;
}

static bool find_field(struct sp_hotspot *h, int class, const char *name, uint32_t *at)
{
	return *at || field(h, h->vthreads.klass[class], name, at);
}

/* A String's bytes, Latin-1 or UTF-16 as the machine writes it, into @to. */
static void decode(const uint8_t *bytes, uint32_t len, bool utf16, char to[SP_VTHREAD_NAME])
{
	char *p = to, *end = to + SP_VTHREAD_NAME - 5;
	uint32_t high = 0;

	for (uint32_t i = 0; i + utf16 < len && p < end; i += 1u + utf16) {
		uint32_t ch = utf16 ? bytes[i] | (uint32_t)bytes[i + 1] << 8 : bytes[i];

		if (high && ch >= 0xdc00 && ch < 0xe000)
			p += sp_utf8_put(p, 0x10000 + ((high - 0xd800) << 10) + (ch - 0xdc00));
		else if (ch < 0xd800 || ch >= 0xe000)
			p += sp_utf8_put(p, ch);
		high = ch >= 0xd800 && ch < 0xdc00 ? ch : 0;
	}
	*p = 0;
}

static bool read_string(struct sp_hotspot *h, uint64_t string, char to[SP_VTHREAD_NAME])
{
	struct sp_vthreads *v = &h->vthreads;
	uint32_t len_at = v->narrow_klass ? 12 : 16, len;
	uint32_t data_at = v->narrow_klass ? 16 : h->version >= 23 ? 20 : 24;
	uint8_t bytes[BYTES_MAX], coder;
	uint64_t array;

	if (!find_field(h, STRING, "value", &v->value) ||
		!find_field(h, STRING, "coder", &v->coder) ||
		!sp_mem_u8(h->mem, string + v->coder, &coder) || coder > 1)
		return false;
	array = reference(h, string + v->value, v->way - 1);
	if (array < 4096 || !sp_mem_u32(h->mem, array + len_at, &len))
		return false;
	if (len > sizeof(bytes))
		len = sizeof(bytes);
	if (len && sp_mem_read(h->mem, array + data_at, bytes, len) < 0)
		return false;
	decode(bytes, len, coder, to);
	return true;
}

int sp_vthread_get(struct sp_hotspot *h, uint64_t continuation, struct sp_vthread *ret)
{
	struct sp_vthreads *v = &h->vthreads;
	uint64_t runnable, thread, name;

	if (h->f.klass_fieldinfo == SP_NO_FIELD || h->f.klass_constants == SP_NO_FIELD ||
		h->f.klass_super == SP_NO_FIELD || v->unknown)
		return -ENOTSUP;
	if (!is_a(h, continuation, CONTINUATION))
		return -ESTALE;
	if (!find_field(h, CONTINUATION, "target", &v->target)) {
		v->unknown = true;
		return -ENOTSUP;
	}
	runnable = follow(h, continuation + v->target, RUNNABLE);
	if (!runnable || !find_field(h, RUNNABLE, "val$vthread", &v->vthread))
		return -ESTALE;
	thread = follow(h, runnable + v->vthread, THREAD);
	if (!thread || !find_field(h, THREAD, "name", &v->name) ||
		!find_field(h, THREAD, "tid", &v->tid) ||
		!sp_mem_u64(h->mem, thread + v->tid, &ret->id))
		return -ESTALE;
	name = follow(h, thread + v->name, STRING);
	return name && read_string(h, name, ret->name) ? 0 : -ESTALE;
}
