/* Who this JVM is, before it has run a line, and whether it is to record. */
#include "spark/spark_identity.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

Test(spark_identity, the_application_of_a_container)
{
	static const struct {
		const char *container, *app;
	} cases[] = {
		{"container_1410901177871_0001_01_000005", "application_1410901177871_0001"},
		{"container_e17_1410901177871_12345_02_000001", "application_1410901177871_12345"},
		{"container_", ""},
		{"container_e17", ""},
		{"pod-7", ""},
	};

	unsetenv("SPARK_APPLICATION_ID");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sp_spark_identity id;

		setenv("CONTAINER_ID", cases[i].container, 1);
		sp_spark_identity_early(&id);
		cr_expect_str_eq(id.app_id, cases[i].app, "%s", cases[i].container);
		cr_expect_str_eq(id.container, cases[i].container);
	}
}

Test(spark_identity, the_environment_of_a_pod)
{
	struct sp_spark_identity id;

	unsetenv("CONTAINER_ID");
	setenv("SPARK_APPLICATION_ID", "spark-1", 1);
	setenv("SPARK_EXECUTOR_ID", "4", 1);
	sp_spark_identity_early(&id);
	cr_expect_str_eq(id.app_id, "spark-1");
	cr_expect_str_eq(id.executor_id, "4");
	cr_expect(sp_spark_identity_whole(&id));
}

static unsigned chosen(const char *app, uint32_t fraction, bool *ret)
{
	unsigned n = 0;

	for (int i = 0; i < 10000; i++) {
		struct sp_spark_identity id = {.host = "h"};

		snprintf(id.app_id, sizeof(id.app_id), "%s", app);
		snprintf(id.executor_id, sizeof(id.executor_id), "%d", i);
		ret[i] = sp_spark_identity_chosen(&id, fraction);
		n += ret[i];
	}
	return n;
}

Test(spark_identity, a_fraction_of_executors_and_the_same_again)
{
	static bool one[10000], again[10000], other[10000];
	unsigned n = chosen("application_1_0001", 100000, one), both = 0;

	cr_expect(n > 900 && n < 1100, "%u", n);
	chosen("application_1_0001", 100000, again);
	cr_expect_arr_eq(one, again, sizeof(one));
	cr_expect(chosen("application_1_0002", 100000, other) > 900);
	for (int i = 0; i < 10000; i++)
		both += one[i] && other[i];
	cr_expect(both > 50 && both < 200, "%u", both);
	cr_expect_eq(chosen("x", 0, one), 0);
	cr_expect_eq(chosen("x", 1000000, one), 10000);
	cr_expect(
		sp_spark_identity_chosen(&(struct sp_spark_identity){.executor_id = "driver"}, 0));
}
