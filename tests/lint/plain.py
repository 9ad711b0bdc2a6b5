"""Plain English in what users read: words that readers of other mother tongues stumble over, and what is said instead. Only words that are
wrong wherever they stand."""
import re

from lint import ROOT, end, files, rel

INSTEAD = {
    r"leav(?:e|es|ing) (?:%s|it|one|one of them|one of both|[^ \n]*-[\w=-]+) (?:out|away)": "omit",
    r"but for": "except for",
    r"likewise": "also",
    r"besides": "as well",
    r"of late": "recently",
    r"whom": "a sentence without it",
    r"hence|thus|thereby|therein": "so",
    r"in order to": "to",
    r"utili[sz]e": "use",
    r"prior to": "before",
    r"shall": "must, or will",
    r"upon": "on",
}
RULES = [(re.compile(rf"\b{words}\b" if "|" not in words else rf"\b(?:{words})\b", re.I), instead) for words, instead in INSTEAD.items()]
STRING = re.compile(r'/\*.*?\*/|//[^\n]*|\'(?:\\.|[^\'\\\n])+\'|"((?:\\.|[^"\\\n])*)"', re.S)


def sentences(path):
    """(offset, text) of what users read in a file: a document, or the strings of a source, those beside each other as one."""
    text = path.read_text()
    if path.suffix not in (".c", ".h", ".def"):
        return text, [(0, text)]
    found, last = [], None
    for m in STRING.finditer(text):
        if m[1] is None:
            continue
        if found and not text[last:m.start()].strip():
            found[-1] = (found[-1][0], found[-1][1] + m[1])
        else:
            found.append((m.start(), m[1]))
        last = m.end()
    return text, found


findings = []
for path in [*(ROOT / "man").glob("*.scd"), *(ROOT / d for d in ("README.md", "SECURITY.md", "HOST.md")), *files("src", "agent", "launcher", ext=(".c", ".h", ".def"))]:
    whole, parts = sentences(path)
    for start, text in parts:
        for rule, instead in RULES:
            for m in rule.finditer(text):
                at = start + m.start() if len(parts) == 1 and start == 0 else start
                findings.append(f"{rel(path)}:{whole[:at].count(chr(10)) + 1}: '{m[0]}': write '{instead}'")
end(findings)
