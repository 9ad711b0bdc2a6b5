/* A file without a name, for what is unpacked. Inside of src/in. */
#ifndef SP_IN_TEMPORARY_H
#define SP_IN_TEMPORARY_H

/* Open for reading and writing, the caller's to close. Returns it or -errno. */
int sp_in_temporary(void);

#endif
