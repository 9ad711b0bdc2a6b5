/* A known call chain of native code: C and C++, no frame pointers, realigned stacks, a callback
 * through libc, a signal frame. At its innermost point it calls chain_hit. */
#ifndef SP_TEST_CHAIN_H
#define SP_TEST_CHAIN_H

#ifdef __cplusplus
extern "C" {
#endif
void chain_start(int depth);
void chain_cpp(int depth);
void chain_middle(int depth);
void chain_hit(void);
#ifdef __cplusplus
}
#endif
#endif
