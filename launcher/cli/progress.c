/* The progress line: see progress.h. */
#include "progress.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BAR = 30, WIDTH_MAX = 120 };
static const uint64_t redraw_ns = 100000000, tell_ns = 1000000000;

void sp_progress_start(struct sp_progress *p, uint64_t duration_ns, bool quiet)
{
	bool told = getenv(SP_PROGRESS_TOLD) != NULL;

	*p = (struct sp_progress){.on = !quiet && (told || isatty(STDERR_FILENO)),
		.told = told,
		.start_ns = sp_clock_mono_ns(),
		.duration_ns = duration_ns};
}

const char *sp_progress_line(uint64_t passed_ns, uint64_t duration_ns, uint64_t samples,
	uint64_t lost, const char *stages, size_t width, char *buf, size_t len)
{
	uint64_t left = passed_ns < duration_ns ? duration_ns - passed_ns : 0;
	unsigned full = duration_ns ? (unsigned)(BAR - BAR * left / duration_ns) : BAR;
	uint64_t s = (left + 999999999) / 1000000000;
	char bar[BAR + 1], time[32];

	memset(bar, '.', BAR);
	memset(bar, '#', full);
	bar[BAR] = '\0';
	if (s < 60)
		snprintf(time, sizeof(time), "%llu s", (unsigned long long)s);
	else
		snprintf(time, sizeof(time), "%llu:%02llu", (unsigned long long)(s / 60),
			(unsigned long long)(s % 60));
	snprintf(buf, len < width + 1 ? len : width + 1,
		"[%s] %s left, %llu samples, %llu lost%s%s", bar, time, (unsigned long long)samples,
		(unsigned long long)lost, *stages ? "; stage " : "", stages);
	return buf;
}

static size_t terminal_width(void)
{
	struct winsize ws;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) < 0 || ws.ws_col < 2)
		return 79;
	return ws.ws_col - 1u < WIDTH_MAX ? ws.ws_col - 1u : WIDTH_MAX;
}

void sp_progress_draw(struct sp_progress *p, uint64_t samples, uint64_t lost, const char *stages)
{
	uint64_t now = sp_clock_mono_ns();
	char line[WIDTH_MAX + 1];

	if (!p->on || (p->drawn_ns && now - p->drawn_ns < (p->told ? tell_ns : redraw_ns)))
		return;
	p->drawn_ns = now;
	if (p->told) {
		fprintf(stderr, SP_PROGRESS_MARK "%llu %llu\n", (unsigned long long)samples,
			(unsigned long long)lost);
		return;
	}
	fprintf(stderr, "\r%s\033[K",
		sp_progress_line(now - p->start_ns, p->duration_ns, samples, lost, stages,
			terminal_width(), line, sizeof(line)));
	fflush(stderr);
}

void sp_progress_end(struct sp_progress *p)
{
	if (p->on && p->drawn_ns && !p->told)
		fputs("\r\033[K", stderr);
	p->drawn_ns = 0;
}
