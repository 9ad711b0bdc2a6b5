/* What reports say about where a recording comes from: see outputs.h. */
#include "outputs.h"

#include "base/buf.h"
#include "base/redact.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { COMMAND_MAX = 4096 };

static uint32_t keep_text(struct sp_profile *p, struct sp_buf *text, uint32_t otherwise)
{
	uint32_t id = text->len ? sp_dict_string(p->dict, text->data, text->len) : 0;

	sp_buf_clear(text);
	return id ? id : otherwise;
}

/* The name that the application gave itself, as the recording has it, is the same for all who look;
 * a command line has another one, or none. */
static void add_target(struct sp_buf *b, const struct sp_profile *p, const struct sp_jvm *t)
{
	const char *app = p->app_name	    ? sp_dict_get_string(p->dict, p->app_name, NULL)
			  : t->started_from ? ""
					    : t->app_name;

	if (t->executor_id[0] && strcmp(t->executor_id, "driver") != 0)
		sp_buf_addf(b, "executor %s", t->executor_id);
	else if (t->role == SP_ROLE_DRIVER)
		sp_buf_adds(b, "driver");
	else
		sp_buf_adds(b, t->main_class);
	if (t->app_id[0])
		sp_buf_addf(b, " of %s", t->app_id);
	if (app[0])
		sp_buf_addf(b, " \"%s\"", app);
	sp_buf_addf(b, b->len ? " (pid %d)" : "pid %d", (int)t->pid);
	if (t->pod[0])
		sp_buf_addf(b, " in pod %s", t->pod);
}

static void add_runtime(struct sp_buf *b, const struct sp_profile *p, const struct sp_jvm *t)
{
	if (p->runtime_id)
		sp_buf_adds(b, sp_dict_get_string(p->dict, p->runtime_id, NULL));
	else if (t->jdk_version[0])
		sp_buf_addf(b, "JDK %s", t->jdk_version);
	if (t->spark_version[0] && !p->spark_id) /* else the recording says it */
		sp_buf_addf(b, "%sSpark %s", b->len ? ", " : "", t->spark_version);
}

/* The words of our own command line, with blanks between them. */
static void add_command(struct sp_buf *b)
{
	char words[COMMAND_MAX];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, words, sizeof(words) - 1);
	enum sp_redact_next next = SP_REDACT_PLAIN;

	if (fd >= 0)
		close(fd);
	words[n > 0 ? n : 0] = '\0';
	for (const char *w = words; w < words + n; w += strlen(w) + 1) {
		if (w > words)
			sp_buf_addc(b, ' ');
		sp_redact_word(w, strlen(w), &next, b);
	}
}

void sp_outputs_describe(struct sp_profile *p, const struct sp_jvm *target)
{
	SP_AUTO_BUF struct sp_buf b;
	char host[256] = "";

	sp_buf_init(&b);
	if (target->pid > 0)
		add_target(&b, p, target);
	p->target_id = keep_text(p, &b, p->target_id);
	add_runtime(&b, p, target);
	p->runtime_id = keep_text(p, &b, p->runtime_id);
	if (target->hostname[0])
		sp_buf_adds(&b, target->hostname);
	else if (gethostname(host, sizeof(host) - 1) == 0)
		sp_buf_adds(&b, host);
	p->host_id = keep_text(p, &b, p->host_id);
	add_command(&b);
	p->command_id = keep_text(p, &b, p->command_id);
}
