/* A file without a name, for what is unpacked. Inside of src/in. */
#ifndef SP_IN_TMPFILE_H
#define SP_IN_TMPFILE_H

/* Open for reading and writing, the caller's to close. Returns it or -errno. */
__attribute__((warn_unused_result)) int sp_tmpfile_open(void);

#endif
