/* Tables and JSON of JVMs: see ps.h. */
#include "ps.h"

#include "base/cleanup.h"
#include "cli/safe_print.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	HOST,
	PID,
	ROLE,
	ID,
	APPLICATION,
	NAME,
	USER,
	JDK,
	SPARK,
	UP,
	ATTACH,
	COLUMNS,
};

static const char *const heads[COLUMNS] = {
	"HOST", "PID", "ROLE", "ID", "APPLICATION", "NAME", "USER", "JDK", "SPARK", "UP", "ATTACH"};

/* The least width to which a column is cut when the table is too wide; 0: never cut. */
static const size_t least[COLUMNS] = {[HOST] = 8, [NAME] = 8, [USER] = 8, [JDK] = 7, [SPARK] = 7};

enum { WIDTH_NARROW = 80, WIDTH_DEFAULT = 120 };

size_t sp_ps_width(void)
{
	struct winsize ws;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) < 0 || ws.ws_col == 0)
		return WIDTH_DEFAULT;
	return ws.ws_col < WIDTH_NARROW ? WIDTH_NARROW : ws.ws_col;
}

struct cells {
	char text[COLUMNS][512];
};

const char *sp_ps_uptime(uint64_t ns, char buf[16])
{
	unsigned long long s = ns / 1000000000;

	if (s < 60)
		snprintf(buf, 16, "%us", (unsigned)s);
	else if (s < 3600)
		snprintf(buf, 16, "%um", (unsigned)(s / 60));
	else if (s < 86400)
		snprintf(buf, 16, "%uh %02um", (unsigned)(s / 3600), (unsigned)(s / 60 % 60));
	else
		snprintf(buf, 16, "%ud %uh", (unsigned)(s / 86400 % 100000),
			(unsigned)(s / 3600 % 24));
	return buf;
}

static const char *or_dash(const char *s)
{
	return *s ? s : "-";
}

/* What a JVM without an application is called: its class without the package, or the jar's name. */
static const char *short_main(const struct sp_jvm *j)
{
	const char *slash = strrchr(j->main_class, '/');
	const char *dot = strrchr(j->main_class, '.');

	if (slash)
		return slash + 1;
	if (dot && dot[1] && strcmp(dot, ".jar") != 0)
		return dot + 1;
	return or_dash(j->main_class);
}

static void fill_cells(const struct sp_jvm *j, struct cells *c)
{
	char up[16], from[sizeof(j->app_name) + 2];
	const char *values[COLUMNS] = {
		[HOST] = j->hostname,
		[ROLE] = sp_jvm_role_name(j->role),
		[ID] = j->role == SP_ROLE_EXECUTOR ? or_dash(j->executor_id) : "-",
		[APPLICATION] = or_dash(j->app_id),
		[NAME] = j->started_from  ? from
			 : j->app_name[0] ? j->app_name
					  : short_main(j),
		[USER] = j->user,
		[JDK] = or_dash(j->jdk_version),
		[SPARK] = or_dash(j->spark_version),
		[UP] = sp_ps_uptime(j->uptime_ns, up),
		[ATTACH] = sp_jvm_attach_name(j->attach),
	};

	snprintf(from, sizeof(from), "(%s)", j->app_name);
	snprintf(c->text[PID], sizeof(c->text[PID]), "%d", (int)j->pid);
	for (int i = 0; i < COLUMNS; i++)
		if (values[i])
			snprintf(c->text[i], sizeof(c->text[i]), "%s", values[i]);
}

static size_t chars(const char *s)
{
	SP_AUTO_BUF struct sp_buf b = {0};

	return sp_safe_print_text(&b, s, 0);
}

static size_t total(const size_t widths[COLUMNS])
{
	size_t sum = 0;

	for (int i = 0; i < COLUMNS; i++)
		sum += widths[i] ? widths[i] + 2 : 0;
	return sum - 2;
}

/* Makes the table fit: the column that has most to give first. What still does not fit loses the
 * application's column; its id is then in the line below. */
static void shrink(size_t widths[COLUMNS], size_t width)
{
	while (total(widths) > width) {
		int most = APPLICATION;
		size_t give = 0;

		for (int i = 0; i < COLUMNS; i++) {
			if (least[i] && widths[i] > least[i] + give) {
				most = i;
				give = widths[i] - least[i];
			}
		}
		if (give)
			widths[most]--;
		else if (widths[APPLICATION])
			widths[APPLICATION] = 0;
		else
			return;
	}
}

/* A column of no width is not shown. */
static void add_row(struct sp_buf *b, const struct cells *c, const size_t widths[COLUMNS])
{
	for (int i = 0; i < COLUMNS; i++) {
		size_t n, pad;
		bool right = i == PID || i == UP;

		if (!widths[i])
			continue;
		n = chars(c->text[i]);
		pad = n < widths[i] ? widths[i] - n : 0;
		if (right)
			sp_buf_addf(b, "%*s", (int)pad, "");
		sp_safe_print_text(b, c->text[i], widths[i]);
		if (i + 1 < COLUMNS)
			sp_buf_addf(b, "%*s", right ? 2 : (int)pad + 2, "");
	}
	sp_buf_addc(b, '\n');
}

static void add_note(struct sp_buf *b, size_t indent, const char *before, const char *text)
{
	if (!*text)
		return;
	sp_buf_addf(b, "%*s%s", (int)indent, "", before);
	sp_safe_print_text(b, text, 0);
	sp_buf_addc(b, '\n');
}

static void add_workers(struct sp_buf *b, size_t indent, const struct sp_jvm *j)
{
	if (j->python_driver)
		sp_buf_addf(b, "%*sits application's Python: %d\n", (int)indent, "",
			(int)j->python_driver);
	if (!j->python_worker_count)
		return;
	sp_buf_addf(b, "%*s%u Python worker%s: ", (int)indent, "", j->python_worker_count,
		j->python_worker_count == 1 ? "" : "s");
	for (unsigned i = 0; i < j->python_worker_count; i++)
		sp_buf_addf(b, "%s%d", i ? ", " : "", (int)j->python_workers[i]);
	sp_buf_addc(b, '\n');
}

/* Below a row: what identifies it elsewhere, and why it cannot be attached to. */
static void add_notes(struct sp_buf *b, const struct sp_jvm *j, const size_t widths[COLUMNS])
{
	size_t indent = (widths[HOST] ? widths[HOST] + 2 : 0) + widths[PID] + 2;

	if (!widths[APPLICATION])
		add_note(b, indent, "", j->app_id);
	add_note(b, indent, strncmp(j->container_id, "container_", 10) == 0 ? "" : "container ",
		j->container_id);
	add_note(b, indent, "pod ", j->pod);
	add_workers(b, indent, j);
	if (j->attach != SP_ATTACH_YES)
		add_note(b, indent, "", j->reason);
}

void sp_ps_table(const struct sp_jvm *list, size_t n, size_t width, struct sp_buf *ret)
{
	size_t widths[COLUMNS];
	struct cells c;

	for (int i = 0; i < COLUMNS; i++)
		widths[i] = strlen(heads[i]);
	if (!list[0].elsewhere)
		widths[HOST] = 0;
	for (size_t k = 0; k < n; k++) {
		fill_cells(&list[k], &c);
		for (int i = 0; i < COLUMNS; i++) {
			size_t w = chars(c.text[i]);
			widths[i] = widths[i] && w > widths[i] ? w : widths[i];
		}
	}
	shrink(widths, width);
	for (int i = 0; i < COLUMNS; i++)
		snprintf(c.text[i], sizeof(c.text[i]), "%s", heads[i]);
	add_row(ret, &c, widths);
	for (size_t k = 0; k < n; k++) {
		fill_cells(&list[k], &c);
		add_row(ret, &c, widths);
		add_notes(ret, &list[k], widths);
	}
}

static void add_key(struct sp_buf *b, const char *key, const char *value)
{
	sp_buf_addf(b, ", \"%s\": ", key);
	if (value && *value)
		sp_safe_print_json(b, value);
	else
		sp_buf_adds(b, "null");
}

static void add_object(struct sp_buf *b, const struct sp_jvm *j)
{
	static const char *const libcs[] = {"", "glibc", "musl"};

	sp_buf_addf(b, "{\"pid\": %d, \"nspid\": %d, \"ppid\": %d, \"uid\": %u, \"gid\": %u",
		(int)j->pid, (int)j->nspid, (int)j->ppid, (unsigned)j->uid, (unsigned)j->gid);
	add_key(b, "user", j->user);
	add_key(b, "role", sp_jvm_role_name(j->role));
	add_key(b, "app_id", j->app_id);
	add_key(b, "app_name", j->started_from ? "" : j->app_name);
	add_key(b, "started_from", j->started_from ? j->app_name : "");
	add_key(b, "executor_id", j->executor_id);
	add_key(b, "container_id", j->container_id);
	add_key(b, "pod", j->pod);
	add_key(b, "hostname", j->hostname);
	add_key(b, "main_class", j->main_class);
	add_key(b, "kind", sp_jvm_kind_name(j->kind));
	if (j->jdk)
		sp_buf_addf(b, ", \"jdk\": %d", j->jdk);
	else
		sp_buf_adds(b, ", \"jdk\": null");
	add_key(b, "jdk_version", j->jdk_version);
	add_key(b, "libc", libcs[j->libc]);
	add_key(b, "spark_version", j->spark_version);
	add_key(b, "scala_version", j->scala_version);
	add_key(b, "cgroup", j->cgroup);
	sp_buf_addf(b, ", \"uptime_s\": %llu", (unsigned long long)(j->uptime_ns / 1000000000));
	sp_buf_adds(b, ", \"python_workers\": [");
	for (unsigned i = 0; i < j->python_worker_count; i++)
		sp_buf_addf(b, "%s%d", i ? ", " : "", (int)j->python_workers[i]);
	sp_buf_addc(b, ']');
	if (j->python_driver)
		sp_buf_addf(b, ", \"python_driver\": %d", (int)j->python_driver);
	add_key(b, "attachable", sp_jvm_attach_name(j->attach));
	add_key(b, "reason", j->reason);
	sp_buf_addc(b, '}');
}

void sp_ps_json(const struct sp_jvm *list, size_t n, struct sp_buf *ret)
{
	sp_buf_addc(ret, '[');
	for (size_t i = 0; i < n; i++) {
		sp_buf_adds(ret, i ? ",\n " : "");
		add_object(ret, &list[i]);
	}
	sp_buf_adds(ret, "]\n");
}
