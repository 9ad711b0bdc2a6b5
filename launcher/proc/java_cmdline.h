/* The command line of `java`, read as the JDK's own launcher reads it: which words are the JVM's,
 * which is the main class, which are the program's. */
#ifndef SP_LAUNCHER_PROC_JAVA_CMDLINE_H
#define SP_LAUNCHER_PROC_JAVA_CMDLINE_H

#include "proc.h"

#include <stdbool.h>

struct sp_java_cmdline {
	struct sp_buf jvm;  /* options of the JVM, NUL-terminated strings; @argfiles put in place */
	struct sp_buf args; /* the program's arguments, likewise */
	char main[512];	    /* main class, or the jar of -jar; "" if not found */
	const char *class_path; /* borrowed from @jvm; NULL if not given */
};

/* Reads @argv (NUL-terminated strings, argv[0] first). @p: where @argfiles are opened, relative to
 * its cwd and by its root, where @uid may read them; NULL leaves them out. Owner:
 * sp_java_cmdline_done. Returns 0 or -ENOMEM. */
int sp_java_cmdline_parse(
	const struct sp_buf *argv, const struct sp_proc *p, uid_t uid, struct sp_java_cmdline *ret);
void sp_java_cmdline_done(struct sp_java_cmdline *c);

/* What "-XX:+name" and "-XX:-name" leave a flag at: 1 on, 0 off, @otherwise not mentioned. The last
 * one wins, as in HotSpot. */
int sp_java_cmdline_flag(const struct sp_buf *jvm, const char *name, int otherwise);

/* The same in a text of options parted by blanks (JAVA_TOOL_OPTIONS, hsperfdata's vmArgs). */
int sp_java_cmdline_flag_text(const char *text, const char *name, int otherwise);

/* The value of -Dname=value, the last one, or NULL. Borrowed from @jvm. */
const char *sp_java_cmdline_property(const struct sp_buf *jvm, const char *name);

/* Value of "--name value" or "--name=value" among a program's arguments, the last one; else NULL.
 */
const char *sp_java_cmdline_option(const struct sp_buf *args, const char *name);

#endif
