/* See environment.h. */
#include "environment.h"

#include "base/clock.h"
#include "jfr/event_fields.h"
#include "vm/vm_statics.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PACKAGES 64

struct cpu {
	char vendor[64], model[128];
	uint32_t threads, cores, sockets;
	int package, cores_here;	/* of the block in hand */
	int seen[PACKAGES], seen_count; /* packages */
};

static void end_of_block(struct cpu *c)
{
	int i = 0;

	while (i < c->seen_count && c->seen[i] != c->package)
		i++;
	if (i == c->seen_count && c->package >= 0 && i < PACKAGES) {
		c->seen[c->seen_count++] = c->package;
		c->cores += (uint32_t)c->cores_here;
	}
	c->package = -1;
	c->cores_here = 1;
}

/* A line of /proc/cpuinfo: "model name\t: AMD EPYC …". */
static void cpu_line(struct cpu *c, const char *line)
{
	const char *value = strchr(line, ':');

	if (!value)
		return;
	value += 1 + (value[1] == ' ');
	if (strncmp(line, "processor", 9) == 0)
		c->threads++;
	else if (strncmp(line, "vendor_id", 9) == 0)
		snprintf(c->vendor, sizeof(c->vendor), "%s", value);
	else if (strncmp(line, "model name", 10) == 0)
		snprintf(c->model, sizeof(c->model), "%s", value);
	else if (strncmp(line, "physical id", 11) == 0)
		c->package = atoi(value);
	else if (strncmp(line, "cpu cores", 9) == 0)
		c->cores_here = atoi(value);
	else if (strncmp(line, "power management", 16) == 0)
		end_of_block(c);
}

static void write_cpu(struct sp_jfrw *w)
{
	struct cpu c = {.package = -1, .cores_here = 1};
	int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	SP_AUTO_BUF struct sp_buf text = {0};
	char description[256], *save = NULL;

	if (fd < 0)
		return;
	if (sp_buf_read_fd(&text, fd, 4u << 20) == 0)
		sp_buf_addc(&text, 0);
	close(fd);
	for (char *l = text.data ? strtok_r(text.data, "\n", &save) : NULL; l;
		l = strtok_r(NULL, "\n", &save))
		cpu_line(&c, l);
	snprintf(description, sizeof(description), "Brand: %s, Vendor: %s", c.model, c.vendor);

	sp_jfrw_event(
		w, SP_JFR_EVENT(CPU_INFORMATION, .startTime.u = sp_clock_mono_ns(),
			   .cpu.s = c.model, .description.s = description,
			   .sockets.u = c.seen_count ? (uint32_t)c.seen_count : 1,
			   .cores.u = c.cores ? c.cores : c.threads, .hwThreads.u = c.threads));
}

struct library {
	uint64_t low, high;
	size_t name_len; /* the name lies behind, with its zero */
};

/* The loader's lock is held: only noted. */
static int note_library(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct library lib = {UINT64_MAX, 0, strlen(info->dlpi_name)};

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		lib.low = at < lib.low ? at : lib.low;
		lib.high = at + p->p_memsz > lib.high ? at + p->p_memsz : lib.high;
	}
	if (lib.name_len && lib.high) {
		sp_buf_add(ctx, &lib, sizeof(lib));
		sp_buf_add(ctx, info->dlpi_name, lib.name_len + 1);
	}
	return 0;
}

void sp_environment_libraries(struct sp_jfrw *w)
{
	SP_AUTO_BUF struct sp_buf all = {0};
	struct library lib;

	dl_iterate_phdr(note_library, &all);
	for (size_t at = 0; at + sizeof(lib) < all.len; at += sizeof(lib) + lib.name_len + 1) {
		memcpy(&lib, all.data + at, sizeof(lib));

		sp_jfrw_event(w, SP_JFR_EVENT(NATIVE_LIBRARY, .startTime.u = sp_clock_mono_ns(),
					 .name.s = all.data + at + sizeof(lib),
					 .baseAddress.u = lib.low, .topAddress.u = lib.high));
	}
}

static bool flag_on(const char *name)
{
	const volatile uint8_t *flag = (const volatile uint8_t *)sp_vm_statics_flag(name);

	return flag && *flag;
}

/* @bytes: of the flag's type. */
static uint64_t flag_number(const char *name, size_t bytes)
{
	uint64_t at = sp_vm_statics_flag(name), n = 0;

	if (at)
		memcpy(&n, (const void *)at, bytes);
	return n;
}

/* As the JDK's own recordings name them. */
static const struct {
	const char *flag, *young, *old;
} collectors[] = {
	{"UseG1GC", "G1New", "G1Old"},
	{"UseParallelGC", "ParallelScavenge", "ParallelOld"},
	{"UseSerialGC", "DefNew", "SerialOld"},
	{"UseConcMarkSweepGC", "ParNew", "ConcurrentMarkSweep"},
	{"UseZGC", NULL, "Z"},
	{"UseShenandoahGC", NULL, "Shenandoah"},
	{"UseEpsilonGC", NULL, "Epsilon"},
};

static void write_collector(struct sp_jfrw *w)
{
	const char *young = NULL, *old = NULL;
	uint64_t pause = flag_number("MaxGCPauseMillis", 8);

	for (size_t i = 0; i < sizeof(collectors) / sizeof(*collectors) && !old; i++)
		if (flag_on(collectors[i].flag)) {
			young = collectors[i].young;
			old = collectors[i].old;
		}
	if (!old)
		return;

	sp_jfrw_event(w, SP_JFR_EVENT(GC_CONFIGURATION, .startTime.u = sp_clock_mono_ns(),
				 .youngCollector.s = young, .oldCollector.s = old,
				 .parallelGCThreads.u = flag_number("ParallelGCThreads", 4),
				 .concurrentGCThreads.u = flag_number("ConcGCThreads", 4),
				 .usesDynamicGCThreads.u = flag_on("UseDynamicNumberOfGCThreads"),
				 .isExplicitGCConcurrent.u = flag_on("ExplicitGCInvokesConcurrent"),
				 .isExplicitGCDisabled.u = flag_on("DisableExplicitGC"),
				 .pauseTarget.u = pause > 1u << 30 ? 0 : pause,
				 .gcTimeRatio.u = flag_number("GCTimeRatio", 4)));
}

static void write_properties(struct sp_jfrw *w, const struct sp_buf *properties)
{
	const char *p = properties->data, *end = p + properties->len;

	while (p && p < end) {
		const char *value = p + strlen(p) + 1;

		if (value >= end)
			return;
		sp_jfrw_event(w, SP_JFR_EVENT(SYSTEM_PROPERTY, .startTime.u = sp_clock_mono_ns(),
					 .key.s = p, .value.s = value));
		p = value + strlen(value) + 1;
	}
}

void sp_environment_write(struct sp_jfrw *w, const struct sp_buf *properties)
{
	write_cpu(w);
	write_collector(w);
	sp_environment_libraries(w);
	if (properties)
		write_properties(w, properties);
}
