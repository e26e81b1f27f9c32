#!/usr/bin/env python3
"""Lists the public API of the published crates, and compares it with docs/api.txt.

    scripts/public-api.py [--write]     `--write` writes the file in place of comparing it

The list is read from the pages of `cargo doc`, which has to have run with all features: cargo-public-api needs the JSON
of a nightly rustdoc. A line is an item by its path and kind, with the traits that it implements, or a member of it with
its signature. Of the auto traits, those are listed that an item lacks, such as `!Send`.
"""
import difflib
import html
import os
import pathlib
import re
import sys

from published import PUBLISHED, ROOT

API = ROOT / "docs" / "api.txt"
DOC = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "doc"


def text(fragment):
    """The text of a piece of HTML, on one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", fragment)).split())


def traits(page):
    """The traits that the type of a page implements, without those of all types, and the auto traits that it lacks."""
    own = page.partition('id="trait-implementations"')[2].partition('id="synthetic-implementations"')
    headers = re.findall(r'<h3 class="code-header">(.*?)</h3>', own[0])
    headers += re.findall(r'<h3 class="code-header">(impl !.*?)</h3>', own[2].partition('id="blanket-implementations"')[0])
    names = {re.match(r"impl(?:<[^>]*>)? (.*?) for ", text(header)) for header in headers}
    return sorted({name[1] for name in names if name and not re.match("Structural|!.*UnwindSafe|!Freeze", name[1])})


def items(crate):
    """The lines of one crate."""
    folder = DOC / crate
    for link in sorted(re.findall(r'<li><a href="([^"]+)">', (folder / "all.html").read_text())):
        *modules, file = pathlib.Path(link).parts
        kind, name, _ = file.split(".")
        page = (folder / link).read_text()
        path = "::".join([crate, *modules, name])
        declaration = re.search(r'<pre class="rust item-decl">(.*?)</pre>', page, re.DOTALL)
        if kind in {"fn", "constant", "type"}:
            yield f"{path}: {text(declaration[1])}"
        elif kind in {"struct", "enum", "trait", "macro", "static"}:
            yield " ".join([f"{path} ({kind})", *(traits(page) if kind in {"struct", "enum"} else [])])
        own = re.split(r'id="(?:trait-implementations|implementors|foreign-impls)"', page)[0]
        members = [f"{kind} {name}" for kind, name in re.findall(r'id="(variant|structfield)\.(\w+)"', own)]
        method = r'id="(?:ty)?method\.[^"]*"[^>]*>.*?<h4 class="code-header">(.*?)</h4>'
        members += map(text, re.findall(method, own, re.DOTALL))
        yield from (f"    {member}" for member in dict.fromkeys(members))


found = [line for crate in PUBLISHED for line in items(crate.replace("-", "_"))]
known = API.read_text().splitlines()
if "--write" in sys.argv:
    API.write_text("\n".join(found) + "\n")
elif known != found:
    print("\n".join(difflib.unified_diff(known, found, "docs/api.txt", "cargo doc", lineterm="", n=0)))
    sys.exit("the public API differs from docs/api.txt: scripts/public-api.py --write, and a line in CHANGELOG.md")
print(f"docs/api.txt has the public API, {len(found)} lines")
