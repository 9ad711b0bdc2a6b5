/* See marks.h. Each place has a number that says whose turn it is: its own number plus how often it
 * was filled and emptied times the size; one more while it is full. */
#include "marks.h"

#include "base/clock.h"
#include "sig/handler.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLACES 1024u

static struct {
	struct place {
		_Atomic uint64_t turn; /* less the place's number: all begin with 0 */
		struct sp_mark mark;
	} places[PLACES];
	_Atomic uint64_t in, lost;
	uint64_t out;	     /* the collector's */
	_Atomic int32_t pid; /* of the process that records; 0: nothing does */
} mk;

/* The place for the next mark, and its turn; NULL: all are full. */
static struct place *reserve(uint64_t *ret_turn)
{
	uint64_t at = atomic_load_explicit(&mk.in, memory_order_relaxed);

	for (;;) {
		struct place *p = &mk.places[at % PLACES];
		uint64_t turn = atomic_load_explicit(&p->turn, memory_order_acquire) + at % PLACES;

		if (turn < at)
			return NULL;
		if (turn > at) {
			at = atomic_load_explicit(&mk.in, memory_order_relaxed);
		} else if (atomic_compare_exchange_weak(&mk.in, &at, at + 1)) {
			*ret_turn = at;
			return p;
		}
	}
}

bool sp_marks_add(uint64_t start_ns, const char *tag, size_t len)
{
	int32_t pid = atomic_load_explicit(&mk.pid, memory_order_relaxed);
	struct place *p;
	uint64_t turn;

	/* A forked child has the queue, and nobody to read it. */
	if (!pid || (int32_t)syscall(SYS_getpid) != pid)
		return false;
	p = reserve(&turn);
	if (!p) {
		atomic_fetch_add(&mk.lost, 1);
		return false;
	}
	len = len < SP_MARK_TAG ? len : SP_MARK_TAG - 1;
	while (len && ((uint8_t)tag[len] & 0xc0) == 0x80) /* not within a character */
		len--;
	p->mark.start_ns = start_ns;
	p->mark.end_ns = sp_clock_mono_ns();
	p->mark.tid = (uint32_t)syscall(SYS_gettid);
	memcpy(p->mark.tag, tag, len);
	p->mark.tag[len] = '\0';
	atomic_store_explicit(&p->turn, turn + 1 - turn % PLACES, memory_order_release);
	if (turn % (PLACES / 4) == 0)
		sp_sig_wake();
	return true;
}

static void ignore(void *ctx, const struct sp_mark *m)
{
}

void sp_marks_begin(void)
{
	sp_marks_take(ignore, NULL); /* of another recording */
	atomic_store(&mk.pid, (int32_t)getpid());
}

void sp_marks_end(void)
{
	atomic_store(&mk.pid, 0);
}

uint64_t sp_marks_take(void (*fn)(void *ctx, const struct sp_mark *m), void *ctx)
{
	for (;;) {
		struct place *p = &mk.places[mk.out % PLACES];
		uint64_t own = mk.out % PLACES;

		if (atomic_load_explicit(&p->turn, memory_order_acquire) + own != mk.out + 1)
			break;
		if (p->mark.end_ns >= p->mark.start_ns)
			fn(ctx, &p->mark);
		atomic_store_explicit(&p->turn, mk.out + PLACES - own, memory_order_release);
		mk.out++;
	}
	return atomic_exchange(&mk.lost, 0);
}
