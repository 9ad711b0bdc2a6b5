/* Many producers and one consumer on a small ring, for ThreadSanitizer and without: every record
 * that was taken arrives once, whole and in its producer's order, and what did not fit is counted.
 * A plain program: Criterion's own processes do not live with ThreadSanitizer. */
#include "capture/sample_ring.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define PRODUCERS 4
#define RECORDS	  20000
#define SIZE	  (64 << 10)

struct record {
	struct sp_ring_head head;
	uint32_t producer, len;
	uint64_t number;
	uint8_t bytes[];
};

static struct sp_ring ring;
static _Atomic uint32_t running = PRODUCERS;
static uint64_t taken[PRODUCERS]; /* by the producer itself */

static void *produce(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg;

	for (uint64_t i = 0; i < RECORDS; i++) {
		uint32_t len = (uint32_t)(i * 7919 + me * 31) % 3000;
		struct record *r =
			(struct record *)sp_ring_reserve(&ring, sizeof(struct record) + len);

		if (!r) {
			sched_yield();
			continue;
		}
		r->producer = me;
		r->len = len;
		r->number = i;
		memset(r->bytes, (int)(i + me), len);
		taken[me]++;
		sp_ring_commit(&r->head);
	}
	atomic_fetch_sub(&running, 1);
	return NULL;
}

static int check(const struct record *r, uint64_t *last)
{
	if (r->producer >= PRODUCERS || (r->number < last[r->producer] && last[r->producer]))
		return -1;
	last[r->producer] = r->number + 1;
	for (uint32_t i = 0; i < r->len; i++)
		if (r->bytes[i] != (uint8_t)(r->number + r->producer))
			return -1;
	return 0;
}

int main(void)
{
	pthread_t threads[PRODUCERS];
	uint64_t last[PRODUCERS] = {0}, got = 0, sum = 0;
	struct sp_ring_head *head;

	if (sp_ring_init(&ring, SIZE) < 0)
		return 2;
	for (uintptr_t i = 0; i < PRODUCERS; i++)
		pthread_create(&threads[i], NULL, produce, (void *)i);
	for (;;) {
		uint32_t left = atomic_load(&running);

		while ((head = sp_ring_peek(&ring))) {
			if (check((struct record *)head, last) < 0) {
				printf("a damaged record after %llu\n", (unsigned long long)got);
				return 1;
			}
			got++;
			sp_ring_release(&ring, head);
		}
		if (!left)
			break;
		sched_yield();
	}
	for (int i = 0; i < PRODUCERS; i++) {
		pthread_join(threads[i], NULL);
		sum += taken[i];
	}
	printf("%llu records, %llu did not fit\n", (unsigned long long)got,
		(unsigned long long)ring.refused);
	if (got != sum || got + ring.refused != (uint64_t)PRODUCERS * RECORDS)
		return 1;
	sp_ring_done(&ring);
	return 0;
}
