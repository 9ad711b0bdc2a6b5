/* Looks at code bytes before a return address: a real one follows a call instruction. */
#include "unwind/unwind_internal.h"

#include <string.h>

static bool plain_call(const uint8_t *end, uint64_t ret, uint64_t *ret_target)
{
	if (end[-5] != 0xe8)
		return false;
	*ret_target =
		ret + (uint64_t)(int64_t)(int32_t)((uint32_t)end[-4] | (uint32_t)end[-3] << 8 |
						   (uint32_t)end[-2] << 16 |
						   (uint32_t)end[-1] << 24);
	return true;
}

/* call r/m64: FF /2 with every addressing form (Intel SDM vol. 2A, table 2-2) */
static bool indirect_call(const uint8_t *end)
{
	static const uint8_t lengths[] = {2, 3, 4, 6, 7};

	for (unsigned i = 0; i < sizeof(lengths); i++) {
		const uint8_t *p = end - lengths[i];
		unsigned mod = p[1] >> 6, rm = p[1] & 7, len = 2;

		if (p[0] != 0xff || ((p[1] >> 3) & 7) != 2)
			continue;
		if (mod != 3 && rm == 4)
			len++;
		if (mod == 1)
			len += 1;
		else if (mod == 2 || (mod == 0 && (rm == 5 || (rm == 4 && (p[2] & 7) == 5))))
			len += 4;
		if (len == lengths[i])
			return true;
	}
	return false;
}

/* mov r10, imm64; call r10: how C2 calls leaf routines */
static bool far_call(const uint8_t *end, uint64_t *ret_target)
{
	if (end[-13] != 0x49 || end[-12] != 0xba || end[-3] != 0x41 || end[-2] != 0xff ||
		end[-1] != 0xd2)
		return false;
	memcpy(ret_target, end - 11, 8);
	return true;
}

bool sp_call_site_before(const struct sp_mem *mem, uint64_t ret, uint64_t *ret_target)
{
	uint8_t code[16];

	*ret_target = 0;
	if (ret < 4096 + 16 || sp_mem_read(mem, ret - 16, code, 16) < 0)
		return false;
	return plain_call(code + 16, ret, ret_target) || far_call(code + 16, ret_target) ||
	       indirect_call(code + 16);
}

uint64_t sp_call_through(const struct sp_mem *mem, uint64_t target)
{
	uint8_t code[16];
	const uint8_t *p = code;
	uint64_t got, slot;
	int32_t rel;

	if (!target || sp_mem_read(mem, target, code, sizeof(code)) < 0)
		return target;
	if (p[0] == 0xf3 && p[1] == 0x0f && p[2] == 0x1e && p[3] == 0xfa) /* endbr64 */
		p += 4;
	if (p[0] == 0xf2) /* bnd */
		p++;
	if (p[0] != 0xff || p[1] != 0x25)
		return target;
	rel = (int32_t)((uint32_t)p[2] | (uint32_t)p[3] << 8 | (uint32_t)p[4] << 16 |
			(uint32_t)p[5] << 24);
	slot = target + (uint64_t)(p - code) + 6 + (uint64_t)(int64_t)rel;
	return sp_mem_u64(mem, slot, &got) ? got : target;
}

bool sp_call_site_reaches(const struct sp_mem *mem, uint64_t target, uint64_t func)
{
	return target == func || (target && sp_call_through(mem, target) == func);
}
