/* The far side of --via: a copy of this program that a launcher has sent to another host and talks
 * to over standard input and output. It lists JVMs, and runs calls of this program as children. It
 * leaves nothing: its file is removed before it says a word, and it ends, with its children, when
 * its input ends or nothing has come for five seconds. */
#ifndef SP_LAUNCHER_VIA_FAR_H
#define SP_LAUNCHER_VIA_FAR_H

/* The word that main takes for this: @far MARKER FILE. Not for people. */
#define SP_FAR_WORD "@far"

/* Returns an exit code. */
int sp_via_far(int argc, char **argv);

#endif
