"""Packs index.html with the style sheet and scripts that it names into one file, in their order.

pack.py INDEX OUTPUT. What is between <!--dev--> and <!--/dev--> is for the page opened by itself
and is dropped. The scripts become one inline script, which a Content-Security-Policy admits by its
hash: nothing else may run, and nothing may be loaded."""
import base64
import hashlib
import pathlib
import re
import sys

MARKS = ("title", "summary", "table", "data", "rest")


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def main():
    index, output = map(pathlib.Path, sys.argv[1:])
    page = re.sub(r"<!--dev-->.*?<!--/dev-->\n?", "", index.read_text(), flags=re.S)
    style = "\n" + (index.parent / re.search(r'<link rel="stylesheet" href="([^"]+)">', page)[1]).read_text()
    names = re.findall(r'<script src="([^"]+)"></script>', page)
    script = "\n" + "".join((index.parent / name).read_text() for name in names)
    if "</" + "script" in script or "<!--" in script or "</" + "style" in style:
        sys.exit("pack.py: script or style holds what would end it")
    policy = (f"default-src 'none'; script-src {digest(script)}; style-src {digest(style)}; img-src data:; "
              "base-uri 'none'; form-action 'none'")
    page = page.replace("<!--policy-->", f'<meta http-equiv="Content-Security-Policy" content="{policy}">')
    page = re.sub(r'<link rel="stylesheet"[^>]+>', lambda _: f"<style>{style}</style>", page)
    page = re.sub(r'(<script src="[^"]+"></script>\s*)+', lambda _: f"<script>{script}</script>\n", page)
    for mark in MARKS:
        if page.count(f"<!--sparkprof:{mark}-->") != 1:
            sys.exit(f"pack.py: the mark of {mark} must be in the page once")
    output.write_text(page)


main()
