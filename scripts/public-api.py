#!/usr/bin/env python3
"""Lists the public API of the published crates, and compares it with docs/api.txt.

    scripts/public-api.py            fails if the API differs from the file, and prints the difference
    scripts/public-api.py --write    writes the file

The list is read from the pages of `cargo doc`, which has to have run with all features. Each line is an
item by its path and kind, or a member of one with its signature. Trait implementations are not listed.
"""
import difflib
import html
import os
import pathlib
import re
import sys

from published import PUBLISHED

CRATES = [crate.replace("-", "_") for crate in PUBLISHED]
ROOT = pathlib.Path(__file__).resolve().parent.parent
API = ROOT / "docs" / "api.txt"
DOC = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "doc"
KINDS = {"struct", "enum", "trait", "fn", "constant", "type", "macro", "static"}


def text(fragment):
    """The text of a piece of HTML, on one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", fragment)).split())


def members(page):
    """The variants, fields and methods on the page of an item, without trait implementations."""
    own = re.split(r'id="(?:trait-implementations|implementors|foreign-impls)"', page)[0]
    for kind, name in re.findall(r'id="(variant|structfield)\.([A-Za-z0-9_]+)"', own):
        yield f"{kind} {name}"
    pattern = r'id="(?:ty)?method\.[^"]*"[^>]*>.*?<h4 class="code-header">(.*?)</h4>'
    for signature in re.findall(pattern, own, re.DOTALL):
        yield text(signature)


def items(crate):
    """The lines of one crate."""
    folder = DOC / crate
    if not (folder / "all.html").exists():
        sys.exit(f"{folder} is missing: run cargo doc --workspace --no-deps --all-features")
    listed = re.findall(r'<li><a href="([^"]+)">', (folder / "all.html").read_text())
    for link in sorted(listed):
        kind, _, _ = pathlib.Path(link).name.partition(".")
        if kind not in KINDS:
            continue
        path = "::".join([crate, *pathlib.Path(link).parts[:-1]])
        name = pathlib.Path(link).name.split(".")[1]
        page = (folder / link).read_text()
        line = f"{path}::{name} ({kind})"
        if kind in {"fn", "constant", "type"}:
            declaration = re.search(r'<pre class="rust item-decl">(.*?)</pre>', page, re.DOTALL)
            line = f"{path}::{name}: {text(declaration.group(1))}" if declaration else line
        yield line
        seen = set()
        for member in members(page):
            if member not in seen:
                seen.add(member)
                yield f"    {member}"


def main():
    found = [line for crate in CRATES for line in items(crate)]
    if sys.argv[1:] == ["--write"]:
        API.write_text("\n".join(found) + "\n")
        print(f"{len(found)} lines written to {API.relative_to(ROOT)}")
        return
    known = API.read_text().splitlines() if API.exists() else []
    if known == found:
        print(f"the public API is that of {API.relative_to(ROOT)}, {len(found)} lines")
        return
    for line in difflib.unified_diff(known, found, "docs/api.txt", "cargo doc", lineterm="", n=0):
        print(line)
    sys.exit("the public API differs from docs/api.txt: scripts/public-api.py --write, and a line in CHANGELOG.md")


main()
