/* How a frame is called in a report: the spellings that users know from async-profiler. */
#ifndef SP_PROF_MODEL_FRAME_NAME_H
#define SP_PROF_MODEL_FRAME_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "dict/dict.h"

struct sp_style {
	bool simple;	 /* -s: class names without packages */
	bool signatures; /* -g: Java signatures, C++ parameters */
	bool annotate;	 /* -a: _[0] _[1] _[j] _[i] _[k] behind the name */
	bool libraries;	 /* -l: lib`function */
	bool readable;	 /* --names=short: see short_name.h */
	bool stable;	 /* numbers of lambdas, accessors and proxies left out: see short_name.h */
	bool dotted;	 /* java.lang.String.hashCode instead of java/lang/String.hashCode */
};

/* Appends the name of a frame to @out: "java/lang/Thread.run", "std::sort<int*>", "do_futex".
 * Hidden and lambda classes lose the address that differs between runs ("…$$Lambda/0x…"). A native
 * function without a name is called "[libfoo.so]"; a frame without a method "[unknown]". */
void sp_frame_name(const struct sp_dict *d, const struct sp_frame_ref *f,
	const struct sp_style *style, struct sp_buf *out);

/* Appends the class of a Java method alone. */
void sp_frame_name_class(const struct sp_dict *d, const struct sp_method *m,
	const struct sp_style *style, struct sp_buf *out);

/* Appends the class that a stack works in: of the object it allocates or waits for, else of its
 * first Java method; "[no class]". @st: NULL for no stack. */
void sp_frame_name_work(const struct sp_dict *d, const struct sp_stack *st,
	const struct sp_style *style, struct sp_buf *out);

/* Its type as a report shows it: C++ where the name of a native function is mangled. */
enum sp_frame_type sp_frame_name_type(const struct sp_dict *d, const struct sp_frame_ref *f);

/* What -a puts behind the name of a frame of this type: "_[j]"; "" for most. */
const char *sp_frame_name_suffix(enum sp_frame_type type);

/* Appends "[name tid=N]", or "[tid=N]" for a thread without a name, "[no thread]" for id 0. */
void sp_frame_name_thread(const struct sp_dict *d, uint32_t thread, struct sp_buf *out);

#endif
