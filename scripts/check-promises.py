#!/usr/bin/env python3
"""Checks that every test exists that docs/promises.md and docs/compared.md name, and that the latter links to its file.

    scripts/check-promises.py [--write]

`--write` defines the links of docs/compared.md anew, at its end. Each row of its tables ends with a cell that begins with
"yes", "avoided", "partly" or "not yet", and names a test, except after "not yet".
"""
import re
import sys

from published import ROOT

PROMISES = ROOT / "docs/promises.md"
COMPARED = ROOT / "docs/compared.md"
LINKED = re.compile(r"\[`([a-z0-9_]+)`\](?![:(\[])")
ANSWER = re.compile(r"(?:avoided|yes|partly)(?=[,:;. ]).*\[`|not yet")
# The rows in the tables of docs/compared.md: features, opportunities, pitfalls.
ROWS = 44 + 12 + 34

known = {}
for folder in ("crates", "tests", "examples", "lab"):
    for path in sorted((ROOT / folder).rglob("*.rs")):
        for name in re.findall(r"\bfn ([a-z0-9_]+)\s*\(", path.read_text()):
            known.setdefault(name, []).append(f"../{path.relative_to(ROOT)}")
# Names of tests are sentences: no other code on the page has as many words.
promised = set(re.findall(r"`([a-z0-9]+(?:_[a-z0-9]+){3,})`", PROMISES.read_text()))
page = COMPARED.read_text()
links = dict(re.findall(r"(?m)^\[`([a-z0-9_]+)`\]: (\S+)$", page))
compared = set(LINKED.findall(page))
if "--write" in sys.argv:
    links = {name: known[name][0] for name in sorted(compared & set(known))}
    body = re.sub(r"(?m)^\[`[a-z0-9_]+`\]: \S+\n", "", page).rstrip("\n")
    COMPARED.write_text("\n".join([body, "", *(f"[`{name}`]: {path}" for name, path in links.items()), ""]))
found = [f"there is no test {name}" for name in sorted((promised | compared) - set(known))]
wrong = [name for name in compared | set(links) if links.get(name) not in known.get(name, []) or name not in compared]
found += [f"docs/compared.md: run this script with --write for the link of {name}" for name in sorted(wrong)]
rows = [row for table in re.findall(r"(?m)(?:^\|.*\n)+", page) for row in table.splitlines()[2:]]
found += [f"no answer with a test: {row}" for row in rows if not ANSWER.match(row.strip("|").split("|")[-1].strip())]
if len(rows) != ROWS:
    found.append(f"docs/compared.md has {len(rows)} rows, expected {ROWS}")
print("\n".join(found) or f"{len(promised)} tests of promises, {len(compared)} of the comparison")
sys.exit(1 if found else 0)
