"""async-profiler's words: each of tests/data/async-profiler-words.txt has a row in the man page (COMING FROM ASYNC-PROFILER), and what the row
says is what launcher/cli/options.def, launcher/cli/events.def and agent/options/args*.c do."""
import re
import sys

from lint import ROOT, end

sys.path.insert(0, str(ROOT / "tests"))
from kit import table  # noqa: E402

MAN, WORDS = "man/sparkprof.1.scd", "tests/data/async-profiler-words.txt"
ARGS, SPOKEN, REPORT = "agent/options/args.c", "agent/options/args_words.c", "agent/options/arg_report.c"
KINDS = {"Actions and targets": "action", "Events": "event", "Outputs": "output", "Features": "feature"}
STATES = ("same", "different", "always", "not here")
findings = []


def rows():
    """(line, kind, word, state, how) of each word in the man page's tables."""
    text = (ROOT / MAN).read_text()
    start = text.index("# COMING FROM ASYNC-PROFILER")
    section = text[start:text.index("\n# ", start + 1)]
    first, title = text[:start].count("\n") + 1, ""
    lines = section.splitlines()
    for n, line in enumerate(lines):
        if line.startswith("## "):
            title = line[3:]
        if not line.startswith("|  "):
            continue
        state, how = lines[n + 1][3:], lines[n + 2][3:]
        for word in re.findall(r"\*([^*]+)\*", line):
            kind = KINDS.get(title) or ("option" if word.startswith("-") else "agent")
            yield first + n, kind, word.rstrip("="), state, how


def agent_words():
    """What the agent's parser does with a word: it has a meaning, is taken, or is named as not done."""
    text = (ROOT / ARGS).read_text() + (ROOT / SPOKEN).read_text()

    def names(array, pattern=r'"([^"]+)"'):
        return set(re.findall(pattern, re.search(rf"{array}\[\] = \{{(.*?)\}};", text, re.S)[1]))
    meant = names("struct word words", r'\{"([^"]+)"') | set(re.findall(r'strcmp\(word, "(\w+)"\) == 0', text))
    report = (ROOT / REPORT).read_text()
    meant |= set(re.findall(r'"(\w+)"', re.search(r"looks\[\] = \{(.*?)\};", report, re.S)[1]))
    meant |= set(re.findall(r'\{"(\w+)"', re.search(r"outputs\[\] = \{(.*?)\};", report, re.S)[1]))
    return meant, names("quiet_words"), names("undone_words")


def spelled(option):
    return {s for name, o in option.items() for s in ([f"--{name}"] + ([f"-{o[0] if isinstance(o, tuple) else o.letter}"]))}


OPTIONS, ALWAYS, FOREIGN = spelled(table.options()), spelled(table.always()), spelled(table.foreign())
MEANT, QUIET, UNDONE = agent_words()
FORMATS = table.options()["output"].value.split("|")


def wrong(kind, word, state, how):
    """What the sources say instead, or ""."""
    taken = state in ("same", "different")
    if state not in STATES:
        return f"is '{state}', which is none of {', '.join(STATES)}"
    if kind == "option" and not {True: word in OPTIONS, False: word in (ALWAYS if state == "always" else FOREIGN)}[taken]:
        return "is not so in launcher/cli/options.def"
    if kind == "agent" and "agent:" not in how:
        if (word in UNDONE) != (state == "not here") or (taken or state == "always") and word not in MEANT | QUIET:
            return f"is not so in {ARGS}"
    if kind == "action" and word != "jps" and word not in table.actions(kept=not taken):
        return "is not so in launcher/cli/options.def"
    if kind == "event" and re.fullmatch(r"[\w-]+", word) and word not in ("rNNN", "function") and taken != (word in table.events()):
        return "is not so in launcher/cli/events.def"
    if kind == "output" and word not in FORMATS:
        return "is no format in launcher/cli/options.def"
    if kind == "feature" and taken != (word in table.options()["features"].value.split(",")):
        return "is not so in launcher/cli/options.def"
    return ""


def main():
    known = set((ROOT / WORDS).read_text().splitlines())
    seen = {}
    for line, kind, word, state, how in rows():
        if f"{kind} {word}" in seen:
            findings.append(f"{MAN}:{line}: {kind} {word} is here twice")
        seen[f"{kind} {word}"] = line
        why = wrong(kind, word, state, how)
        if why:
            findings.append(f"{MAN}:{line}: {kind} {word}: '{state}' {why}")
    for text in sorted(known - seen.keys()):
        findings.append(f"{MAN}:1: {text} of {WORDS} has no row")
    for text in sorted(seen.keys() - known):
        findings.append(f"{MAN}:{seen[text]}: {text} is not in {WORDS}")


main()
end(findings)
