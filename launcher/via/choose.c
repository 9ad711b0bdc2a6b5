/* Which executors and drivers are meant: see choose.h. */
#include "choose.h"
#include "slowest.h"

#include "cli/executor_list.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

static bool is_executor(const struct sp_via_member *m, const char *id)
{
	return m->role == SP_ROLE_EXECUTOR && (!id || strcmp(m->id, id) == 0);
}

bool sp_via_word_means(const char *word, const struct sp_via_member *m)
{
	size_t len = strcspn(word, "/");

	if (strcmp(word, "driver") == 0)
		return m->role == SP_ROLE_DRIVER;
	if (strcmp(word, "executor") == 0 || strcmp(word, "executors") == 0)
		return is_executor(m, NULL);
	if (strncmp(word, "executor:", 9) == 0)
		return is_executor(m, word + 9);
	if (m->role == SP_ROLE_OTHER || !len || strncmp(m->app, word, len) != 0)
		return false;
	if (!word[len])
		return true;
	return strcmp(word + len, "/driver") == 0 ? m->role == SP_ROLE_DRIVER
						  : is_executor(m, word + len + 1);
}

/* The beginning of an application's id has to be that of one. */
int sp_via_check_word(
	const char *word, const struct sp_via_member *list, size_t n, struct sp_err *err)
{
	const struct sp_via_member *first = NULL;

	for (size_t i = 0; i < n; i++) {
		if (strncmp(list[i].app, word, strcspn(word, "/")) != 0 ||
			!sp_via_word_means(word, &list[i]))
			continue;
		if (first && strcmp(first->app, list[i].app) != 0)
			return sp_err_set(err, -EINVAL,
				"%.60s is the beginning of several applications: %s and %s; write "
				"more of it",
				word, first->app, list[i].app);
		first = &list[i];
	}
	return 0;
}

static void choose_driver(const struct sp_call *call, const struct sp_via_member *list, size_t n,
	struct sp_via_member *driver)
{
	if (call->with_driver == SP_WITH_DRIVER_OFF)
		driver->meant = false;
	for (size_t i = 0; call->with_driver == SP_WITH_DRIVER_ON && i < n; i++)
		driver->meant |= list[i].meant && is_executor(&list[i], NULL) &&
				 strcmp(list[i].app, driver->app) == 0;
}

/* Leaves @keep of the @n executors that are meant, each with the same chance. */
static int draw(struct sp_via_member *list, size_t n, size_t meant, size_t keep, struct sp_err *err)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t random;

		if (!list[i].meant || !is_executor(&list[i], NULL))
			continue;
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return sp_err_set(err, -EIO, "no random numbers");
		list[i].meant = random % meant < keep;
		keep -= list[i].meant;
		meant--;
	}
	return 0;
}

int sp_via_choose(
	const struct sp_call *call, struct sp_via_member *list, size_t n, struct sp_err *err)
{
	size_t meant = 0;
	int r;

	for (size_t i = 0; i < n; i++) {
		if (list[i].role == SP_ROLE_DRIVER)
			choose_driver(call, list, n, &list[i]);
		else if (call->executors && !sp_executor_list_has(call->executors, list[i].id))
			list[i].meant = false;
	}
	if (call->slowest && (r = sp_via_slowest(call, list, n, err)) < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		meant += list[i].meant && is_executor(&list[i], NULL);
	if (call->fraction > 0 && call->fraction < 1)
		return draw(list, n, meant, (size_t)ceil((double)meant * call->fraction), err);
	return 0;
}
