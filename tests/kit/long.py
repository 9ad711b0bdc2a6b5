"""The parts of ./build.sh test-long, and how far a run has come. A test that is marked long belongs to the first part below that names its
file or folder. `python tests/kit/long.py` lists the parts, `… long.py NAME` ends with 0 where there is such a part."""
import fnmatch
import sys
import time

PARTS = {
    "storm": ("random engines, options and kills against JVMs that do everything", ["jvm/test_storm*"]),
    "mutation": ("changes of the core that the tests must notice", ["mutation/*"]),
    "kerberos": ("a secure Hadoop: tokens, proxy users, no permission", ["spark/test_kerberos*"]),
    "yarn": ("YARN and HDFS: faults, lost containers, full disks", ["spark/test_yarn*", "spark/test_dfs*", "spark/test_losses*"]),
    "k8s": ("pods of a real Kubernetes; ./build.sh test-k8s builds it first", ["k8s/*"]),
    "python": ("Python versions, workers and ways to start them", ["python/*", "spark/test_python*"]),
    "spark": ("Spark versions, standalone clusters, soaks", ["spark/*"]),
    "jvm": ("every JDK and collector, whole libraries, long fuzzing, large pages", ["*"]),
}


def part_of(path):
    """The part of a file, by its folder and name: jvm/test_alloc.py."""
    return next(part for part, (_, patterns) in PARTS.items() if any(fnmatch.fnmatch(path, p) for p in patterns))


class Progress:
    """A pytest plugin: after each test, how many are done and when the rest will be, if it goes on like this."""

    def pytest_collection_finish(self, session):
        self.total, self.done, self.began = len(session.items), 0, time.monotonic()

    def pytest_runtest_logfinish(self, nodeid):
        self.done += 1
        gone = (time.monotonic() - self.began) / 60
        left = gone / self.done * (self.total - self.done)
        print(f"\n{self.done} of {self.total} long tests after {gone:.0f} min; about {left:.0f} min to go", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in PARTS:
        sys.exit(0)
    print("./build.sh test-long [PART [pytest's options]]: all parts, or one of", file=sys.stderr)
    for name, (what, _) in PARTS.items():
        print(f"  {name:9} {what}", file=sys.stderr)
    sys.exit(2)
