/* From where the classes of a Spark JVM came: the jar of each class that samples show, asked for
 * once. The collector says which classes it met; the thread that is attached to the JVM looks for
 * them among the loaded ones, and the collector writes what was found.
 *
 * It does no harm: no class is loaded or initialised, no code of the application runs (a protection
 * domain is read by a native method or a field of java.lang.Class, its code source and URL by their
 * fields), no lock is held while the JVM is called, and it looks at most for 0.5 % of the time.
 * What does not fit into its memory is not recorded. */
#ifndef SP_AGENT_HOOKS_CLASS_SOURCES_H
#define SP_AGENT_HOOKS_CLASS_SOURCES_H

#include "dict/dict.h"
#include "jvmti_thread.h"

struct sp_class_sources;

/* Returns 0 or -ENOMEM. */
__attribute__((warn_unused_result)) int sp_class_sources_new(struct sp_class_sources **ret);
void sp_class_sources_free(struct sp_class_sources *s);

/* For the attached thread. */
struct sp_jvm_guest sp_class_sources_guest(struct sp_class_sources *s);

/* The next tick looks, whenever the last one was. Any thread. */
void sp_class_sources_hurry(struct sp_class_sources *s);

/* Context: the collector. Methods of @d that are new since the last call are looked at. */
void sp_class_sources_want(struct sp_class_sources *s, const struct sp_dict *d);

/* The same: the dictionary was reset, a new chunk begins, which gets everything again. */
void sp_class_sources_reset(struct sp_class_sources *s);

/* The same: calls @fn for each place with classes that this chunk does not have yet, a line each.
 */
void sp_class_sources_write(struct sp_class_sources *s,
	void (*fn)(void *ctx, const char *location, const char *classes), void *ctx);

#endif
