/* Included before every source of the agent: binds functions that newer glibc re-versioned to the
 * versions that glibc 2.17 (CentOS 7) has, so that a library built on a new system loads on an old
 * one. tests/lint/agent_symbols reads the dynamic table and fails on anything newer. */
#ifndef SP_GLIBC217_H
#define SP_GLIBC217_H

#ifdef __x86_64__
#define SP_SYMVER(name, version) __asm__(".symver " #name "," #name "@GLIBC_" version)
SP_SYMVER(pthread_create, "2.2.5");
SP_SYMVER(pthread_join, "2.2.5");
SP_SYMVER(pthread_detach, "2.2.5");
SP_SYMVER(pthread_sigmask, "2.2.5");
SP_SYMVER(pthread_kill, "2.2.5");
SP_SYMVER(pthread_once, "2.2.5");
SP_SYMVER(pthread_getattr_np, "2.2.5");
SP_SYMVER(pthread_attr_getstack, "2.2.5");
SP_SYMVER(pthread_attr_setstacksize, "2.2.5");
SP_SYMVER(pthread_mutex_trylock, "2.2.5");
SP_SYMVER(pthread_setname_np, "2.12");
SP_SYMVER(dlopen, "2.2.5");
SP_SYMVER(dlsym, "2.2.5");
SP_SYMVER(dlclose, "2.2.5");
SP_SYMVER(dladdr, "2.2.5");
SP_SYMVER(dlerror, "2.2.5");
SP_SYMVER(dl_iterate_phdr, "2.2.5");
SP_SYMVER(timer_create, "2.3.3");
SP_SYMVER(timer_settime, "2.3.3");
SP_SYMVER(timer_delete, "2.3.3");
SP_SYMVER(sem_init, "2.2.5");
SP_SYMVER(sem_post, "2.2.5");
SP_SYMVER(sem_wait, "2.2.5");
SP_SYMVER(sem_timedwait, "2.2.5");
SP_SYMVER(fcntl, "2.2.5");
SP_SYMVER(fcntl64, "2.2.5");
#endif

#endif
