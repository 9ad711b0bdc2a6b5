/* Method* to names and lines, with a cache that starts over when full. */
#include "unwind/method_names.h"

#include "base/arena.h"
#include "unwind/bytes.h"
#include "unwind/layout.h"

#include <errno.h>
#include <string.h>

#define CAP_DEFAULT (1u << 20)
#define LINES	    1024u
#define SYMBOL_MAX  4096u
#define LINE_STEPS  70000u
#define CODES	    4

/* A Symbol as it was when read: its hash never changes while it lives. */
struct symbol {
	uint64_t addr;
	uint32_t hash;
};

struct entry {
	struct entry *next;
	uint64_t method, const_method, pool, klass;
	struct symbol class_sym, name_sym, sig_sym;
	uint64_t batch;	       /* last checked in */
	bool replaced;	       /* and found to be another method by then */
	uint64_t codes[CODES]; /* compiled code that it was checked with */
	uint32_t next_code;
	uint64_t serial;
	struct sp_name name;
};

struct line_entry {
	uint64_t serial;
	int32_t bci, line;
};

struct sp_method_names {
	struct sp_arena arena; /* holds this struct too */
	size_t base;	       /* what remains after a reset */
	const struct sp_mem *mem;
	const struct sp_hotspot *h;
	struct entry **buckets;
	uint32_t mask;
	struct line_entry *lines;
	uint64_t batch, change; /* change: the last batch before which methods may have gone */
	const volatile uint64_t *unloaded;	/* the JVM's count of classes; NULL: not known */
	uint64_t unloaded_before, unloaded_now; /* at the begin of the last batch, of this one */
	uint64_t serial, resets;
	char scratch[SYMBOL_MAX + 1];
};

int sp_method_names_new(struct sp_method_names **ret, const struct sp_mem *mem,
	const struct sp_hotspot *h, size_t cap)
{
	struct sp_arena arena;
	struct sp_method_names *n;
	uint32_t buckets = 64;
	int r;

	if (!cap)
		cap = CAP_DEFAULT;
	r = sp_arena_init(&arena, cap);
	if (r < 0)
		return r;
	while (buckets * 2ull * 512 < cap)
		buckets *= 2;
	n = sp_arena_alloc(&arena, sizeof(*n));
	if (n) {
		n->buckets = sp_arena_alloc(&arena, buckets * sizeof(*n->buckets));
		n->lines = sp_arena_alloc(&arena, LINES * sizeof(*n->lines));
	}
	if (!n || !n->buckets || !n->lines) {
		sp_arena_done(&arena);
		return -ENOMEM;
	}
	n->mask = buckets - 1;
	n->mem = mem;
	n->h = h;
	n->batch = 1;
	n->base = arena.used;
	n->arena = arena;
	*ret = n;
	return 0;
}

void sp_method_names_free(struct sp_method_names *n)
{
	if (n)
		sp_arena_done_own(&n->arena);
}

size_t sp_method_names_bytes(const struct sp_method_names *n)
{
	return n->arena.used;
}

uint64_t sp_method_names_resets(const struct sp_method_names *n)
{
	return n->resets;
}

void sp_method_names_watch(struct sp_method_names *n, const volatile uint64_t *unloaded)
{
	n->unloaded = unloaded;
}

void sp_method_names_batch(struct sp_method_names *n, bool changed)
{
	n->batch++;
	n->unloaded_before = n->unloaded_now;
	n->unloaded_now = n->unloaded ? *n->unloaded : 0;
	if (changed)
		n->change = n->batch;
}

uint64_t sp_method_names_change(const struct sp_method_names *n)
{
	return n->change;
}

static void start_over(struct sp_method_names *n)
{
	memset(n->buckets, 0, (n->mask + 1) * sizeof(*n->buckets));
	n->arena.used = n->base;
	n->resets++;
}

static uint32_t bucket_of(const struct sp_method_names *n, uint64_t method)
{
	return (uint32_t)((method * 0x9e3779b97f4a7c15ull) >> 40) & n->mask;
}

/* A Symbol's hash; false where it is freed (no references) or unreadable. */
static bool symbol_hash(const struct sp_method_names *n, uint64_t sym, uint32_t *ret)
{
	const struct sp_fields *f = &n->h->f;
	uint32_t both;
	uint16_t hash, refs;

	if (sym < 4096 || (sym & 7))
		return false;
	if (f->sym_refcount == SP_NO_FIELD) { /* since 12: both in one word */
		if (!sp_mem_u32(n->mem, sym + f->sym_hash, &both) || !(both & 0xffff))
			return false;
		*ret = both >> 16;
		return true;
	}
	if (!sp_mem_u16(n->mem, sym + f->sym_hash, &hash) ||
		!sp_mem_u16(n->mem, sym + f->sym_refcount, &refs) || !refs)
		return false;
	*ret = hash;
	return true;
}

static bool symbol_same(const struct sp_method_names *n, const struct symbol *s)
{
	uint32_t hash;

	return symbol_hash(n, s->addr, &hash) && hash == s->hash;
}

static bool pool_symbol(
	const struct sp_method_names *n, uint64_t pool, uint16_t index, uint64_t *ret)
{
	uint32_t length;

	return sp_mem_u32(n->mem, pool + n->h->f.pool_length, &length) && index > 0 &&
	       index < length && sp_mem_u64(n->mem, pool + n->h->f.sizeof_pool + 8ull * index, ret);
}

/* Copies a symbol's text into the arena. */
static const char *symbol_text(
	struct sp_method_names *n, uint64_t sym, struct symbol *ret, uint16_t *ret_len)
{
	uint16_t len;
	char *s;

	if (!symbol_hash(n, sym, &ret->hash) ||
		!sp_mem_u16(n->mem, sym + n->h->f.sym_length, &len) || !len)
		return NULL;
	if (len > SYMBOL_MAX)
		len = SYMBOL_MAX;
	if (sp_mem_read(n->mem, sym + n->h->f.sym_body, n->scratch, len) < 0 ||
		memchr(n->scratch, 0, len))
		return NULL;
	s = sp_arena_alloc(&n->arena, len + 1u);
	if (!s)
		return NULL;
	memcpy(s, n->scratch, len);
	s[len] = 0; /* the arena is zeroed only once */
	ret->addr = sym;
	*ret_len = len;
	return s;
}

/* What identifies the method now: pool, holder and the three symbols. */
static bool read_identity(
	const struct sp_method_names *n, const struct sp_frame *f, struct entry *e)
{
	const struct sp_fields *l = &n->h->f;
	uint16_t name, sig;

	e->method = f->method;
	return sp_mem_u64(n->mem, f->method + l->method_const, &e->const_method) &&
	       e->const_method == f->const_method &&
	       sp_mem_u64(n->mem, e->const_method + l->cm_constants, &e->pool) &&
	       sp_mem_u16(n->mem, e->const_method + l->cm_name, &name) &&
	       sp_mem_u16(n->mem, e->const_method + l->cm_sig, &sig) &&
	       sp_mem_u64(n->mem, e->pool + l->pool_holder, &e->klass) && e->klass >= 4096 &&
	       sp_mem_u64(n->mem, e->klass + l->klass_name, &e->class_sym.addr) &&
	       pool_symbol(n, e->pool, name, &e->name_sym.addr) &&
	       pool_symbol(n, e->pool, sig, &e->sig_sym.addr);
}

/* Whether the method that lies there now is called as @e is; @e is then used for it. Classes that
 * are generated again and again under one name come to lie where the last one lay. */
static bool entry_same(struct sp_method_names *n, const struct sp_frame *f, struct entry *e)
{
	struct entry now;

	if (!read_identity(n, f, &now) || now.class_sym.addr != e->class_sym.addr ||
		now.name_sym.addr != e->name_sym.addr || now.sig_sym.addr != e->sig_sym.addr ||
		!symbol_same(n, &e->class_sym) || !symbol_same(n, &e->name_sym) ||
		!symbol_same(n, &e->sig_sym))
		return false;
	if (now.const_method != e->const_method || now.pool != e->pool || now.klass != e->klass) {
		e->const_method = now.const_method;
		e->pool = now.pool;
		e->klass = now.klass;
		e->serial = ++n->serial; /* its lines are its own */
	}
	return true;
}

/* What was kept of a page may be older than a class that was loaded into it since, and sampled.
 * Returns whether it is worth another look. */
static bool forget(const struct sp_method_names *n)
{
	if (!n->mem->forget)
		return false;
	n->mem->forget(n->mem->ctx);
	return true;
}

static struct entry *read_method(struct sp_method_names *n, const struct sp_frame *f)
{
	struct entry *e = sp_arena_alloc(&n->arena, sizeof(*e));
	uint32_t access = 0;

	if (!e)
		return NULL;
	memset(e, 0, sizeof(*e));
	if (!read_identity(n, f, e))
		return NULL;
	e->name.class_name = symbol_text(n, e->class_sym.addr, &e->class_sym, &e->name.class_len);
	e->name.name = symbol_text(n, e->name_sym.addr, &e->name_sym, &e->name.name_len);
	e->name.sig = symbol_text(n, e->sig_sym.addr, &e->sig_sym, &e->name.sig_len);
	if (!e->name.class_name || !e->name.name || !e->name.sig || e->name.sig[0] != '(')
		return NULL;
	sp_mem_u32(n->mem, f->method + n->h->f.method_access, &access);
	e->name.modifiers = (uint16_t)access;
	e->serial = ++n->serial;
	e->batch = n->batch;
	e->codes[e->next_code++ % CODES] = f->code;
	return e;
}

static struct entry *make_method(struct sp_method_names *n, const struct sp_frame *f)
{
	size_t used = n->arena.used;
	struct entry *e = read_method(n, f);

	if (!e) {
		n->arena.used = used;
		e = forget(n) ? read_method(n, f) : NULL;
	}
	if (!e)
		n->arena.used = used;
	return e;
}

/* Compiled code keeps its methods alive: the same code means the same method. */
static bool checked_with(const struct entry *e, uint64_t code)
{
	for (int i = 0; i < CODES && code; i++)
		if (e->codes[i] == code)
			return true;
	return false;
}

static void note_code(struct entry *e, uint64_t code)
{
	if (code && !checked_with(e, code))
		e->codes[e->next_code++ % CODES] = code;
}

/* Samples of a batch were taken since the last one began. */
static bool none_unloaded(const struct sp_method_names *n)
{
	return n->unloaded && *n->unloaded == n->unloaded_before;
}

static struct entry *find_method(struct sp_method_names *n, const struct sp_frame *f)
{
	struct entry **at = &n->buckets[bucket_of(n, f->method)];

	for (; *at; at = &(*at)->next) {
		struct entry *e = *at;

		if (e->method != f->method)
			continue;
		if (e->replaced && e->batch == n->batch)
			return e;
		if (!e->replaced && e->const_method == f->const_method &&
			(e->batch >= n->change || checked_with(e, f->code)))
			return e;
		if (!e->replaced && (entry_same(n, f, e) || (forget(n) && entry_same(n, f, e)))) {
			note_code(e, f->code);
		} else if (e->replaced || none_unloaded(n)) {
			*at = e->next; /* it is another one's since */
			return NULL;
		} else {
			e->replaced = true;
		}
		e->batch = n->batch;
		return e;
	}
	return NULL;
}

static struct entry *get_method(struct sp_method_names *n, const struct sp_frame *f)
{
	struct entry *e;
	uint32_t b;

	if (f->kind != SP_FRAME_KIND_JAVA || !f->method)
		return NULL;
	e = find_method(n, f);
	if (e)
		return e->replaced ? NULL : e;
	if (n->arena.cap - n->arena.used < sizeof(*e) + 3 * (SYMBOL_MAX + 32))
		start_over(n);
	e = make_method(n, f);
	if (!e)
		return NULL;
	b = bucket_of(n, f->method);
	e->next = n->buckets[b];
	n->buckets[b] = e;
	return e;
}

int sp_method_names_get(struct sp_method_names *n, const struct sp_frame *f, struct sp_name **ret)
{
	struct entry *e = get_method(n, f);

	if (!e)
		return -ESTALE;
	*ret = &e->name;
	return 0;
}

static int32_t signed_int(struct sp_bytes *b, bool no_zero)
{
	uint32_t v = sp_bytes_unsigned5(b, no_zero);

	return (int32_t)((v >> 1) ^ (0u - (v & 1)));
}

/* The table follows the bytecodes: pairs of differences, packed into a byte where they are small.
 */
static int32_t decode_line(const struct sp_method_names *n, uint64_t cm, int32_t bci)
{
	const struct sp_fields *f = &n->h->f;
	bool no_zero = n->h->version >= 20;
	int32_t at = 0, line = 0, best = -1, best_at = -1;
	uint16_t flags, code_size;
	uint32_t words;
	struct sp_bytes b;

	if (!sp_mem_u16(n->mem, cm + f->cm_flags, &flags) || !(flags & 1) ||
		!sp_mem_u16(n->mem, cm + f->cm_code_size, &code_size) ||
		!sp_mem_u32(n->mem, cm + f->cm_size, &words) || words > (1u << 20))
		return -1;
	sp_bytes_init(&b, n->mem, cm + f->sizeof_const_method + code_size, cm + 8ull * words);
	for (uint32_t i = 0; i < LINE_STEPS; i++) {
		uint8_t c = sp_bytes_u8(&b);

		if (b.failed || c == 0)
			break;
		if (c == 0xff) {
			at += signed_int(&b, no_zero);
			line += signed_int(&b, no_zero);
		} else {
			at += c >> 3;
			line += c & 7;
		}
		if (b.failed)
			break;
		if (at <= bci && at >= best_at) {
			best_at = at;
			best = line;
		}
	}
	return best;
}

int32_t sp_method_names_line(struct sp_method_names *n, const struct sp_frame *f)
{
	struct entry *e = get_method(n, f);
	struct line_entry *l;

	if (!e || f->bci < 0)
		return -1;
	l = &n->lines[(e->serial * 31 + (uint64_t)f->bci) % LINES];
	if (l->serial != e->serial || l->bci != f->bci) {
		l->serial = e->serial;
		l->bci = f->bci;
		l->line = decode_line(n, f->const_method, f->bci);
	}
	return l->line;
}
