"""The bounds of kit/chance.py against exact sums and against draws whose truth is known."""
import math
import random

import pytest
from kit import chance


@pytest.mark.parametrize("n,p", [(10, 0.5), (100, 0.01), (500, 0.3), (900, 0.97)])
@pytest.mark.parametrize("error", [1e-6, 1e-3])
def test_binomial_is_the_tightest_interval_of_that_error(n, p, error):
    low, high = chance.binomial(n, p, error)
    below = lambda k: math.fsum(math.comb(n, i) * p ** i * (1 - p) ** (n - i) for i in range(k))
    assert below(low) <= error / 2 < below(low + 1)
    assert 1 - below(high + 1) <= error / 2 + 1e-12 and 1 - below(high) > error / 2 - 1e-12


@pytest.mark.parametrize("mean", [0.5, 3, 40, 1000])
def test_poisson_is_the_tightest_interval_of_that_error(mean):
    low, high = chance.poisson(mean, 1e-6)
    at = lambda k: math.exp(k * math.log(mean) - mean - math.lgamma(k + 1))
    assert math.fsum(map(at, range(low))) <= 5e-7 < math.fsum(map(at, range(low + 1)))
    above = lambda k: math.fsum(map(at, range(k + 1, k + 200)))
    assert above(high) <= 5e-7 < above(high - 1)


def test_edges():
    assert chance.binomial(0, 0.5) == (0, 0) and chance.binomial(9, 0) == (0, 0) and chance.binomial(9, 1) == (9, 9)
    assert chance.poisson(0) == (0, 0)
    assert chance.binomial(10_000_000, 0.5)[0] == pytest.approx(5_000_000 - 4.89 * math.sqrt(2_500_000), abs=5)


def test_what_is_asked_for_is_printed(capsys):
    assert chance.within(300, 1000, 0.3)
    assert capsys.readouterr().out.startswith("chance: n=1000 p=0.3±0 count=300 bound=[2")
    assert not chance.within(450, 1000, 0.3)
    assert "bound=[2" in (said := capsys.readouterr().out) and "OUTSIDE" in said


def test_one_sided_bounds_fail_on_one_side():
    assert chance.at_least(1000, 1000, 0.3) and not chance.at_least(200, 1000, 0.3)
    assert chance.at_most(0, 1000, 0.3) and not chance.at_most(400, 1000, 0.3)
    assert chance.within_poisson(100, 110) and not chance.within_poisson(40, 110) and not chance.within_poisson(200, 110)


def test_slack_widens_by_just_that():
    low, high = chance.binomial(1000, 0.27)[0], chance.binomial(1000, 0.33)[1]
    assert chance.within(low, 1000, 0.3, slack=0.03) and not chance.within(low - 1, 1000, 0.3, slack=0.03)
    assert chance.within(high, 1000, 0.3, slack=0.03) and not chance.within(high + 1, 1000, 0.3, slack=0.03)


def test_draws_stay_within_and_wrong_ones_do_not():
    """At an error of 1 % and 400 draws: the bound of the bound is computed as well."""
    rng, n, p, tries = random.Random(7), 400, 0.2, 400
    hits = [sum(rng.random() < p for _ in range(n)) for _ in range(tries)]
    low, high = chance.binomial(n, p, 0.01)
    outside = sum(not low <= h <= high for h in hits)
    assert outside <= chance.binomial(tries, 0.01)[1]
    assert all(chance.within(h, n, p) for h in hits)
    assert sum(not chance.within(h, n, 0.5) for h in hits) > 0.99 * tries
    pairs = list(zip(hits[::2], hits[1::2]))
    assert all(chance.same_share(a, n, b, n) for a, b in pairs)
    assert not any(chance.same_share(a, n, b + 160, n) for a, b in pairs[:50])


def test_a_mean_by_bootstrap():
    rng = random.Random(11)
    for _ in range(15):
        values = [rng.gauss(10, 2) for _ in range(30)]
        assert chance.mean_within(values, 10)
        assert not chance.mean_within(values, 14)
    assert chance.mean_within([1.0, 1.1] * 10, 1.5, slack=0.5)


def test_a_median_needs_21_values():
    assert chance.median_bounds([1] * 20) is None
    assert chance.median_bounds(range(21)) == (0, 20)
    low, high = chance.median_bounds(range(1000))
    assert 415 < low < 499 and low == 999 - high


def test_samples_for():
    n = chance.samples_for(0.5, 0.03)
    assert n == math.ceil((chance.z() / 0.03) ** 2) and 26_000 < n < 27_000


def test_samples_of_a_timer_that_comes_with_the_tick():
    """Simulated: each tick of 4 ms finds one of two methods at random, and is written as four samples."""
    rng, wrong, tick = random.Random(7), 0, 4
    for _ in range(2000):
        hits = sum(tick * (rng.random() < 0.5) for _ in range(750))
        n = chance.of_ticks(3000, tick * 1e-3 / 4) if chance.time.clock_getres(chance.CLOCK_MONOTONIC_COARSE) == tick * 1e-3 else 375
        wrong += not chance.within(round(hits / 3000 * n), n, 0.5, error=1e-3)
    assert wrong < 5
