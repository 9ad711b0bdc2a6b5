/* What fields of recordings mean to us: see resolve.h. One table, whoever wrote the recording. */
#include "jfr/resolve.h"

#include <string.h>

#include "base/cleanup.h"

static const struct {
	const char *type, *member; /* type NULL: of any event */
	uint8_t role;
} role_table[] = {
	{NULL, "startTime", SP_JFR_R_START},
	{NULL, "duration", SP_JFR_R_DURATION},
	{NULL, "sampledThread", SP_JFR_R_THREAD},
	{NULL, "eventThread", SP_JFR_R_THREAD},
	{NULL, "stackTrace", SP_JFR_R_STACK},
	{NULL, "state", SP_JFR_R_STATE},
	{"jdk.types.Symbol", "string", SP_JFR_R_NAME},
	{"java.lang.Class", "name", SP_JFR_R_NAME},
	{"jdk.types.Package", "name", SP_JFR_R_NAME},
	{"jdk.types.ThreadGroup", "name", SP_JFR_R_NAME},
	{"jdk.types.Method", "type", SP_JFR_R_CLASS},
	{"jdk.types.Method", "name", SP_JFR_R_NAME},
	{"jdk.types.Method", "descriptor", SP_JFR_R_DESCRIPTOR},
	{"jdk.types.Method", "modifiers", SP_JFR_R_MODIFIERS},
	{"jdk.types.StackTrace", "truncated", SP_JFR_R_TRUNCATED},
	{"jdk.types.StackTrace", "frames", SP_JFR_R_FRAMES},
	{"jdk.types.StackFrame", "method", SP_JFR_R_METHOD},
	{"jdk.types.StackFrame", "lineNumber", SP_JFR_R_LINE},
	{"jdk.types.StackFrame", "bytecodeIndex", SP_JFR_R_BCI},
	{"jdk.types.StackFrame", "type", SP_JFR_R_FRAME_TYPE},
	{"java.lang.Thread", "osName", SP_JFR_R_OS_NAME},
	{"java.lang.Thread", "osThreadId", SP_JFR_R_OS_ID},
	{"java.lang.Thread", "javaName", SP_JFR_R_JAVA_NAME},
	{"java.lang.Thread", "javaThreadId", SP_JFR_R_JAVA_ID},
	{"java.lang.Thread", "group", SP_JFR_R_GROUP},
};

static uint8_t role_of(const struct sp_jfr_decl *t, const struct sp_jfr_member *m)
{
	for (size_t i = 0; i < SP_COUNT(role_table); i++) {
		if (role_table[i].member[0] != m->name[0] ||
			strcmp(role_table[i].member, m->name) != 0)
			continue;
		if (role_table[i].type ? strcmp(role_table[i].type, t->name) == 0 : t->event)
			return role_table[i].role;
	}
	return SP_JFR_R_OTHER;
}

/* A field has its role only if it is encoded as the role needs it. */
static bool fits(const struct sp_jfr_resolver *r, uint8_t role, const struct sp_jfr_member *m)
{
	uint8_t prim = m->type >= 0 ? r->chunk->schema.types[m->type].prim : SP_JFR_P_STRUCT;

	switch (role) {
	case SP_JFR_R_START:
	case SP_JFR_R_DURATION:
	case SP_JFR_R_OS_ID:
	case SP_JFR_R_JAVA_ID:
		return prim == SP_JFR_P_LONG && !m->pool && !m->array;
	case SP_JFR_R_LINE:
	case SP_JFR_R_BCI:
	case SP_JFR_R_MODIFIERS:
		return prim == SP_JFR_P_INT && !m->pool && !m->array;
	case SP_JFR_R_TRUNCATED:
		return prim == SP_JFR_P_BOOLEAN && !m->pool && !m->array;
	case SP_JFR_R_FRAMES:
		return m->array && !m->pool && m->type >= 0 && prim == SP_JFR_P_STRUCT;
	case SP_JFR_R_OS_NAME:
	case SP_JFR_R_JAVA_NAME:
		return prim == SP_JFR_P_STRING && !m->pool && !m->array;
	case SP_JFR_R_NAME:
		return !m->array && (m->pool || prim == SP_JFR_P_STRING);
	case SP_JFR_R_THREAD:
		return m->pool && !m->array && m->type == r->thread;
	case SP_JFR_R_STACK:
		return m->pool && !m->array && m->type == r->stack;
	case SP_JFR_R_STATE:
		return m->pool && !m->array && m->type == r->state;
	case SP_JFR_R_OTHER:
		return true;
	default:
		return m->pool && !m->array;
	}
}

uint8_t sp_jfr_role(
	const struct sp_jfr_resolver *r, const struct sp_jfr_decl *t, const struct sp_jfr_member *m)
{
	uint8_t role = role_of(t, m);

	return fits(r, role, m) ? role : SP_JFR_R_OTHER;
}
