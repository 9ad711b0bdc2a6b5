/* Parameters of a Java method as class files write them: (ILjava/lang/String;)V. */
#ifndef SP_BASE_DESCRIPTOR_H
#define SP_BASE_DESCRIPTOR_H

#include <stddef.h>

/* The length of the descriptor that @s begins with; its return type may be left out. 0: none. */
size_t sp_descriptor_length(const char *s);

#endif
