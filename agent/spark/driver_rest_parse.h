/* The words of the REST API: addresses to ask, and what is taken of the answers. No JNI, no
 * network. */
#ifndef SP_AGENT_REST_TEXT_H
#define SP_AGENT_REST_TEXT_H

#include "identity.h"
#include "tasks.h"

#define SP_REST_PORTS 5 /* a second driver on a host takes the next port */
#define SP_REST_URL   1024

/* The address of the driver's UI to try, @n from 0 on: @ui alone where it is not ""; none
 * where it is "none". Returns false where there is no other. */
bool sp_rest_base(const struct sp_identity *id, const char *ui, unsigned n, char *buf, size_t size);

/* "BASE/api/v1/applications/ID" and @path behind it; what the id has that is not for addresses is
 * escaped. */
void sp_rest_url(
	const char *base, const struct sp_identity *id, const char *path, char *buf, size_t size);

/* Takes what @json, an answer of …/stages/N, …/jobs or …/sql/N, says of the stage attempt that @a
 * is about. Returns whether there was anything. */
bool sp_rest_stage(const char *json, size_t len, struct sp_stage_about *a);
bool sp_rest_job(const char *json, size_t len, struct sp_stage_about *a);
bool sp_rest_sql(const char *json, size_t len, struct sp_stage_about *a);

#endif
