#!/usr/bin/env python3
"""Checks that every test that docs/promises.md names exists."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "promises.md"
# Names of tests are sentences: no other code on the page has as many words.
TEST = re.compile(r"`([a-z0-9]+(?:_[a-z0-9]+){3,})`")
FUNCTION = re.compile(r"\bfn ([a-z0-9_]+)\s*\(")


def main() -> int:
    sources = [path for folder in ("crates", "tests", "examples") for path in (ROOT / folder).rglob("*.rs")]
    functions = {name for path in sources for name in FUNCTION.findall(path.read_text(encoding="utf-8"))}
    named = set(TEST.findall(PAGE.read_text(encoding="utf-8")))
    missing = sorted(named - functions)
    for name in missing:
        print(f"{PAGE.relative_to(ROOT)}: there is no test {name}")
    if not named:
        print(f"{PAGE.relative_to(ROOT)}: no test is named")
    print(f"{len(named)} tests of promises, {len(missing)} missing")
    return 1 if missing or not named else 0


if __name__ == "__main__":
    sys.exit(main())
