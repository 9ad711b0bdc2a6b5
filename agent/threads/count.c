/* Whether the kernel counts the threads that the registry knows. Java threads announce their begin
 * and their end; the list of all is read only where the number says that it would show something
 * new. */
#include "count.h"

#define ENDING_MAX 16 /* engines keep descriptors for threads that are not known to be gone */

void sp_threads_mark_ending(struct sp_threads *ts, struct sp_tinfo *t)
{
	if (!t->ending)
		ts->ending++;
	t->ending = true;
	t->ending_scan = ts->scan;
}

void sp_threads_unmark_ending(struct sp_threads *ts, struct sp_tinfo *t)
{
	if (t->ending)
		ts->ending--;
	t->ending = false;
}

bool sp_threads_count_fits(struct sp_threads *ts)
{
	uint32_t n = sp_threads_proc_tasks_count(&ts->proc), most, least;

	if (!n || ts->full)
		return true;
	pthread_mutex_lock(&ts->lock);
	most = ts->live;
	least = ts->live - ts->ending;
	pthread_mutex_unlock(&ts->lock);
	return n >= least && n <= most && most - least <= ENDING_MAX;
}
