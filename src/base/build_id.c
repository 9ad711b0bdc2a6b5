/* See build_id.h; notes as in gABI "Note Section". */
#include "base/build_id.h"

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const uint8_t *find_in(const uint8_t *p, size_t n, size_t *ret_len)
{
	while (n >= sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *h = (const void *)p;
		size_t name = (h->n_namesz + 3u) & ~3u, desc = (h->n_descsz + 3u) & ~3u;
		size_t whole = sizeof(*h) + name + desc;

		if (whole > n)
			return NULL;
		if (h->n_type == NT_GNU_BUILD_ID && h->n_namesz == 4 &&
			memcmp(p + sizeof(*h), "GNU", 4) == 0) {
			*ret_len = h->n_descsz;
			return p + sizeof(*h) + name;
		}
		p += whole;
		n -= whole;
	}
	return NULL;
}

void sp_build_id(const void *image, char ret[SP_BUILD_ID_HEX + 1])
{
	const uint8_t *base = image, *id = NULL;
	const Elf64_Ehdr *e = image;
	const Elf64_Phdr *ph = (const void *)(base + e->e_phoff);
	size_t len = 0;

	ret[0] = '\0';
	for (int i = 0; i < e->e_phnum && !id; i++)
		if (ph[i].p_type == PT_NOTE)
			id = find_in(base + ph[i].p_offset, ph[i].p_filesz, &len);
	for (size_t i = 0; id && i < len && i < SP_BUILD_ID_HEX / 2; i++)
		snprintf(ret + 2 * i, 3, "%02x", id[i]);
}
