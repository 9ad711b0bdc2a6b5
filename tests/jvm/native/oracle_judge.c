/* The oracle's verdicts: see oracle.h. */
#include "base/clock.h"
#include "oracle.h"
#include "recorder.h"
#include "unwind/code_cache.h"

#include <stdlib.h>
#include <string.h>

static void print_frame(const struct sp_frame *f)
{
	char buf[128];
	struct sp_name *name;
	const struct sp_module *mod;

	if (f->kind == SP_FRAME_KIND_JAVA) {
		if (sp_method_names_get(o.names, f, &name) == 0)
			fprintf(o.f, "    J%d %s.%s%s @%d :%d %lx\n", f->type, name->class_name,
				name->name, name->sig, f->bci, sp_method_names_line(o.names, f),
				f->pc);
		else
			fprintf(o.f, "    J%d stale %lx @%d\n", f->type, f->method, f->bci);
	} else if (f->kind == SP_FRAME_KIND_STUB) {
		fprintf(o.f, "    S %s %lx\n", sp_unwind_stub_name(o.unwinder, f, buf, sizeof(buf)),
			f->pc);
	} else if (f->kind == SP_FRAME_KIND_NATIVE) {
		mod = sp_modules_get(o.modules, f->module);
		if (sp_modules_name(o.modules, f->pc - 1, buf, sizeof(buf)) < 0)
			buf[0] = 0;
		fprintf(o.f, "    N %s+%lx %s\n", mod ? mod->name : "?", f->offset, buf);
	} else {
		fprintf(o.f, "    ? %lx\n", f->pc);
	}
}

static void print_code(uint64_t pc)
{
	uint8_t code[64];

	if (sp_mem_read(sp_mem_live_mem(o.live), pc - 32, code, sizeof(code)) < 0)
		return;
	fprintf(o.f, "    code:");
	for (int i = 0; i < 64; i++)
		fprintf(o.f, "%s%02x", i == 32 ? " | " : " ", code[i]);
	fprintf(o.f, "\n");
}

static void describe(const char *what, const struct slot *slot, const struct sp_frame *frames,
	const struct sp_unwind_result *r)
{
	const struct sp_snapshot *s = &slot->snap;

	if (o.show-- <= 0)
		return;
	fprintf(o.f,
		"== %s: %s (%s) stop pc %lx sp %lx; top pc %lx sp %lx fp %lx rbx %lx r13 %lx rax "
		"%lx end %lx len %u anchor %lx %lx %lx\n",
		what, sp_unwind_status_text(r->status), sp_unwind_reason_text(r->reason),
		r->stop_pc, r->stop_sp, s->regs[SP_REG_PC], s->regs[SP_REG_RSP],
		s->regs[SP_REG_RBP], s->regs[SP_REG_RBX], s->regs[SP_REG_R13], s->regs[SP_REG_RAX],
		s->stack_end, s->stack_len, s->anchor.last_java_sp, s->anchor.last_java_pc,
		s->anchor.last_java_fp);
	for (uint32_t i = 0; i < r->count && i < 12; i++)
		print_frame(&frames[i]);
	{
		struct sp_blob b;

		if (sp_code_cache_find(o.hotspot, r->stop_pc, &b) == 0)
			fprintf(o.f, "    J blob frame %u complete %d pc +%lx\n", b.frame_size,
				b.frame_complete, r->stop_pc - b.code_begin);
	}
	fprintf(o.f, "  top");
	print_code(s->regs[SP_REG_PC]);
	fprintf(o.f, "  stop");
	print_code(r->stop_pc);
	fprintf(o.f, "  stack:");
	for (uint32_t i = 0; i < 24 && 128 + 8 * i + 8 <= s->stack_len; i++)
		fprintf(o.f, " %lx", *(uint64_t *)(slot->stack + 128 + 8 * i));
	for (uint32_t i = 0; i < 30 && 128 + 8 * i + 8 <= s->stack_len; i++) {
		uint64_t v = *(uint64_t *)(slot->stack + 128 + 8 * i);
		struct sp_blob b;
		struct sp_scope sc[SP_SCOPES_MAX];
		bool exact = false;

		if (sp_code_cache_find(o.hotspot, v, &b) == 0 && b.kind == SP_BLOB_NMETHOD) {
			int n = sp_code_cache_scopes(
				o.hotspot, &b, v, false, sc, SP_SCOPES_MAX, &exact);

			fprintf(o.f,
				"\n    J stack[%u] %lx n %d exact %d deopt %lx begin %lx id %u", i,
				v, n, exact, b.deopt, b.code_begin, b.compile_id);
		}
	}
	fprintf(o.f, "\n  stack at stop:");
	for (uint64_t a = r->stop_sp - 32; a < r->stop_sp + 96; a += 8)
		if (a >= s->stack_addr && a + 8 <= s->stack_addr + s->stack_len)
			fprintf(o.f, " %lx", *(uint64_t *)(slot->stack + (a - s->stack_addr)));
	fprintf(o.f, "\n  agct %d:", slot->trace.count);
	for (int i = 0; i < slot->trace.count && i < 12; i++) {
		uint64_t m = o.same_ids ? *(uint64_t *)slot->frames[i].method : 0;
		struct sp_frame jf = {
			.kind = SP_FRAME_KIND_JAVA, .method = m, .bci = slot->frames[i].bci};
		struct sp_name *name;

		if (m)
			sp_mem_u64(sp_mem_live_mem(o.live), m + 8, &jf.const_method);
		if (m && sp_method_names_get(o.names, &jf, &name) == 0)
			fprintf(o.f, " %s.%s@%d", name->class_name, name->name,
				slot->frames[i].bci);
	}
	fprintf(o.f, "\n");
}

/* Our Java frames, innermost first, as AsyncGetCallTrace would tell them: for the innermost
 * compiled frame it always takes the debug information behind the pc, as if the thread stood there,
 * also where a stub was called, or in an epilogue (forte.cpp). With @entry, without a method that
 * is just being entered. */
static int expected(const struct sp_frame *frames, uint32_t count, bool near, bool entry,
	struct sp_scope *ret, bool *ret_native, bool *ret_interpreted)
{
	int n = 0;
	bool in_first = false;

	*ret_interpreted = false;
	for (uint32_t i = 0; i < count; i++) {
		const struct sp_frame *f = &frames[i];
		struct sp_blob b;
		bool exact;

		if (f->kind != SP_FRAME_KIND_JAVA)
			continue;
		if (in_first) {
			in_first = f->type == SP_FRAME_INLINED;
			continue;
		}
		if (n == 0 && entry && i == 0 && f->type == SP_FRAME_INTERPRETED)
			continue;
		if (near && n == 0 && f->type != SP_FRAME_INTERPRETED &&
			f->type != SP_FRAME_NATIVE && (i > 0 || f->bci == -1) &&
			sp_code_cache_find(o.hotspot, f->pc, &b) == 0) {
			int k = sp_code_cache_scopes(
				o.hotspot, &b, f->pc, true, ret, SP_SCOPES_MAX, &exact);

			if (k > 0) {
				memset(ret_native, 0, (size_t)k);
				n = k;
				in_first = f->type == SP_FRAME_INLINED;
				continue;
			}
		}
		if (n == 0)
			*ret_interpreted = f->type == SP_FRAME_INTERPRETED;
		ret_native[n] = f->flags & SP_FRAMEFLAG_NATIVE_METHOD;
		ret[n++] = (struct sp_scope){f->method, 0, f->bci};
	}
	return n;
}

enum verdict { EQUAL, LEAF_BCI, BCI, DIFFERENT };

static enum verdict same(const struct slot *slot, const struct sp_frame *frames, uint32_t count,
	bool near, bool entry)
{
	static struct sp_scope mine[DEPTH + SP_SCOPES_MAX];
	static bool native[DEPTH + SP_SCOPES_MAX];
	enum verdict v = EQUAL;
	bool interpreted;
	int n = expected(frames, count, near, entry, mine, native, &interpreted), skip = 0;

	if (entry && n > slot->trace.count) /* it then takes a caller's caller for the caller */
		skip = n - slot->trace.count;
	if (n - skip != slot->trace.count)
		return DIFFERENT;
	for (int i = 0; i < n - skip; i++) {
		const struct sp_scope *my = &mine[i + skip];

		uint64_t m = slot->frames[i].method ? *(uint64_t *)slot->frames[i].method : 0;

		if (m != my->method)
			return DIFFERENT;
		if (native[i + skip] || slot->frames[i].bci < 0 || slot->frames[i].bci == my->bci)
			continue;
		if (i == 0 && interpreted)
			v = LEAF_BCI; /* it reads the bytecode pointer's last spill */
		else
			v = BCI;
	}
	return v;
}

/* It gave up on the way down: what it has is the upper part of ours. */
static bool starts_alike(const struct slot *slot, const struct sp_frame *frames, uint32_t count)
{
	int n = 0;

	for (uint32_t i = 0; i < count && n < slot->trace.count; i++) {
		if (frames[i].kind != SP_FRAME_KIND_JAVA)
			continue;
		if (!slot->frames[n].method ||
			*(uint64_t *)slot->frames[n].method != frames[i].method)
			return false;
		n++;
	}
	return n == slot->trace.count;
}

static void compare(
	const struct slot *slot, const struct sp_frame *frames, const struct sp_unwind_result *r)
{
	enum verdict v;

	if (r->java_count)
		o.java_samples++;
	if (slot->trace.count <= 0 || !o.same_ids) {
		if (r->java_count)
			o.no_answer++;
		return;
	}
	o.answered++;
	v = same(slot, frames, r->count, false, false);
	if (v == EQUAL || v == LEAF_BCI) {
		o.equal++;
		o.leaf_bci += v == LEAF_BCI;
	} else if (same(slot, frames, r->count, true, false) <= LEAF_BCI) {
		o.near++;
	} else if (frames[0].type == SP_FRAME_INTERPRETED && frames[0].bci == 0 &&
		   same(slot, frames, r->count, false, true) <= LEAF_BCI) {
		o.entering++;
	} else if (r->status == SP_UNWIND_COMPLETE && starts_alike(slot, frames, r->count)) {
		o.stopped++;
	} else {
		o.differ++;
		describe(v == BCI ? "bci differs" : "differs", slot, frames, r);
	}
}

static void resolve(const struct sp_frame *frames, uint32_t count)
{
	struct sp_name *name;

	for (uint32_t i = 0; i < count; i++) {
		if (frames[i].kind != SP_FRAME_KIND_JAVA)
			continue;
		if (sp_method_names_get(o.names, &frames[i], &name) == 0)
			o.names_ok++;
		else
			o.names_stale++;
		o.lines += sp_method_names_line(o.names, &frames[i]) > 0;
	}
}

/* Cases for the corpus: whole stacks that the oracle agrees with, of every kind of top frame. */
static bool wanted(
	const struct slot *slot, const struct sp_frame *frames, const struct sp_unwind_result *r)
{
	static uint32_t had[16];
	uint32_t kind = frames[0].kind * 4u + (frames[0].type < 3 ? frames[0].type : 3);

	if (r->status != SP_UNWIND_COMPLETE || r->unknown || r->count > 60 ||
		slot->snap.stack_len > 24576 || o.samples < 500 || kind > 15)
		return false;
	if (slot->trace.count > 0 && same(slot, frames, r->count, false, false) > LEAF_BCI)
		return false;
	return had[kind]++ < (uint32_t)o.cases / 5;
}

void judge(struct slot *slot)
{
	static struct sp_frame frames[DEPTH];
	struct sp_unwind_result r;
	uint64_t start = sp_clock_read(CLOCK_THREAD_CPUTIME_ID);

	sp_unwind(o.unwinder, &slot->snap, frames, DEPTH, &r);
	if (r.status == SP_UNWIND_BROKEN && r.reason == SP_WHY_NO_MODULE &&
		sp_modules_refresh(o.modules, true) > 0)
		sp_unwind(o.unwinder, &slot->snap, frames, DEPTH, &r);
	o.unwind_ns += sp_clock_read(CLOCK_THREAD_CPUTIME_ID) - start;
	o.samples++;
	o.frames += r.count;
	o.whole += r.status == SP_UNWIND_COMPLETE;
	o.truncated += r.status == SP_UNWIND_TRUNCATED;
	o.depth_cap += r.status == SP_UNWIND_DEPTH_CAP;
	o.broken += r.status == SP_UNWIND_BROKEN;
	o.unknown_samples += r.unknown > 0;
	for (uint32_t i = 0; i < r.count; i++)
		if (frames[i].flags & SP_FRAMEFLAG_VTHREAD_END) {
			o.vthreads++;
			/* a mounted virtual thread has frames above and its carrier below */
			if (i == 0 || i + 1 == r.count || frames[i + 1].kind != SP_FRAME_KIND_JAVA)
				describe("carrier missing", slot, frames, &r);
		}
	o.anchors += r.anchors;
	if (r.status == SP_UNWIND_BROKEN) {
		o.reasons[r.reason]++;
		describe("broken", slot, frames, &r);
	} else if (r.unknown) {
		describe("unknown", slot, frames, &r);
	} else if (r.anchors) {
		describe("anchor", slot, frames, &r);
	} else if (r.status == SP_UNWIND_TRUNCATED) {
		describe("truncated", slot, frames, &r);
	}
	compare(slot, frames, &r);
	resolve(frames, r.count);
	if (o.record[0] && sp_recorder_kept() < o.cases && wanted(slot, frames, &r))
		sp_recorder_keep(&slot->snap, frames, r.count);
}
