/* See frame_filter.h. */
#include "frame_filter.h"

#include <string.h>

enum sp_cstack sp_frame_filter_kind(const char *word)
{
	if (strcmp(word, "no") == 0)
		return SP_CSTACK_NO;
	return *word && strcmp(word, "vmx") != 0 ? SP_CSTACK_TOP : SP_CSTACK_ALL;
}

/* Frames of unknown kind may be Java's, but for the mark of native ones that are not known. */
static bool is_native(const struct sp_frame *f)
{
	return f->kind == SP_FRAME_KIND_NATIVE || f->kind == SP_FRAME_KIND_STUB ||
	       f->flags & SP_FRAMEFLAG_GAP;
}

static uint32_t without_native(struct sp_frame *frames, uint32_t from, uint32_t count)
{
	uint32_t n = from;

	for (uint32_t i = from; i < count; i++)
		if (!is_native(&frames[i]))
			frames[n++] = frames[i];
	return n;
}

uint32_t sp_frame_filter(enum sp_cstack kind, struct sp_frame *frames, uint32_t count)
{
	uint32_t first = 0;

	if (kind == SP_CSTACK_ALL || !count)
		return count;
	while (first < count && frames[first].kind != SP_FRAME_KIND_JAVA)
		first++;
	if (kind == SP_CSTACK_TOP)
		return without_native(frames, first, count);
	count = without_native(frames, 0, count);
	if (count)
		return count;
	frames[0].kind = SP_FRAME_KIND_UNKNOWN;
	frames[0].flags = SP_FRAMEFLAG_NO_JAVA;
	return 1;
}
