#!/usr/bin/env python3
"""Checks that every test that docs/promises.md and docs/compared.md name exists.

docs/compared.md links each test to its file, and the links are defined at the end of the page. It has one row for
each feature, opportunity and pitfall, and the last cell of a row begins with "yes", "partly" or "not yet", or
with "avoided" instead of "yes" for a pitfall. A row without "not yet" names at least one test.

    scripts/check-promises.py [--write | --self-test]

`--write` defines the links of docs/compared.md anew.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROMISES = ROOT / "docs" / "promises.md"
COMPARED = ROOT / "docs" / "compared.md"
# Names of tests are sentences: no other code on the page has as many words.
TEST = re.compile(r"`([a-z0-9]+(?:_[a-z0-9]+){3,})`")
FUNCTION = re.compile(r"\bfn ([a-z0-9_]+)\s*\(")
LINKED_TEST = re.compile(r"\[`([a-z0-9_]+)`\](?![:(\[])")
DEFINITION = re.compile(r"(?m)^\[`([a-z0-9_]+)`\]: (\S+)\n")
LABEL = re.compile(r"\]\[([a-z0-9-]+)\]")
ADDRESS = re.compile(r"(?m)^\[([a-z0-9-]+)\]: \S+$")
VERDICT = re.compile(r"(avoided|yes|partly|not yet)(?=[,:;. ]|$)")
# The numbers of rows in the tables of docs/compared.md, in their order: features, opportunities, pitfalls.
ROWS = [44, 12, 34]


def functions():
    """The names of all functions, each with the files that define it."""
    found = {}
    for folder in ("crates", "tests", "examples", "lab"):
        for path in sorted((ROOT / folder).rglob("*.rs")):
            for name in FUNCTION.findall(path.read_text(encoding="utf-8")):
                found.setdefault(name, []).append(str(path.relative_to(ROOT)))
    return found


def tables(text):
    """The rows of each table of a page, without the heading and the line below it."""
    blocks = re.findall(r"(?m)(?:^\|.*\n?)+", text)
    return [block.splitlines()[2:] for block in blocks]


def judged(row):
    """What is wrong with a row of docs/compared.md."""
    cells = row.strip("|").split("|")
    answer = cells[-1].strip()
    verdict = VERDICT.match(answer)
    if not verdict:
        return f"no verdict in the row{cells[0]}"
    if verdict[1] != "not yet" and not LINKED_TEST.search(answer):
        return f"no test in the row{cells[0]}"
    return None


def compared(text, known):
    """The names of the tests in docs/compared.md, and what is wrong with the page."""
    wrong = []
    found = tables(text)
    if [len(rows) for rows in found] != ROWS:
        wrong.append(f"the tables have {[len(rows) for rows in found]} rows, expected {ROWS}")
    for row in (row for rows in found for row in rows):
        missing = [name for name in LINKED_TEST.findall(row) if name not in known]
        wrong += [f"there is no test {name}" for name in missing]
        wrong += filter(None, [judged(row)])
    named = set(LINKED_TEST.findall(text))
    defined = dict(DEFINITION.findall(text))
    for name in sorted(named | set(defined)):
        target = defined.get(name, "").removeprefix("../")
        stale = name in defined and (name not in named or name not in known)
        if stale or name in known and target not in known[name]:
            wrong.append(f"the link of {name} is wrong or missing: run this script with --write")
    labels = set(LABEL.findall(text)) ^ set(ADDRESS.findall(text))
    wrong += [f"the source {label} is not defined or not used" for label in sorted(labels)]
    return named, wrong


def with_links(text, known):
    """docs/compared.md with links to the files of the tests that it names."""
    body = DEFINITION.sub("", text).rstrip("\n")
    named = sorted(set(LINKED_TEST.findall(body)) & set(known))
    links = [f"[`{name}`]: ../{known[name][0]}" for name in named]
    return "\n".join([body, "", *links, ""])


def self_test():
    """Fails if a mistake on docs/compared.md is not found."""
    known = {"a_test": ["crates/a.rs"]}
    page = lambda rows: "| a | b |\n|---|---|\n" + "".join(f"| x | {row} |\n" for row in rows)
    good = ["yes: [`a_test`]"] * ROWS[0], ["partly, [`a_test`]"] * ROWS[1], ["not yet: none"] * ROWS[2]
    whole = lambda *parts: with_links("\n".join(page(rows) for rows in parts), known)
    assert compared(whole(*good), known)[1] == []
    assert with_links(whole(*good), known) == whole(*good)
    for bad in ["yes: [`no_test`]", "yes: well", "perhaps: [`a_test`]", "not yet: [x][source]"]:
        assert compared(whole([bad, *good[0][1:]], *good[1:]), known)[1], bad
    assert compared(whole(*good[:2]), known)[1], "a table is missing"
    assert compared(whole(*good).replace("a.rs", "b.rs"), known)[1], "a wrong link"
    assert compared(DEFINITION.sub("", whole(*good)), known)[1], "no link"


def main() -> int:
    if "--self-test" in sys.argv:
        self_test()
        return 0
    known = functions()
    if "--write" in sys.argv:
        COMPARED.write_text(with_links(COMPARED.read_text(encoding="utf-8"), known), encoding="utf-8")
    promised = set(TEST.findall(PROMISES.read_text(encoding="utf-8")))
    named, wrong = compared(COMPARED.read_text(encoding="utf-8"), known)
    findings = [f"{PROMISES.relative_to(ROOT)}: there is no test {name}" for name in sorted(promised - set(known))]
    findings += [f"{COMPARED.relative_to(ROOT)}: {it}" for it in wrong]
    if not promised:
        findings.append(f"{PROMISES.relative_to(ROOT)}: no test is named")
    print("\n".join([*findings, f"{len(promised)} tests of promises, {len(named)} of the comparison, "
                                f"{len(findings)} findings"]))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
