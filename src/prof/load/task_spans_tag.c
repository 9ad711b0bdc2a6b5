/* The numbers in a thread's name or a span's tag: see sp_task_spans_parse in task_spans.h. */
#include "prof/load/task_spans.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "prof/model/task_name.h"

/* The number ("7" or "7.0") behind @word, blanks, '=', ':' or '-' between them. False: none. */
static bool number_after(const char *text, const char *word, int64_t *ret, int32_t *ret_second)
{
	for (const char *p = strcasestr(text, word); p; p = strcasestr(p + 1, word)) {
		const char *from = p + strlen(word) + strspn(p + strlen(word), " =:-#");
		char *end;

		if (!isdigit((unsigned char)*from))
			continue;
		*ret = strtoll(from, &end, 10);
		if (ret_second && *end == '.' && isdigit((unsigned char)end[1]))
			*ret_second = (int32_t)strtol(end + 1, NULL, 10);
		return true;
	}
	return false;
}

bool sp_task_spans_parse(const char *text, struct sp_task_name *ret)
{
	struct sp_task_name t = {-1, -1, -1, -1, -1};
	int64_t stage = -1, index = -1;
	bool any;

	if (sp_task_name_parse(text, ret))
		return true;
	any = number_after(text, "stage", &stage, &t.stage_attempt);
	any |= number_after(text, "TID", &t.task_id, NULL);
	any |= number_after(text, "task", &index, &t.attempt);
	t.stage = (int32_t)stage;
	t.index = (int32_t)index;
	if (any)
		*ret = t;
	return any;
}
