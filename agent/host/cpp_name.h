/* C++ names for people, of those that need no more than a look: nested names without templates, as
 * nearly all of HotSpot's are. The launcher's demangler (src/elf/demangle.c) would be larger than
 * all that the agent has for reading symbols. Pure. */
#ifndef SP_AGENT_HOST_CPP_NAME_H
#define SP_AGENT_HOST_CPP_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* "JavaCalls::call_helper" of "_ZN9JavaCalls11call_helperEP9JavaValue…", as reports show it. False
 * where it takes more, or is no C++ name: then @ret is untouched. */
bool sp_cpp_name(const char *mangled, char *ret, size_t size);

#endif
