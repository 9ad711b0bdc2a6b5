"""The frames that threads start with: src/out/thread_entry_frames.c has the list of src/page/starts.js."""
import re

from lint import ROOT, end


def posix(js):
    """A regular expression of JavaScript as POSIX writes it."""
    return js.replace("\\w", "[[:alnum:]_]").replace("\\d", "[0-9]").replace("\\b.*", "([^[:alnum:]_].*)?")


def unquoted(text, quote):
    """The string literals in a piece of source, joined, as the compiler has them."""
    return "".join(re.findall(rf"{quote}((?:[^{quote}\\]|\\.)*){quote}", text)).replace("\\\\", "\\")


page, c = (ROOT / "src/page/starts.js").read_text(), (ROOT / "src/out/thread_entry_frames.c").read_text()
items = re.search(r"JAVA_STARTS = new RegExp\('\^\(' \+ \[(.*?)\n\]", page, re.S)[1]
items = re.sub(r"',\n\t'", "|", items)  # between items; within one, strings are joined
wanted = {
    "native": posix(re.search(r"NATIVE_STARTS = /(.*)/;", page)[1]),
    "java": posix("^(" + re.sub(r"\.(?!\*)", r"\\.", unquoted("'" + items.strip().strip("',") + "'", "'")) + ")$"),
}
findings = []
for name, regex in wanted.items():
    found = re.search(rf"char {name}\[\] =\n(.*?);\n", c, re.S)
    line = c[:found.start()].count("\n") + 1
    if unquoted(found[1], '"') != regex:
        findings.append(f"src/out/thread_entry_frames.c:{line}: '{name}' is not what src/page/starts.js has: {regex}")
end(findings)
