"""Adds up JUnit files, names what was skipped or failed, and ends with one line of counts."""
import sys
import xml.etree.ElementTree as ET


def cases(path):
    for case in ET.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname') or ''}::{case.get('name')}".lstrip(":")
        for kind in ("failure", "error", "skipped"):
            found = case.find(kind)
            if found is not None:
                yield name, "skipped" if kind == "skipped" else "failed", found.get("message") or ""
                break
        else:
            yield name, "passed", ""


def main(paths):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    listed = []
    for path in paths:
        for name, result, why in cases(path):
            counts[result] += 1
            if result != "passed":
                listed.append(f"{result.upper()} {name}: {' '.join(why.split())[:200]}")
    print("\n".join(sorted(listed)))
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
