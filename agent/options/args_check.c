/* Whether the words of a recording's options are those there are: see args_internal.h. */
#include "args_internal.h"

#include "base/cleanup.h"

#include <errno.h>
#include <string.h>

static bool filter_ok(const char *f)
{
	return strspn(f, "0123456789-,;: ") == strlen(f);
}

static bool stacks_ok(const char *word)
{
	static const char *const words[] = {"", "no", "fp", "dwarf", "lbr", "vm", "vmx"};

	for (size_t i = 0; i < SP_COUNT(words); i++)
		if (strcmp(words[i], word) == 0)
			return true;
	return false;
}

static bool python_ok(const char *word)
{
	static const char *const words[] = {"", "auto", "on", "off", "launcher"};

	for (size_t i = 0; i < SP_COUNT(words); i++)
		if (strcmp(words[i], word) == 0)
			return true;
	return false;
}

int sp_args_check(const struct sp_args *a, struct sp_err *err)
{
	if (*a->capture && strcmp(a->capture, "ring") != 0 && strcmp(a->capture, "signal") != 0)
		return sp_err_set(
			err, -EINVAL, "capture: '%s' is neither ring nor signal", a->capture);
	if (!stacks_ok(a->cstack))
		return sp_err_set(err, -EINVAL,
			"cstack: '%s' is not one of no, fp, dwarf, lbr, vm, vmx", a->cstack);
	if (*a->kernel && strcmp(a->kernel, "on") != 0 && strcmp(a->kernel, "off") != 0)
		return sp_err_set(err, -EINVAL, "kernel: '%s' is neither on nor off", a->kernel);
	if (strspn(a->target_cpu, "0123456789") != strlen(a->target_cpu))
		return sp_err_set(
			err, -EINVAL, "target-cpu: '%s' is not the number of a CPU", a->target_cpu);
	if (!python_ok(a->python))
		return sp_err_set(
			err, -EINVAL, "python: '%s' is not one of auto, on, off", a->python);
	if (!filter_ok(a->filter))
		return sp_err_set(err, -EINVAL,
			"filter: '%s' is not a list of thread ids; write 120-127;132", a->filter);
	return 0;
}
