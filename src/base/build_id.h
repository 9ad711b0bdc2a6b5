/* The build id of an ELF image: launcher and agent name themselves by it. */
#ifndef SP_BASE_BUILD_ID_H
#define SP_BASE_BUILD_ID_H

#define SP_BUILD_ID_HEX 40

/* Finds the NT_GNU_BUILD_ID note of the 64-bit image with its head at @image: a file in memory, or
 * a mapped library (its notes lie in the first segment, so that offset and address agree). The
 * image is our own, not another library's. Writes lower-case hex; "" where there is none. */
void sp_build_id(const void *image, char ret[SP_BUILD_ID_HEX + 1]);

#endif
