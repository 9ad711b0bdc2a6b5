"""What the lint tests share: the files of the tree, and ending with one line per finding."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRODUCT = ("src", "agent", "launcher")


def files(*dirs, ext=(".c", ".h")):
    """Files under these directories of the tree, sorted."""
    return sorted(p for d in dirs for p in (ROOT / d).rglob("*") if p.suffix in ext)


def rel(path):
    return path.relative_to(ROOT).as_posix()


def without_comments(text):
    """C without comments and strings, lines kept."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''

    def blank(m):
        if m[0][0] in "\"'":
            return '""'
        return "\n" * m[0].count("\n")
    return re.sub(pattern, blank, text, flags=re.S)


def end(findings):
    """Prints the findings and exits: 1 if there is one."""
    for f in findings:
        print(f)
    print(f"{len(findings)} finding(s)")
    sys.exit(1 if findings else 0)
