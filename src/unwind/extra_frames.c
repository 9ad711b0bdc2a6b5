/* See extra_frames.h. The class comes from the register that the stub has loaded it into, or from
 * the object itself; the compiled method from HotSpot's description of the task (ciEnv), which lies
 * in the stack of the compiler's thread and so in the sample. */
#include "unwind/extra_frames.h"

#include "unwind/arch.h"
#include "unwind/code_cache.h"
#include "unwind/layout.h"

#include <errno.h>
#include <string.h>

#define SUPERS_MAX  64
#define STUB_HEAD   96 /* bytes in which a stub loads the class */
#define CONTENT	    8
#define STARTER	    2048 /* bytes of the frame that holds a ciEnv; 600 to 1,500 were seen */
#define KLASS_SHIFT 42	 /* of the mark word, with compact headers (JDK 24) */

/* The receiver is the first argument of Java's calling convention. */
#define RECEIVER SP_REG_RSI

static uint64_t global_u64(const struct sp_hotspot *h, uint64_t addr)
{
	uint64_t v = 0;

	return addr && sp_mem_u64(h->mem, addr, &v) ? v : 0;
}

static uint64_t wide(const struct sp_hotspot *h, uint64_t narrow)
{
	uint32_t shift = 0;

	if (!narrow ||
		(h->f.narrow_klass_shift &&
			(!sp_mem_u32(h->mem, h->f.narrow_klass_shift, &shift) || shift > 31)))
		return 0;
	return global_u64(h, h->f.narrow_klass_base) + (narrow << shift);
}

/* A class's name; false where @klass is none. */
static bool name_of(const struct sp_hotspot *h, uint64_t klass, char ret[SP_CLASS_NAME])
{
	uint64_t sym;
	uint16_t len;

	if (klass < 4096 || klass & 7 || !sp_mem_u64(h->mem, klass + h->f.klass_name, &sym) ||
		sym < 4096 || sym & 7 || !sp_mem_u16(h->mem, sym + h->f.sym_length, &len) || !len ||
		len >= SP_CLASS_NAME || sp_mem_read(h->mem, sym + h->f.sym_body, ret, len) < 0)
		return false;
	ret[len] = 0;
	return !memchr(ret, 0, len);
}

/* Its superclasses lead to Object: no other memory looks so. */
static bool is_class(const struct sp_hotspot *h, uint64_t klass, char ret[SP_CLASS_NAME])
{
	char name[SP_CLASS_NAME];

	if (h->f.klass_super == SP_NO_FIELD || !name_of(h, klass, ret))
		return false;
	for (int i = 0; i < SUPERS_MAX; i++) {
		if (!name_of(h, klass, name))
			return false;
		if (strcmp(name, "java/lang/Object") == 0)
			return true;
		if (!sp_mem_u64(h->mem, klass + h->f.klass_super, &klass))
			return false;
	}
	return false;
}

/* Numbers of registers in instructions and in snapshots differ below 8. */
static unsigned reg_of(unsigned number)
{
	static const uint8_t low[] = {SP_REG_RAX, SP_REG_RCX, SP_REG_RDX, SP_REG_RBX, SP_REG_RSP,
		SP_REG_RBP, SP_REG_RSI, SP_REG_RDI};

	return number < 8 ? low[number] : number;
}

/* The register into which the stub at @begin has loaded the class before @pc, or -1. "mov reg,
 * [rsi + 8]", or with compact headers "mov reg, [rsi]". What is in it before it is decoded is no
 * class. */
static int loaded_into(const struct sp_hotspot *h, uint64_t begin, uint64_t pc)
{
	unsigned len = pc - begin < STUB_HEAD ? (unsigned)(pc - begin) : STUB_HEAD;
	uint8_t c[STUB_HEAD];

	if (sp_mem_read(h->mem, begin, c, len) < 0)
		return -1;
	for (unsigned i = 0; i + 2 < len; i++) {
		unsigned modrm = c[i + 1], rex = i && (c[i - 1] & 0xf0) == 0x40 ? c[i - 1] : 0;

		if (c[i] != 0x8b || rex & 1)
			continue;
		if (((modrm & 0xc7) == 0x46 && c[i + 2] == CONTENT) || (modrm & 0xc7) == 0x06)
			return (int)reg_of((modrm >> 3 & 7) | (rex & 4) << 1);
	}
	return -1;
}

/* The class of an object; which way it is written depends on options of the JVM. */
static bool class_of(const struct sp_hotspot *h, uint64_t oop, char ret[SP_CLASS_NAME])
{
	uint64_t word, mark;

	/* what was read of the heap before may be older than the object */
	if (h->mem->forget)
		h->mem->forget(h->mem->ctx);
	if (oop < 4096 || oop & 7 || !sp_mem_u64(h->mem, oop, &mark) ||
		!sp_mem_u64(h->mem, oop + CONTENT, &word))
		return false;
	/* The mark first: with compact headers the word is a field, and a number there may look
	 * like a class. Without them the mark's upper bits are none. */
	return is_class(h, wide(h, mark >> KLASS_SHIFT), ret) ||
	       is_class(h, wide(h, word & UINT32_MAX), ret) || is_class(h, word, ret);
}

int sp_extra_receiver(const struct sp_hotspot *h, const struct sp_snapshot *s,
	const struct sp_frame *top, bool objects, char ret[SP_CLASS_NAME])
{
	const char *stub = NULL;
	uint64_t begin;
	int reg = -1;

	if (top->kind == SP_FRAME_KIND_STUB && h->stubs)
		stub = sp_stubs_find(h->stubs, top->pc, top->code, top->const_method, &begin);
	if (!stub || (strcmp(stub, "vtable stub") != 0 && strcmp(stub, "itable stub") != 0))
		return -ENOENT;
	/* An itable stub compares classes of interfaces, in the same register with JDK 11. */
	if (stub[0] == 'v')
		reg = loaded_into(h, begin, top->pc);
	if (reg >= 0 && s->known & SP_KNOWN(reg) && is_class(h, s->regs[reg], ret))
		return SP_RECEIVER_CLASS;
	if (!objects || !(s->known & SP_KNOWN(RECEIVER)))
		return -ESTALE;
	return class_of(h, s->regs[RECEIVER], ret) ? SP_RECEIVER_OBJECT : -ESTALE;
}

static bool has_task(const struct sp_hotspot *h)
{
	return h->f.compiler_env != SP_NO_FIELD && h->f.env_task != SP_NO_FIELD &&
	       h->f.task_method != SP_NO_FIELD;
}

uint64_t sp_extra_compiler_env(const struct sp_hotspot *h, uint64_t java_thread)
{
	uint64_t env;

	return has_task(h) && java_thread &&
			       sp_mem_u64(h->mem, java_thread + h->f.compiler_env, &env)
		       ? env
		       : 0;
}

/* A word of the sample's stack. */
static bool word_at(const struct sp_snapshot *s, uint64_t addr, uint64_t *ret)
{
	uint64_t off = addr - s->stack_addr;

	if (addr < s->stack_addr || s->stack_len < 8 || off > s->stack_len - 8)
		return false;
	memcpy(ret, s->stack + off, 8);
	return true;
}

/* A task that has ended since the sample may be another's now. But whoever began it has the method
 * in variables of his frame, beside @env. */
static bool is_in_frame(const struct sp_snapshot *s, uint64_t env, uint64_t method)
{
	uint64_t word;

	for (uint64_t at = env; at < env + STARTER && word_at(s, at, &word); at += 8)
		if (word == method)
			return true;
	return false;
}

bool sp_extra_compiled(
	const struct sp_hotspot *h, const struct sp_snapshot *s, uint64_t env, struct sp_frame *ret)
{
	uint64_t task, method, cm;

	if (!has_task(h) || env < s->regs[SP_REG_RSP] || env & 7 ||
		!word_at(s, env + h->f.env_task, &task) || task < 4096 ||
		!sp_mem_u64(h->mem, task + h->f.task_method, &method) ||
		!is_in_frame(s, env, method) || !sp_code_cache_method(h, method, &cm))
		return false;
	*ret = (struct sp_frame){.kind = SP_FRAME_KIND_JAVA,
		.type = SP_FRAME_C2,
		.bci = -1,
		.module = SP_NO_MODULE,
		.method = method,
		.const_method = cm};
	return true;
}
