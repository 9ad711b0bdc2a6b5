/* The words of the REST API: addresses to ask, and what is taken of the answers. No JNI, no
 * network. */
#ifndef SP_AGENT_SPARK_DRIVER_REST_PARSE_H
#define SP_AGENT_SPARK_DRIVER_REST_PARSE_H

#include "spark_identity.h"
#include "task_table.h"

#define SP_REST_PORTS 5 /* a second driver on a host takes the next port */
#define SP_REST_URL   1024

/* The address of the driver's UI to try, @n from 0 on: @ui alone where it is not ""; none
 * where it is "none". Returns false where there is no other. */
bool sp_driver_rest_parse_base(
	const struct sp_spark_identity *id, const char *ui, unsigned n, char *buf, size_t size);

/* "BASE/api/v1/applications/ID" and @path behind it; what the id has that is not for addresses is
 * escaped. */
void sp_driver_rest_parse_url(const char *base, const struct sp_spark_identity *id,
	const char *path, char *buf, size_t size);

/* Takes what @json, an answer of …/stages/N, …/jobs or …/sql/N, says of the stage attempt that @a
 * is about. Returns whether there was anything. */
bool sp_driver_rest_parse_stage(const char *json, size_t len, struct sp_stage_about *a);
bool sp_driver_rest_parse_job(const char *json, size_t len, struct sp_stage_about *a);
/* How many tasks have finished, of …/stages/N, and how long the median of them took, of
 * …/taskSummary. */
bool sp_driver_rest_parse_finished(const char *json, size_t len, struct sp_stage_about *a);
bool sp_driver_rest_parse_median(const char *json, size_t len, struct sp_stage_about *a);

/* The tasks of …/taskList: when they were launched. Returns false behind the last; *at is 0 at
 * first. */
bool sp_driver_rest_parse_launch(
	const char *json, size_t len, size_t *at, int64_t *ret_task, uint64_t *ret_launch_ms);
bool sp_driver_rest_parse_sql(const char *json, size_t len, struct sp_stage_about *a);

#endif
