"""Every path that the documents name exists, and ARCHITECTURE.md names every room."""
import re

from lint import ROOT, end

DOCUMENTS = ("ARCHITECTURE.md", "CONTRIBUTING.md", "HOST.md", "README.md", "SECURITY.md", "tests/README.md")
PATH = re.compile(r"(?<![\w/.-])((?:src|agent|launcher|tests|man|completions)/[\w/.*-]*[\w*]/?)")
findings = []

for name in DOCUMENTS:
    for number, line in enumerate((ROOT / name).read_text().splitlines(), 1):
        for path in PATH.findall(line):
            if not any(ROOT.glob(path.rstrip("/"))):
                findings.append(f"{name}:{number}: there is no {path}")
rooms = [line.split("\t")[0] for line in (ROOT / "tests/lint/rooms.txt").read_text().splitlines() if line[0] != "#"]
text = (ROOT / "ARCHITECTURE.md").read_text()
findings += [f"ARCHITECTURE.md:1: the room {r} is missing" for r in rooms if f"`{r}`" not in text]
findings += [f"tests/lint/rooms.txt:1: there is no folder {r}" for r in rooms if not (ROOT / r).is_dir()]
end(findings)
