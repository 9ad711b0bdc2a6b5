/* Java threads that were there before us, by HotSpot's own list. Those that the registry has
 * already are not read again: a list of 150 threads took some 250 reads.
 * Context: the collector. */
#ifndef SP_AGENT_THREADS_JAVA_LIST_H
#define SP_AGENT_THREADS_JAVA_LIST_H

struct sp_threads;
struct sp_hotspot;

/* Finds the JavaThread and the stack of each thread of @ts that was seen by the kernel's list
 * only. */
void sp_threads_java_list(struct sp_threads *ts, const struct sp_hotspot *h);

#endif
