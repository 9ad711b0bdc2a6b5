/* Reads the tables that libjvm exports for the serviceability agent (vmStructs.hpp); they are
 * constant and mapped for the life of the process. */
#include "vm_statics.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

static void *libjvm(void)
{
	static void *handle;

	/* Already loaded: this only counts a reference, which the JVM never drops anyway. */
	if (!handle)
		handle = dlopen("libjvm.so", RTLD_LAZY | RTLD_NOLOAD);
	return handle;
}

void *sp_vm_statics_symbol(const char *name)
{
	void *h = libjvm();

	return h ? dlsym(h, name) : NULL;
}

static uint64_t table_word(const char *symbol)
{
	void *h = libjvm();
	const uint64_t *p = h ? dlsym(h, symbol) : NULL;

	return p ? *p : 0;
}

struct field {
	uint64_t offset, address;
	bool is_static;
};

static bool find_field(const char *type, const char *field, struct field *ret)
{
	uint64_t at = table_word("gHotSpotVMStructs");
	uint64_t stride = table_word("gHotSpotVMStructEntryArrayStride");
	uint64_t t = table_word("gHotSpotVMStructEntryTypeNameOffset");
	uint64_t f = table_word("gHotSpotVMStructEntryFieldNameOffset");

	if (!at || !stride)
		return false;
	for (; *(const char **)(at + t); at += stride) {
		if (strcmp(*(const char **)(at + t), type) != 0 ||
			strcmp(*(const char **)(at + f), field) != 0)
			continue;
		ret->is_static =
			*(int32_t *)(at + table_word("gHotSpotVMStructEntryIsStaticOffset"));
		ret->offset = *(uint64_t *)(at + table_word("gHotSpotVMStructEntryOffsetOffset"));
		ret->address = *(uint64_t *)(at + table_word("gHotSpotVMStructEntryAddressOffset"));
		return true;
	}
	return false;
}

uint64_t sp_vm_statics_size(const char *type)
{
	uint64_t at = table_word("gHotSpotVMTypes");
	uint64_t stride = table_word("gHotSpotVMTypeEntryArrayStride");
	uint64_t t = table_word("gHotSpotVMTypeEntryTypeNameOffset");
	uint64_t s = table_word("gHotSpotVMTypeEntrySizeOffset");

	if (!at || !stride)
		return 0;
	for (; *(const char **)(at + t); at += stride)
		if (strcmp(*(const char **)(at + t), type) == 0)
			return *(uint64_t *)(at + s);
	return 0;
}

uint64_t sp_vm_statics_static(const char *type, const char *field)
{
	struct field f;

	return find_field(type, field, &f) && f.is_static ? f.address : 0;
}

uint64_t sp_vm_statics_offset(const char *type, const char *field)
{
	struct field f;

	return find_field(type, field, &f) && !f.is_static ? f.offset : 0;
}

uint64_t sp_vm_statics_flag(const char *name)
{
	struct field f_name, f_addr;
	uint64_t flags = sp_vm_statics_static("JVMFlag", "flags");
	uint64_t count = sp_vm_statics_static("JVMFlag", "numFlags");
	uint64_t size = sp_vm_statics_size("JVMFlag"), at;

	if (!flags || !count || !size || !find_field("JVMFlag", "_name", &f_name) ||
		!find_field("JVMFlag", "_addr", &f_addr))
		return 0;
	at = *(uint64_t *)flags;
	for (uint64_t i = 0; at && i < *(uint64_t *)count; i++, at += size) {
		const char *n = *(const char **)(at + f_name.offset);

		if (n && strcmp(n, name) == 0)
			return *(uint64_t *)(at + f_addr.offset);
	}
	return 0;
}

int sp_vm_statics_debug_on(void)
{
	volatile uint8_t *flag = (volatile uint8_t *)sp_vm_statics_flag("DebugNonSafepoints");

	if (!flag || *flag)
		return 0;
	*flag = 1;
	return 1;
}

void sp_vm_statics_debug_restore(int was_off)
{
	volatile uint8_t *flag =
		was_off ? (volatile uint8_t *)sp_vm_statics_flag("DebugNonSafepoints") : NULL;

	if (flag)
		*flag = 0;
}
