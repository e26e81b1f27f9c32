#!/usr/bin/env python3
"""Checks that tests/promises.toml has the tests of docs/promises.md and docs/compared.md, and that they exist.

Each promise, which begins a paragraph of docs/promises.md in bold, has an entry with its tests, and the other way round.
Each row in the tables of docs/compared.md ends with a cell that begins with "yes", "avoided", "partly" or "not yet", and has an
entry with its tests, except for "not yet".
"""
import re
import sys
import tomllib

from published import ROOT

# The rows in the tables of docs/compared.md, and the lines that docs/promises.md may have.
ROWS = {"Features": 44, "Rate limiters": 7, "Opportunities": 12, "Pitfalls": 34}
LINES = 150

index = tomllib.loads((ROOT / "tests/promises.toml").read_text())
promises = (ROOT / "docs/promises.md").read_text()
compared = (ROOT / "docs/compared.md").read_text()
defined = set()
for folder in ("crates", "tests", "examples", "lab"):
    for path in (ROOT / folder).rglob("*.rs"):
        defined.update(re.findall(r"\bfn ([a-z0-9_]+)\s*\(", path.read_text()))
found = []


def difference(what, on_page, in_index):
    """Finds what only one of the two names."""
    found.extend(f"{what}: tests/promises.toml has no entry {name!r}" for name in on_page if name not in in_index)
    found.extend(f"{what}: the page has no {name!r}" for name in in_index if name not in on_page)


def check(what, tests):
    """Returns the tests of an entry, which exist and are at least one."""
    if not tests:
        found.append(f"{what} has no test")
    found.extend(f"{what}: there is no test {name}" for name in tests if name not in defined)
    return tests


stated = [name.removesuffix(".").replace("\n", " ") for name in re.findall(r"(?ms)^\*\*(.+?)\*\*", promises)]
difference("docs/promises.md", stated, [promise["name"] for promise in index["promise"]])
if promises.count("\n") > LINES:
    found.append(f"docs/promises.md has more than {LINES} lines")
of_promises = set()
for promise in index["promise"]:
    of_promises.update(check(promise["name"], promise["tests"]))
    for condition, tests in promise.get("conditions", {}).items():
        of_promises.update(check(f"{promise['name']}, {condition}", tests))

of_rows = set()
sections = dict(section.split("\n", 1) for section in compared.split("\n## ")[1:])
for section, count in ROWS.items():
    table = re.search(r"(?m)(?:^\|.*\n)+", sections[section])[0].splitlines()[2:]
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table]
    if len(rows) != count:
        found.append(f"docs/compared.md, {section}: {len(rows)} rows, expected {count}")
    found += [f"docs/compared.md: no answer: {row[0]}" for row in rows if not re.match(r"(yes|avoided|partly|not yet)\b", row[-1])]
    entries = index["compared"][section]
    difference(f"docs/compared.md, {section}", [row[0] for row in rows if not row[-1].startswith("not yet")], list(entries))
    for name, tests in entries.items():
        of_rows.update(check(f"{section}, {name}", tests))
print("\n".join(found) or f"{len(of_promises)} tests of promises, {len(of_rows)} of the comparison")
sys.exit(1 if found else 0)
