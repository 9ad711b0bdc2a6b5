/* What a recording says was lost. Its counters only grow, from the moment they began on
 * (sinceTime); where pieces were appended to each other, or a recording was resumed, they began
 * several times: the largest of each beginning counts, and they add up. */
#ifndef SP_PROF_LOAD_LOSSES_H
#define SP_PROF_LOAD_LOSSES_H

#include <stddef.h>
#include <stdint.h>

enum sp_loss_kind {
	SP_LOST_BY_REASON,
	SP_LOST_IN_ALL, /* reasons or not */
	SP_TOO_DEEP,
};

struct sp_loss_note {
	uint8_t kind;
	char reason[127]; /* "" unless by reason */
	uint64_t since, count;
};

struct sp_losses {
	struct sp_loss_note *rows; /* owned */
	size_t count, cap;
};

void sp_losses_done(struct sp_losses *l);

/* Takes note of a counter. Returns 0 or -ENOMEM. */
int sp_losses_keep(struct sp_losses *l, enum sp_loss_kind kind, const char *reason, uint64_t since,
	uint64_t count);

/* Adds what another reader of the same file has found. Returns 0 or -ENOMEM. */
int sp_losses_join(struct sp_losses *l, const struct sp_losses *other);

/* Leaves one row for each kind and reason, with its sum, the largest first. */
void sp_losses_settle(struct sp_losses *l);

#endif
