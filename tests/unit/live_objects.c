/* The reservoir of live objects, with a JVM that has nothing but weak references. */
#include "hooks/alloc_hook.h"
#include "hooks/alloc_interval_history.h"
#include "hooks/live_objects.h"
#include "sig/rate_limit.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OBJECTS 200000

/* References are numbers from 1 on. */
static uint8_t dead[OBJECTS + 1], given_back[OBJECTS + 1];
static uint64_t written, written_weight, written_spread, oldest;

static jboolean JNICALL is_same(JNIEnv *env, jobject a, jobject b)
{
	cr_assert_eq(given_back[(uintptr_t)a], 0, "a reference that was given back is used");
	return dead[(uintptr_t)a];
}

static void JNICALL delete_weak(JNIEnv *env, jweak ref)
{
	cr_assert_eq(given_back[(uintptr_t)ref]++, 0, "given back twice");
}

static struct JNINativeInterface_ functions = {
	.IsSameObject = is_same, .DeleteWeakGlobalRef = delete_weak};
static const struct JNINativeInterface_ *env = &functions;

static void is_alive(void *ctx, const struct sp_live_object *o)
{
	if (1000 - o->collections > oldest)
		oldest = 1000 - o->collections;
	written++;
	written_weight += o->weight;
	/* An object of 100 bytes that was kept with probability 1 / k weighs 100 k: what it adds to
	 * the variance of the sum is estimated by (100 k)² (1 - 1 / k) (Horvitz and Thompson). */
	written_spread += o->weight * (o->weight - 100);
}

static uint32_t a_stack(struct sp_dict *d, int number)
{
	struct sp_frame_ref frames[20];
	char name[32];

	for (int i = 0; i < 20; i++) {
		struct sp_method m = {0};

		snprintf(name, sizeof(name), "m%d", i ? i : number);
		m.class_id = m.sig_id = sp_dict_string(d, "C", 1);
		m.name_id = sp_dict_string(d, name, strlen(name));
		frames[i] = (struct sp_frame_ref){sp_dict_method(d, &m), i, i, SP_FRAME_C2};
	}
	return sp_dict_stack(d, frames, 20, 0);
}

static uint32_t a_thread(struct sp_dict *d)
{
	struct sp_thread t = {.tid = 7, .name_id = sp_dict_string(d, "main", 4)};

	return sp_dict_thread(d, &t);
}

/* Adds all objects, of which @stacks are different; one in @every lives. Returns their bytes. */
static uint64_t run(struct sp_live_objects *l, struct sp_dict *d, int stacks, unsigned every)
{
	uint64_t alive = 0;

	for (uintptr_t i = 1; i <= OBJECTS; i++) {
		struct sp_live_object o = {.weak = (void *)i, .size = 100, .collections = i / 1000};
		uint64_t factor = sp_live_objects_admit(l);

		dead[i] = i % every != 0;
		alive += dead[i] ? 0 : 100;
		given_back[i] = !factor; /* never made */
		if (i % 5000 == 0)
			sp_live_objects_tick(l, (JNIEnv *)&env);
		if (!factor)
			continue;
		o.factor = factor;
		o.weight = 100 * factor;
		o.stack = a_stack(d, (int)i % stacks + 1000);
		o.thread = a_thread(d);
		o.class_id = sp_dict_string(d, "C", 1);
		sp_live_objects_add(l, d, &o);
	}
	sp_live_objects_tick(l, (JNIEnv *)&env);
	return alive;
}

/* The sum within six standard deviations, which five in a thousand million runs miss. */
static void check(int stacks, unsigned every, size_t memory, double at_most)
{
	struct sp_live_objects *l;
	struct sp_dict *d, *other;
	uint64_t alive, lost;
	double six;

	memset(given_back, 0, sizeof(given_back));
	written = written_weight = written_spread = oldest = 0;
	cr_assert_eq(sp_live_objects_new(&l, memory), 0);
	cr_assert_eq(sp_dict_new(&d, 64 << 20), 0);
	cr_assert_eq(sp_dict_new(&other, 64 << 20), 0);
	alive = run(l, d, stacks, every);
	cr_assert_eq(sp_live_objects_each(l, other, is_alive, NULL, &lost), written);
	cr_expect_eq(lost, 0);
	cr_expect_leq(written, SP_LIVE_MAX);
	cr_expect_gt(written, 100);
	cr_expect_leq(oldest, 1000);
	six = 6 * sqrt((double)written_spread) / (double)alive;
	cr_expect_lt(six, at_most, "six standard deviations are %f", six);
	cr_expect_float_eq((double)written_weight / (double)alive, 1.0, six + 1e-9,
		"%d stacks, one in %u: %f of %llu by %llu", stacks, every,
		(double)written_weight / (double)alive, (unsigned long long)alive,
		(unsigned long long)written);
	sp_live_objects_release(l, (JNIEnv *)&env);
	for (size_t i = 1; i <= OBJECTS; i++)
		cr_assert_eq(given_back[i], 1, "reference %zu was lost", i);
	sp_live_objects_free(l);
	sp_dict_free(d);
	sp_dict_free(other);
}

Test(live_objects, more_objects_than_places_sum_up)
{
	check(10, 1, 1 << 20, 0.12);
	check(10, 2, 1 << 20, 0.12);
	check(10, 50, 1 << 20, 0.12);
}

Test(live_objects, a_full_dictionary_is_renewed_with_what_is_needed)
{
	check(50000, 10, 1 << 20, 0.35);
}

Test(alloc, weights_are_what_the_sampler_left_out)
{
	cr_expect_eq(sp_alloc_weight(16, 1 << 20), (1 << 20) + 8);
	cr_expect_eq(sp_alloc_weight(1 << 30, 1024), 1 << 30);
	/* 1 / (1 - 1/e) */
	cr_expect_float_eq((double)sp_alloc_weight(1000000, 1000000), 1581976.7, 2);
	cr_expect_float_eq((double)sp_alloc_weight(100000, 1000000), 1050833.2, 2);
}

Test(limit, sums_stay_right_whatever_the_rate)
{
	struct sp_rate_limit l;
	uint64_t taken = 0, sum = 0, now = 0;
	double spread = 0, six;

	sp_rate_limit_init(&l, 1000);
	for (int i = 0; i < 4000000; i++) {
		/* The factor that an event meets depends on those before it only: it is taken with
		 * probability 1 / k and then counts k, with a variance of k - 1 around 1. */
		double factor = (double)(1ull << sp_rate_limit_turn(&l, now));
		uint64_t k = sp_rate_limit_pass(&l, now, i % 3 == 0);

		spread += factor - 1;
		taken += k != 0;
		sum += k;
		now += i % 1000000 < 500000 ? 100 : 10000; /* 10 million a second, then 100,000 */
	}
	six = 6 * sqrt(spread) / 4e6;
	cr_expect_lt(six, 0.4, "%f", six);
	cr_expect_float_eq((double)sum / 4e6, 1.0, six, "%f, six standard deviations are %f",
		(double)sum / 4e6, six);
	/* about ten seconds in all; the factor needs a while to follow */
	cr_expect_lt(taken, 40000, "%llu", (unsigned long long)taken);
	cr_expect_gt(taken, 2000, "%llu", (unsigned long long)taken);
}

Test(limit, what_follows_a_storm_is_told_one_by_one)
{
	uint64_t now = 1ull << 40, second = 1000000000, taken = 0;
	struct sp_rate_limit l;

	sp_rate_limit_init(&l, 1000);
	for (int i = 0; i < 1000000; i++, now += 100)
		sp_rate_limit_pass(&l, now, false);
	cr_expect_geq(atomic_load(&l.peak), 8);
	/* 100 a second: after half a second each is taken. */
	for (int i = 0; i < 55; i++, now += second / 100)
		sp_rate_limit_pass(&l, now, false);
	for (int i = 0; i < 100; i++, now += second / 100)
		taken += sp_rate_limit_pass(&l, now, false) == 1;
	cr_expect_eq(taken, 100, "%llu", (unsigned long long)taken);
}

Test(limit, storms_that_pause_are_no_way_around_it)
{
	uint64_t now = 1ull << 40, taken = 0;
	struct sp_rate_limit l;

	sp_rate_limit_init(&l, 1000);
	/* Ten seconds: a million a second in every other while. */
	for (int i = 0; i < 10000000; i++, now += 1000)
		if (now >> SP_LIMIT_WINDOW_BITS & 1)
			taken += sp_rate_limit_pass(&l, now, false) != 0;
	cr_expect_lt(taken, 20000, "%llu", (unsigned long long)taken);
}

/* The thread pointer of one that is gone, sampled once. */
static void *sampled(void *ret)
{
	*(uint64_t *)ret = (uint64_t)pthread_self();
	sp_alloc_interval_born(*(uint64_t *)ret, 4096);
	return NULL;
}

Test(drawn, a_first_sample_stands_for_the_interval_before)
{
	uint64_t self = (uint64_t)pthread_self(), gone = 0;
	pthread_t t;

	cr_expect_eq(sp_alloc_interval_next(self, 8192), SP_DRAWN_JVM);
	cr_expect_eq(sp_alloc_interval_next(self, 8192), 8192);
	cr_expect_eq(sp_alloc_interval_next(self, 1 << 20), 8192, "of the recording before");
	cr_expect_eq(sp_alloc_interval_next(self, 1 << 20), 1 << 20);
	sp_alloc_interval_born(7 << 6, 4096);
	cr_expect_eq(sp_alloc_interval_next(7 << 6, 4096), 4096);
	sp_alloc_interval_born(7 << 6, 2048);
	cr_expect_eq(sp_alloc_interval_next(7 << 6, 4096), 2048,
		"another in the place of one that died unseen");
	sp_alloc_interval_ended(7 << 6);
	cr_expect_eq(sp_alloc_interval_next(7 << 6, 4096), SP_DRAWN_JVM);
	/* A thread that ended unseen is forgotten by the next recording. This one is there. */
	cr_assert_eq(pthread_create(&t, NULL, sampled, &gone), 0);
	pthread_join(t, NULL);
	sp_alloc_interval_begin(SP_DRAWN_NO_TABLE);
	cr_expect_eq(
		sp_alloc_interval_next(gone, 4096), SP_DRAWN_NO_TABLE, "as is said of the unknown");
	cr_expect_eq(sp_alloc_interval_next(self, 4096), 1 << 20);
}

Test(drawn, without_room_nothing_is_a_first_sample)
{
	uint32_t first = 0;

	for (uint64_t self = 1; self <= 40000; self++)
		first += sp_alloc_interval_next(self << 6, 4096) == SP_DRAWN_JVM;
	cr_expect(first > 6000 && first <= 8192, "%u", first);
	for (uint64_t self = 1; self <= 40000; self++)
		cr_assert_eq(sp_alloc_interval_next(self << 6, 4096), 4096);
}
