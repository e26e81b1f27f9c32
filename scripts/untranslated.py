#!/usr/bin/env python3
"""Lists the sentences that a built-in language lacks, so that they are in English in its answers.

Exits with status 1 if there are any.
"""

import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).parent.parent / "crates/tower-waiting-room/src/respond/i18n"


def names(file):
    """Returns the names of the sentences in a file."""
    return re.findall(r"^([a-z-]+) =", file.read_text(encoding="utf-8"), re.MULTILINE)


def main():
    """Compares each file with the English one."""
    english = names(FOLDER / "en.ftl")
    lacking = 0
    for file in sorted(FOLDER.glob("*.ftl")):
        translated = set(names(file))
        for name in english:
            if name not in translated:
                lacking += 1
                print(f"{file.name}: {name}")
    if lacking:
        sys.exit(f"{lacking} sentences are not translated")


main()
