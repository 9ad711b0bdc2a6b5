/* What other threads ask of the collector: to flush, to finish. See collector.h. */
#include "collector_internal.h"
#include "host/own_thread.h"

int sp_collector_finish(struct sp_collector *c, struct sp_err *err)
{
	pthread_mutex_lock(&c->finish_lock);
	if (c->started) {
		atomic_store(&c->stop, 1);
		sp_sig_wake();
		sp_own_thread_join(c->thread);
		c->started = false;
	}
	pthread_mutex_unlock(&c->finish_lock);
	if (c->finish_status < 0 && err)
		*err = c->finish_err;
	return c->finish_status;
}

int sp_collector_flush(struct sp_collector *c, struct sp_err *err)
{
	uint64_t mine;
	int r;

	pthread_mutex_lock(&c->lock);
	mine = ++c->flush_wanted;
	c->dump_wanted = true;
	pthread_mutex_unlock(&c->lock);
	sp_sig_wake();
	pthread_mutex_lock(&c->lock);
	while (c->flush_done < mine && !c->finished)
		pthread_cond_wait(&c->done, &c->lock);
	r = c->finished ? c->finish_status : c->flush_status;
	if (r < 0 && err)
		*err = c->finished ? c->finish_err : c->flush_err;
	pthread_mutex_unlock(&c->lock);
	return r;
}

void sp_collector_nudge(struct sp_collector *c)
{
	pthread_mutex_lock(&c->lock);
	c->flush_wanted++;
	pthread_mutex_unlock(&c->lock);
	sp_sig_wake();
}
