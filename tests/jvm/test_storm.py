"""Random recordings at random moments on JVMs that do everything at once; a JVM of the same kind that nobody records lives
beside each. At last the JVM ends, in one of several ways, while it is recorded. SPARKPROF_STORM_SEED repeats the choices of a
run, SPARKPROF_STORM_ROUNDS says how many. What a death leaves (core, hs_err, output) is kept."""
import os
import pathlib
import random
import tempfile

import pytest

from kit import storm

ROUNDS = int(os.environ.get("SPARKPROF_STORM_ROUNDS", 1000))


@pytest.mark.long
@pytest.mark.timeout(7 * ROUNDS + 600)
def test_no_jvm_dies(capsys):
    seed = int(os.environ.get("SPARKPROF_STORM_SEED", random.randrange(1 << 32)))
    top = pathlib.Path(tempfile.mkdtemp(prefix="sparkprof-storm-", dir=os.environ.get("SPARKPROF_STORM_DIR")))

    def say(line):
        with capsys.disabled():
            print(f"storm: {line}", flush=True)
    say(f"seed {seed}, {ROUNDS} rounds, what deaths leave is in {top}")
    s = storm.Storm(seed, top, say)
    s.run(ROUNDS)
    assert not s.deaths and not s.launcher_deaths, (seed, s.deaths, s.launcher_deaths)
    assert s.answered >= ROUNDS // 3, "most launchers got nothing: the storm is no test"
    if not s.control_deaths:
        top.rmdir()


class Fake:
    """A JVM of which only clocks are known: it gets @share of each second."""

    def __init__(self, share):
        self.share, self.clock = share, 0

    def patience(self, most):
        return storm.Patience(lambda: self.share * self.clock, most, now=lambda: self.clock)

    def until_over(self, most, end=100_000):
        patience = self.patience(most)
        while self.clock < end:
            self.clock += 1
            if patience.over():
                return self.clock
        return None


def test_a_slow_machine_is_no_hang():
    """A JVM that gets a hundredth of a core is waited for by its own time; one that gets nothing stands still."""
    assert Fake(0.01).until_over(most=300, end=20_000) is None
    assert Fake(0.01).until_over(most=300) == 30_001
    assert Fake(1).until_over(most=300) == 301
    assert Fake(0).until_over(most=300) == 121


def test_a_jcmd_may_take_as_long_as_the_controls():
    """Measured with a load of 30, -Xcomp, JFR.start: 64 s the control, 300 s the one that was recorded."""
    jvm = Fake(0.3)
    patience = jvm.patience(300)
    jvm.clock = 2000
    assert patience.over(storm.jcmd_limit(0)) and not patience.over(storm.jcmd_limit(20))
