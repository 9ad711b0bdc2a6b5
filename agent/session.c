/* Recording is not built yet: every start is refused with a sentence. */
#include "session.h"

#include <errno.h>

int sp_session_start(struct sp_session **ret, JavaVM *vm, const struct sp_args *args, int out_fd,
	sp_session_say_fn *say, void *say_ctx, struct sp_err *err)
{
	return sp_err_set(err, -ENOSYS, "sampling is not built yet");
}

void sp_session_counts(const struct sp_session *s, struct sp_counts *ret)
{
	*ret = (struct sp_counts){0};
}

int sp_session_flush(struct sp_session *s, struct sp_err *err)
{
	return sp_err_set(err, -ENOSYS, "sampling is not built yet");
}

int sp_session_stop(struct sp_session *s, struct sp_counts *ret_counts, struct sp_err *err)
{
	return sp_err_set(err, -ENOSYS, "sampling is not built yet");
}

void sp_args_init(struct sp_args *a)
{
	*a = (struct sp_args){0};
}

int sp_args_parse(struct sp_args *a, const char *text, struct sp_err *err)
{
	return 0;
}
