"""Adds up JUnit files: names what was skipped or failed and the slowest tests, and ends with one line of counts."""
import sys
import xml.etree.ElementTree as ET

SLOWEST = 20


def cases(path):
    """Name, result, why and seconds of each test."""
    for case in ET.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname') or ''}::{case.get('name')}".lstrip(":")
        result, why = "passed", ""
        for kind in ("failure", "error", "skipped"):
            found = case.find(kind)
            if found is not None:
                result, why = "skipped" if kind == "skipped" else "failed", found.get("message") or ""
                break
        yield name, result, " ".join(why.split())[:200], float(case.get("time") or 0)


def main(paths):
    found = [case for path in paths for case in cases(path)]
    slowest = sorted(found, key=lambda case: -case[3])[:SLOWEST]
    print(f"The slowest {len(slowest)}:", *(f"{seconds:7.1f} s  {name}" for name, _, _, seconds in slowest), sep="\n")
    print(*sorted(f"{result.upper()} {name}: {why}" for name, result, why, _ in found if result != "passed"), sep="\n")
    counts = {kind: sum(result == kind for _, result, _, _ in found) for kind in ("passed", "failed", "skipped")}
    print(", ".join(f"{n} {kind}" for kind, n in counts.items()))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
