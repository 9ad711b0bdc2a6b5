/* The names in a directory, read by the kernel's own call: opendir takes its memory from malloc,
 * and so leaves an arena for each thread of ours that calls it. */
#ifndef SP_BASE_LIST_DIR_H
#define SP_BASE_LIST_DIR_H

/* Calls @fn with each name in @path, "." and ".." too. 0 or -errno. Context: any thread, never a
 * signal handler. */
int sp_list_dir(const char *path, void (*fn)(void *ctx, const char *name), void *ctx);

#endif
