/* Included before every source of the agent: binds functions that newer glibc re-versioned to the
 * versions that glibc 2.17 (CentOS 7) has, so that a library built on a new system loads on an old
 * one. tests/lint/agent_symbols reads the dynamic table and fails on anything newer. */
#ifndef SP_AGENT_HOST_GLIBC217_H
#define SP_AGENT_HOST_GLIBC217_H

#ifdef __x86_64__
#define SP_SYMVER(name, version) __asm__(".symver " #name "," #name "@GLIBC_" version)
SP_SYMVER(pthread_create, "2.2.5");
SP_SYMVER(pthread_join, "2.2.5");
SP_SYMVER(pthread_detach, "2.2.5");
SP_SYMVER(pthread_sigmask, "2.2.5");
SP_SYMVER(pthread_kill, "2.2.5");
SP_SYMVER(pthread_setcancelstate, "2.2.5");
SP_SYMVER(pthread_once, "2.2.5");
SP_SYMVER(pthread_condattr_setclock, "2.3.3");
SP_SYMVER(pthread_getattr_np, "2.2.5");
SP_SYMVER(pthread_attr_getstack, "2.2.5");
SP_SYMVER(pthread_attr_setstack, "2.2.5");
SP_SYMVER(pthread_mutex_trylock, "2.2.5");
SP_SYMVER(pthread_setname_np, "2.12");
SP_SYMVER(dlopen, "2.2.5");
SP_SYMVER(dlsym, "2.2.5");
SP_SYMVER(dlclose, "2.2.5");
SP_SYMVER(dladdr, "2.2.5");
SP_SYMVER(dladdr1, "2.3.3");
SP_SYMVER(dlerror, "2.2.5");
SP_SYMVER(dlinfo, "2.3.3");
SP_SYMVER(dl_iterate_phdr, "2.2.5");
SP_SYMVER(sem_init, "2.2.5");
SP_SYMVER(sem_post, "2.2.5");
SP_SYMVER(sem_wait, "2.2.5");
SP_SYMVER(sem_timedwait, "2.2.5");
SP_SYMVER(fcntl, "2.2.5");
/* With 64-bit file offsets the headers say fcntl64, which glibc has since 2.28 only: the same call.
 */
__asm__(".symver fcntl64,fcntl@GLIBC_2.2.5");
#endif

/* stat and similar calls are functions of glibc since 2.33 only: ask the kernel. Its struct is the
 * same on 64-bit machines. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#define fstat(fd, st)		      ((int)syscall(SYS_fstat, (fd), (st)))
#define fstatat(dir, path, st, flags) ((int)syscall(SYS_newfstatat, (dir), (path), (st), (flags)))
#define stat(path, st)		      fstatat(AT_FDCWD, path, st, 0)
#define lstat(path, st)		      fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW)

#endif
