/* Java methods as users name them: java.util.HashMap.put, org.apache.spark.*.Foo.bar*, a.B.c(I)V,
 * with an amount behind a colon. Plain functions, no JVM. */
#ifndef SP_AGENT_OPTIONS_METHOD_PATTERNS_H
#define SP_AGENT_OPTIONS_METHOD_PATTERNS_H

#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_METHODS_MAX 32

struct sp_method_name {
	char class_name[192]; /* as class files have it: java/util/HashMap; * is any text */
	char method[96];
	char descriptor[160]; /* (Ljava/lang/String;)V, or without the type behind; "": any */
	uint64_t amount;
	_Atomic bool found; /* a class has it */
};

struct sp_method_patterns {
	struct sp_method_name names[SP_METHODS_MAX];
	uint32_t count;
};

/* Reads "NAME[:AMOUNT];NAME…": an amount is a time if @times, else a number, and @amount where none
 * is given. Returns 0, or -EINVAL with a sentence. */
int sp_method_patterns_parse(struct sp_method_patterns *m, const char *text, bool times,
	uint64_t amount, struct sp_err *err);

/* Is any name of this class? */
bool sp_method_patterns_of_class(const struct sp_method_patterns *m, const char *class_name);

/* The first name that means this method; -1: none. */
int32_t sp_method_patterns_find(const struct sp_method_patterns *m, const char *class_name,
	const char *method, const char *descriptor);

/* Notes that there is this method. Any thread. */
void sp_method_patterns_mark(struct sp_method_patterns *m, const char *class_name,
	const char *method, const char *descriptor);
/* … or that there may be: the class does not show its methods yet. */
void sp_method_patterns_mark_class(struct sp_method_patterns *m, const char *class_name);

/* Adds the patterns that matched no method to @buf, with commas. */
void sp_method_patterns_missing(const struct sp_method_patterns *m, char *buf, size_t size);

#endif
