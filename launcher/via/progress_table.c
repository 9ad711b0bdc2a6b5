/* A line for each recording: see progress_table.h. */
#include "progress_table.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS = 80, ROWS = 24, COLUMNS_MAX = 120 };
static const uint64_t redraw_ns = 200000000;

void sp_progress_table_start(struct sp_progress_table *l, bool quiet)
{
	*l = (struct sp_progress_table){.on = !quiet && isatty(STDERR_FILENO)};
}

bool sp_progress_table_due(struct sp_progress_table *l)
{
	uint64_t now = sp_clock_mono_ns();

	if (!l->on || (l->drawn_ns && now - l->drawn_ns < redraw_ns))
		return false;
	l->drawn_ns = now;
	return true;
}

static void add_line(struct sp_buf *ret, size_t columns, const char *text)
{
	sp_buf_addf(ret, "%.*s\033[K\n", (int)columns, text);
}

size_t sp_progress_table_text(const struct sp_progress_row *list, size_t n, uint64_t passed_ns,
	size_t rows, size_t columns, struct sp_buf *ret)
{
	struct sp_progress_row sum = {0};
	int host = 4, who = 4;
	size_t shown = n + 1 <= rows ? n : rows > 2 ? rows - 2 : 0;
	char text[2 * COLUMNS_MAX];

	for (size_t i = 0; i < n; i++) {
		sum.samples += list[i].samples;
		sum.lost += list[i].lost;
		sum.bytes += list[i].bytes;
		host = (int)strlen(list[i].host) > host ? (int)strlen(list[i].host) : host;
		who = (int)strlen(list[i].who) > who ? (int)strlen(list[i].who) : who;
	}
	host = host < 40 ? host : 40;
	for (size_t i = 0; i < shown; i++) {
		snprintf(text, sizeof(text),
			"  %-*.*s  %-*.20s  %-9s  %9llu samples  %6llu lost  %7.1f MB", host, host,
			list[i].host, who < 20 ? who : 20, list[i].who, list[i].state,
			(unsigned long long)list[i].samples, (unsigned long long)list[i].lost,
			(double)list[i].bytes / 1e6);
		add_line(ret, columns, text);
	}
	if (shown < n && rows > 1) {
		snprintf(text, sizeof(text), "  and %zu more", n - shown);
		add_line(ret, columns, text);
	}
	snprintf(text, sizeof(text), "%.0f s, %zu recording%s: %llu samples, %llu lost, %.1f MB",
		(double)passed_ns / 1e9, n, n == 1 ? "" : "s", (unsigned long long)sum.samples,
		(unsigned long long)sum.lost, (double)sum.bytes / 1e6);
	add_line(ret, columns, text);
	return shown + 1 + (shown < n && rows > 1);
}

void sp_progress_table_erase(struct sp_progress_table *l)
{
	if (l->rows)
		fprintf(stderr, "\r\033[%zuA\033[J", l->rows);
	fflush(stderr);
	l->rows = 0;
}

void sp_progress_table_draw(struct sp_progress_table *l, const struct sp_progress_row *list,
	size_t n, uint64_t passed_ns)
{
	SP_AUTO_BUF struct sp_buf text = {0};
	size_t rows = ROWS, columns = COLUMNS, drawn;
	struct winsize ws;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 1 && ws.ws_row > 1) {
		rows = ws.ws_row;
		columns = ws.ws_col < COLUMNS_MAX ? ws.ws_col : COLUMNS_MAX;
	}
	/* The cursor is below: that row and the last column stay empty. */
	drawn = sp_progress_table_text(list, n, passed_ns, rows - 1, columns - 1, &text);
	sp_progress_table_erase(l);
	if (text.failed || !text.len)
		return;
	fwrite(text.data, 1, text.len, stderr);
	fflush(stderr);
	l->rows = drawn;
}
