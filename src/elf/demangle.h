/* Readable names of C++ and Rust functions. Launcher side. */
#ifndef SP_ELF_DEMANGLE_H
#define SP_ELF_DEMANGLE_H

#include <stdbool.h>

#include "base/buf.h"

/* Most bytes that a name may grow to: C++ substitutions can double at every step. */
#define SP_DEMANGLE_MAX 16384

/* Does @name look mangled (C++ "_Z", Rust "_R")? Such frames are of type SP_FRAME_CPP. */
bool sp_demangle_is_mangled(const char *name);

/* Appends the readable form of @name to @out.
 * @full: true: with parameters, as c++filt prints it ("std::vector<int>::at(unsigned long)");
 *        false: as a frame ("std::vector<int>::at"): parameters, return types, "[clone …]" and the
 *        compiler's suffixes (.isra.0, .cold, .lto_priv.1, of C functions also) are left out.
 * Rust's hashes and disambiguators are left out in both.
 * Returns: 0; -EINVAL if it is not mangled, damaged, or would pass SP_DEMANGLE_MAX: then @out is as
 *          it was. Context: any thread; time and memory are bounded for any @name. */
int sp_demangle(const char *name, bool full, struct sp_buf *out);

/* Inside of src/elf: Rust only; legacy ("_ZN…17h<hash>E") and v0 ("_R…", RFC 2603).
 * Returns as sp_demangle. */
int sp_rust_demangle_legacy(const char *name, struct sp_buf *out);
int sp_rust_demangle_v0(const char *name, struct sp_buf *out);

#endif
