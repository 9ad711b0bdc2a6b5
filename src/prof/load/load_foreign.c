/* Recordings of other profilers: what their formats lose, where it makes a difference to what is
 * shown. See load_event.h. */
#include "prof/load/load_event.h"
#include "prof/model/tasks.h"

void sp_loading_note_foreign(struct sp_loading *l)
{
	struct sp_profile *p = l->p;
	bool named = false;

	for (size_t i = 0; i < p->row_count && !named && !l->spans->count; i++)
		named = p->rows[i].task != 0;
	if (l->ours)
		return;
	if (named)
		sp_profile_note(p,
			"stages and tasks are taken from thread names, and this "
			"recording keeps only the last name of each thread: earlier tasks of a "
			"thread are counted to its last one");
	if (sp_profile_wall(p) >= 0)
		sp_profile_note(p,
			"wall was recorded by another profiler, which does not say how long it "
			"took to look at all threads: times are samples times the interval, and "
			"how many threads were there at a time is not known");
}
