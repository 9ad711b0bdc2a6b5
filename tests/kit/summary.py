"""Adds up JUnit files, names what was skipped or failed, and ends with one line of counts. What x.xml
has and x_again.xml too counts as there: what failed and was run again alone is named, whatever came of it."""
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
    results, listed = {}, []
    for path in paths:
        for name, result, why in cases(path):
            key = path.replace("_again.xml", ".xml"), name
            if result == "passed" and results.get(key, ("",))[0] == "failed":
                listed.append(f"PASSED ALONE {name}: {results[key][1]}")
            results[key] = result, " ".join(why.split())[:200]
    listed += [f"{result.upper()} {name}: {why}" for (_, name), (result, why) in results.items() if result != "passed"]
    counts = {kind: sum(result == kind for result, _ in results.values()) for kind in ("passed", "failed", "skipped")}
    print("\n".join(sorted(listed)))
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
