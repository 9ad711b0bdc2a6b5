/* See jvminfo.h. */
#include "jvminfo.h"

#include "base/clock.h"
#include "base/redact.h"
#include "vm_statics.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *text_at(const char *type, const char *field)
{
	uint64_t p = sp_vm_statics_static(type, field);

	return p ? *(const char **)p : NULL;
}

/* An array of words, parted by blanks. */
static void words(const char *array, const char *count, bool redact, char *buf, size_t size)
{
	uint64_t a = sp_vm_statics_static("Arguments", array);
	uint64_t n = sp_vm_statics_static("Arguments", count);
	enum sp_redact_next next = SP_REDACT_PLAIN;
	SP_AUTO_BUF struct sp_buf line = {0};

	for (int i = 0; a && n && i < *(const int *)n && line.len < size; i++) {
		const char *word = (*(const char ***)a)[i];

		if (i)
			sp_buf_addc(&line, ' ');
		if (redact)
			sp_redact_word(word, strlen(word), &next, &line);
		else
			sp_buf_adds(&line, word);
	}
	snprintf(buf, size, "%s", sp_buf_str(&line));
}

/* When the process began: field 22 of /proc/self/stat, in ticks since boot. */
static uint64_t start_ms(void)
{
	uint64_t up = sp_clock_read(CLOCK_BOOTTIME) / 1000000, began;
	char buf[1024], *p;
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	buf[n] = 0;
	p = strrchr(buf, ')'); /* the name may hold anything */
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p)
		return 0;
	began = strtoull(p, NULL, 10) * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
	return sp_clock_wall_ns() / 1000000 - (up > began ? up - began : 0);
}

void sp_jvminfo_read(struct sp_jvminfo *ret, bool redact)
{
	const char *version = text_at("Abstract_VM_Version", "_s_internal_vm_info_string");
	const char *command = text_at("Arguments", "_java_command");

	memset(ret, 0, sizeof(*ret));
	if (!version)
		version = text_at("Abstract_VM_Version", "_s_vm_release");
	snprintf(ret->version, sizeof(ret->version), "%s", version ? version : "");
	/* "OpenJDK 64-Bit Server VM (17.0.9+9) for …" */
	snprintf(ret->name, sizeof(ret->name), "%.*s",
		strstr(ret->version, " (") ? (int)strcspn(ret->version, "(") - 1 : 0, ret->version);
	snprintf(ret->command, sizeof(ret->command), "%s", command ? command : "");
	if (redact)
		sp_redact_in_place(ret->command, sizeof(ret->command));
	words("_jvm_args_array", "_num_jvm_args", redact, ret->args, sizeof(ret->args));
	words("_jvm_flags_array", "_num_jvm_flags", redact, ret->flags, sizeof(ret->flags));
	ret->start_ms = start_ms();
}
