/* The accounts of one thread between two looks, all in nanoseconds:
 *   elapsed = ran (its CPU clock) + delayed (schedstat) + blocked (the rest)
 * Pure arithmetic over what the kernel said. */
#ifndef SP_AGENT_CAPTURE_WALL_ACCOUNTING_H
#define SP_AGENT_CAPTURE_WALL_ACCOUNTING_H

#include <stdbool.h>
#include <stdint.h>

/* As of the last look. */
struct sp_wall_accounting {
	uint64_t look_ns, cpu_ns, delay_ns, arrivals;
	uint64_t blocks;   /* voluntary switches, 0 unknown */
	uint64_t ahead_ns; /* of what was taken for a wait, what the kernel has yet to book */
	bool blocked;	   /* it was blocked then */
};

struct sp_wall_reading {
	uint64_t now_ns, cpu_ns, delay_ns, arrivals;
	uint64_t before_ns; /* blocked before the last look, not written yet: divided once more */
	bool is_blocked;    /* it is blocked now */
	/* It waits for a CPU, and the kernel has not booked that yet: at most this much of the time
	 * that is in no account. SP_WALL_ALL: it did nothing else off a CPU. */
	uint64_t waits_ns;
};

#define SP_WALL_ALL (~0ull)

struct sp_wall_window {
	uint64_t ran, delay, blocked;
	uint64_t arrivals;	  /* how often it came onto a CPU */
	uint64_t wakes, preempts; /* … after it was woken, and after it was pushed off */
	bool contended;		  /* a good part was waiting: sp_wall_accounting_wakes() is due */
	bool blocked_before;
};

/* Divides the time since the last look and moves the books on. */
void sp_wall_accounting_close(
	struct sp_wall_accounting *b, const struct sp_wall_reading *r, struct sp_wall_window *ret);

/* Tells wakes from preemptions by the count of voluntary switches as of now. */
void sp_wall_accounting_wakes(
	struct sp_wall_accounting *b, struct sp_wall_window *v, uint64_t blocks, bool is_blocked);

/* How long waits for a CPU take in this process, by what came before. */
struct sp_wall_waits {
	double woken_ns, woken, preempted_ns, preempted;
};

void sp_wall_waits_init(struct sp_wall_waits *k);

/* How long a wait that is under way has taken, as far as is known. */
uint64_t sp_wall_waits_guess(const struct sp_wall_waits *k);

/* Of v->delay, the part after wakes: it belongs to where the thread was blocked, the rest to where
 * it runs. A window with one kind only shows how long that takes; one with both is divided by what
 * those showed. */
uint64_t sp_wall_waits_woken(struct sp_wall_waits *k, const struct sp_wall_window *v);

#endif
