/* Readable names of Java, Scala and Spark methods (--names=short). */
#ifndef SP_PROF_MODEL_SHORT_NAME_H
#define SP_PROF_MODEL_SHORT_NAME_H

#include "base/buf.h"

#include <stddef.h>

/* Appends "o.a.s.scheduler.Task.run" for class "org/apache/spark/scheduler/Task" and method "run".
 * Packages become letters; Scala's objects, operators and specialised methods lose their marks
 * ("Foo$.apply$mcV$sp" is "Foo.apply"); a lambda is named after the method it is in
 * ("$anonfun$map$1$adapted" is "map{λ1}"); numbers that differ from JVM to JVM (lambda classes,
 * proxies, accessors) go; a class that Spark generated is called by its own name, with the number
 * of its codegen stage. */
void sp_short_name_class(const char *s, size_t n, struct sp_buf *out);
void sp_short_name_method(const char *s, size_t n, struct sp_buf *out);

/* Length of a class name without the numbers that hidden and generated classes have behind it,
 * which differ from JVM to JVM: "a/B$$Lambda$679/0x0000000800c3a840" up to "a/B$$Lambda". */
size_t sp_short_name_stable(const char *s, size_t n);

/* Appends the file name of a native library without what Java libraries put into it when they
 * unpack one to a temporary directory: "liblz4-java-6342350456712345678.so" is "liblz4-java.so". */
void sp_short_name_library(const char *s, struct sp_buf *out);

#endif
