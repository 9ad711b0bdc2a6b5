/* The carried library's build id: its NT_GNU_BUILD_ID note (gABI "Note Section"). */
#include "agent_image.h"

#include <elf.h>
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

void sp_agent_image_id(char ret[SP_BUILD_ID_SHORT + 1])
{
	const Elf64_Ehdr *e = (const void *)sp_agent_blob;
	const Elf64_Phdr *ph = (const void *)(sp_agent_blob + e->e_phoff);
	const uint8_t *id = NULL;
	size_t len = 0;

	memset(ret, '0', SP_BUILD_ID_SHORT);
	ret[SP_BUILD_ID_SHORT] = '\0';
	for (int i = 0; i < e->e_phnum && !id; i++)
		if (ph[i].p_type == PT_NOTE)
			id = find_in((const uint8_t *)sp_agent_blob + ph[i].p_offset,
				ph[i].p_filesz, &len);
	for (size_t i = 0; id && i < len && i < SP_BUILD_ID_SHORT / 2; i++)
		snprintf(ret + 2 * i, 3, "%02x", id[i]);
}
