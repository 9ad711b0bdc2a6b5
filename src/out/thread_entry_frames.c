/* See thread_entry_frames.h. */
#include "out/thread_entry_frames.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* Names as C has them. */
static const char native[] =
	"^(_*clone3?|start_thread|JavaMain|ThreadJavaMain|jni_(Call|invoke)[[:alnum:]_]+|"
	"thread_native_entry|java_start|thread_entry|Thread::call_run|"
	"JavaThread::(run|thread_main_inner)|JavaCalls::[[:alnum:]_]+|os::os_exception_wrapper|"
	"(StubRoutines|call_stub)([^[:alnum:]_].*)?)$";

/* Names with a dot for each run of dots, slashes and dollars. Packages may be cut to letters. */
static const char java[] =
	"^(j(ava)?\\.l(ang)?\\.(Virtual)?Thread\\.run(With)?|"
	"j(ava)?\\.u(til)?\\.c(oncurrent)?\\.(ThreadPoolExecutor(\\.Worker)?\\.run(Worker)?|"
	"FutureTask\\.run(AndReset)?|Executors\\.RunnableAdapter\\.call|"
	"ScheduledThreadPoolExecutor\\.ScheduledFutureTask\\.run|ForkJoinWorkerThread\\.run|"
	"ForkJoinPool\\.(runWorker|scan|WorkQueue\\.[[:alnum:]_]+)|ForkJoinTask\\.doExec)|"
	"i(o)?\\.n(etty)?\\.u(til)?\\.(c(oncurrent)?|i(nternal)?)\\.(FastThreadLocalRunnable|"
	"ThreadExecutorMap\\.[0-9]+|SingleThreadEventExecutor\\.[0-9]+)\\.run|"
	"o(rg)?\\.a(pache)?\\.s(park)?\\.(e(xecutor)?\\.Executor\\.TaskRunner\\."
	"((anonfun\\.)?run|Lambda|λ).*|u(til)?\\.(Utils|SparkErrorUtils)\\.tryWithSafeFinally|"
	"s(cheduler)?\\.Task\\.run)|"
	"o(rg)?\\.a(pache)?\\.s(park)?\\.TaskContext(Impl)?\\.runTaskWithListeners)$";

struct sp_thread_entry_frames {
	bool failed; /* out of memory in sp_thread_entry_frames_has */
	regex_t native, java;
};

int sp_thread_entry_frames_new(struct sp_thread_entry_frames **ret)
{
	struct sp_thread_entry_frames *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	if (regcomp(&s->native, native, REG_EXTENDED | REG_NOSUB) != 0) {
		free(s);
		return -ENOMEM;
	}
	if (regcomp(&s->java, java, REG_EXTENDED | REG_NOSUB) != 0) {
		regfree(&s->native);
		free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

void sp_thread_entry_frames_free(struct sp_thread_entry_frames *s)
{
	if (!s)
		return;
	regfree(&s->native);
	regfree(&s->java);
	free(s);
}

/* The name without arguments, without its line and without "_[j]" at its end. */
static size_t plain_length(const char *name)
{
	size_t n = strcspn(name, "("), digits = n;

	while (digits && name[digits - 1] >= '0' && name[digits - 1] <= '9')
		digits--;
	if (digits > 1 && digits < n && name[digits - 1] == ':' && name[digits - 2] != ':')
		return digits - 1;
	return !name[n] && n > 4 && name[n - 1] == ']' && memcmp(name + n - 4, "_[", 2) == 0 ? n - 4
											     : n;
}

bool sp_thread_entry_frames_has(struct sp_thread_entry_frames *s, const char *name)
{
	SP_AUTO_BUF struct sp_buf plain, dotted;
	size_t n = plain_length(name);

	sp_buf_init(&plain);
	sp_buf_init(&dotted);
	sp_buf_add(&plain, name, n);
	for (size_t i = 0; i < n; i++) {
		bool dot = strchr("/$.", name[i]) != NULL;

		if (!dot)
			sp_buf_addc(&dotted, name[i]);
		else if (i + 1 < n && !strchr("/$.", name[i + 1]))
			sp_buf_addc(&dotted, '.');
	}
	s->failed |= plain.failed || dotted.failed;
	return regexec(&s->native, sp_buf_str(&plain), 0, NULL, 0) == 0 ||
	       regexec(&s->java, sp_buf_str(&dotted), 0, NULL, 0) == 0;
}

bool sp_thread_entry_frames_failed(const struct sp_thread_entry_frames *s)
{
	return s->failed;
}
