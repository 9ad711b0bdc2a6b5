"""Bounds for what depends on chance. Each function asks: could a correct program give this value? It prints n, p (or the
mean) and the bound, and is wrong about a correct program less often than once in a million calls (ERROR, both tails together).
Standard library only.

    assert chance.within(hits, n, 0.3)          # binomial: n independent samples, each a hit with probability 0.3
    assert chance.at_least(hits, n, 0.9)        # … and only too few would be wrong
    assert chance.within_poisson(count, mean)   # events at random moments
    assert chance.same_share(a, n, b, m)        # two shares, measured by n and m samples
    assert chance.mean_within(values, 3.0)      # the mean of independent values, spread by bootstrap

Samples of one thread that follow each other closely are not independent: give the number of independent ones as n."""
import math
import random
import statistics
import time

ERROR = 1e-6
CLOCK_MONOTONIC_COARSE = 6  # linux/time.h; its resolution is the tick


def _tails(weight_at, mode, last, error):
    """The smallest [low, high] around the mode with at most error/2 of the weight on either side. weight_at(k) is the
    probability of k; it falls on both sides of the mode."""
    def edge(step, stop):
        terms, k = [], mode
        while k != stop + step and (w := weight_at(k)) > 1e-30:
            terms.append(w)
            k += step
        left = 0.0
        for i in range(len(terms) - 1, -1, -1):
            left += terms[i]
            if left > error / 2:
                return mode + step * i
        return mode
    return edge(-1, 0), edge(1, last)


def binomial(n, p, error=ERROR):
    """(low, high): of n samples that hit with probability p, fewer than low or more than high hit with at most @error."""
    if n <= 0 or p <= 0:
        return 0, 0
    if p >= 1:
        return n, n
    lp, lq, whole = math.log(p), math.log1p(-p), math.lgamma(n + 1)

    def weight(k):
        return math.exp(whole - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * lp + (n - k) * lq)
    return _tails(weight, min(n, int((n + 1) * p)), n, error)


def poisson(mean, error=ERROR):
    """(low, high) of a count whose mean is @mean."""
    if mean <= 0:
        return 0, 0
    return _tails(lambda k: math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)), int(mean), 1 << 62, error)


def z(error=ERROR):
    """So many standard deviations on either side hold all but @error of a normal distribution: 4.89."""
    return statistics.NormalDist().inv_cdf(1 - error / 2)


def _say(ok, text):
    print(f"chance: {text}: {'within' if ok else 'OUTSIDE'}")
    return ok


def within(count, n, p, slack=0.0, error=ERROR):
    """Is @count what n independent samples with probability @p can give? @slack: p itself is only known to p ± slack."""
    low, high = binomial(n, max(0.0, p - slack), error)[0], binomial(n, min(1.0, p + slack), error)[1]
    return _say(low <= count <= high, f"n={n} p={p:.4g}±{slack:.3g} count={count} bound=[{low}, {high}] error<{error:g}")


def at_least(count, n, p, error=ERROR):
    """Is @count not too small for n samples that hit with probability p or more?"""
    low = binomial(n, p, 2 * error)[0]
    return _say(count >= low, f"n={n} p>={p:.4g} count={count} bound=[{low}, {n}] error<{error:g}")


def at_most(count, n, p, error=ERROR):
    """Is @count not too large for n samples that hit with probability p or less?"""
    high = binomial(n, p, 2 * error)[1]
    return _say(count <= high, f"n={n} p<={p:.4g} count={count} bound=[0, {high}] error<{error:g}")


def within_poisson(count, mean, error=ERROR):
    low, high = poisson(mean, error)
    return _say(low <= count <= high, f"mean={mean:.6g} count={count} bound=[{low}, {high}] error<{error:g}")


def same_share(a, n, b, m, slack=0.0, error=ERROR):
    """Can a of n and b of m be samples of one share? Normal approximation of the difference, with half a sample of room
    on either side; for n and m from about 50 on."""
    p = (a + b) / (n + m)
    bound = z(error) * math.sqrt(max(p * (1 - p), 1 / (n + m)) * (1 / n + 1 / m)) + 0.5 / n + 0.5 / m + slack
    return _say(abs(a / n - b / m) <= bound,
                f"n={n},{m} p={p:.4g} difference={a / n - b / m:+.4g} bound=±{bound:.4g} error<{error:g}")


def spread(values, statistic=statistics.fmean, rounds=2000, seed=1):
    """Standard deviation of @statistic over samples like these: bootstrap, with a fixed seed."""
    rng = random.Random(seed)
    return statistics.stdev(statistic(rng.choices(values, k=len(values))) for _ in range(rounds))


def _student(n, error):
    """Like z() where the spread itself comes from n values (Cornish-Fisher; the n should be 10 or more)."""
    q, d = z(error), n - 1
    return q + (q ** 3 + q) / (4 * d) + (5 * q ** 5 + 16 * q ** 3 + 3 * q) / (96 * d * d)


def mean_within(values, expected, slack=0.0, error=ERROR):
    """Can the mean of what these independent values are drawn from be @expected ± @slack? Bootstrap of the mean with
    Student's widening: 20 values or more, without far outliers."""
    mean, n = statistics.fmean(values), len(values)
    bound = _student(n, error) * spread(values) * math.sqrt(n / (n - 1)) + slack
    return _say(abs(mean - expected) <= bound,
                f"n={n} mean={mean:.6g} expected={expected:.6g} bound=±{bound:.4g} error<{error:g}")


def median_bounds(values, error=ERROR):
    """(low, high): the true median lies between, whatever the distribution. None where the values are too few (21)."""
    ordered, n = sorted(values), len(values)
    k = binomial(n, 0.5, error)[0] - 1
    if k < 0 or 2 * 0.5 ** n > error:
        return None
    return ordered[k], ordered[n - 1 - k]


def of_ticks(n, interval):
    """So many of @n samples of a timer are independent. It is due every @interval seconds, but looked at with the kernel's tick, every
    4 ms on many machines; then one stack counts for all that were due. Half of the ticks: on a busy machine one counts for more time
    than another."""
    tick = time.clock_getres(CLOCK_MONOTONIC_COARSE)
    return n if interval >= tick else max(1, int(n * interval / tick / 2))


def samples_for(p, relative, error=ERROR):
    """So many samples show a share @p to ± @relative of itself."""
    return math.ceil((z(error) / relative) ** 2 * (1 - p) / p)
