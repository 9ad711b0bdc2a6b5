"""What the threads of tests/jvm/targets/Spinners.java have run and waited for a core, as the kernel counts it, and whether a profile of
them can be true."""
import dataclasses


@dataclasses.dataclass
class Spun:
    """Nanoseconds, and those before the thread began to spin. longest: that a spinner of this program did not run."""
    thread: str
    ran: int
    waited: int
    ran_before: int
    waited_before: int
    longest: int

    def _within(self, what, ns, truth, less, more):
        slack = (self.ran + self.waited) // 100
        low, high = truth - less - slack, truth + more + slack
        print(f"{self.thread}: {what} {ns / 1e6:.1f} ms, the kernel: {truth / 1e6:.1f}, bound [{low / 1e6:.1f}, {high / 1e6:.1f}]")
        return low <= ns <= high

    def ran_so(self, ns):
        """CPU time is exact, but for what a thread ran before the profiler saw it first: 1 % of its life at most."""
        return self._within("CPU", ns, self.ran, self.ran_before, 0)

    def waited_so(self, ns):
        """The kernel counts a wait for a core when it has ended. So a profiler may take the one in which it sees the thread first, and
        the one at its last look, for something else; and before the first look the profiler itself may have waited for a core."""
        return self._within("waits for a core", ns, self.waited, self.waited_before + 3 * self.longest, 2 * self.longest)


def said(target, n):
    """{thread: Spun} of a target that has ended."""
    lines = [line.split() for line in target.stdout().splitlines() if line.startswith("spinner-")]
    longest = max((int(w[7]) for w in lines), default=0)
    found = {w[0]: Spun(w[0], int(w[4]), int(w[5]), int(w[1]), int(w[2]), longest) for w in lines}
    assert len(found) == n, target.stdout()
    return found
