#!/usr/bin/env python3
"""Prints sentences drawn at random, for a reader to mark as idiomatic or not.

    scripts/sample-sentences.py [--seed N] [--code 100] [--docs 50]

`--code` draws from the comments, rustdoc and messages of the published crates, without tests; `--docs`
from README.md, docs/ and the READMEs of the packages, without code blocks, tables and figures. The seed is printed.
"""
import argparse
import pathlib
import random
import re
import secrets

from published import PUBLISHED

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHORTEST = 4  # words


def sentences(text):
    """The sentences of a paragraph."""
    text = re.sub(r"\s+", " ", text).strip()
    for sentence in re.split(r"(?<=[.!?:]) (?=[A-Z`*\[])", text):
        if len(re.findall(r"[A-Za-z]{2,}", sentence)) >= SHORTEST:
            yield sentence


def paragraphs(lines):
    """Groups of lines, ended by an empty line, a list item, a heading or a table row; no code blocks."""
    group, in_code = [], False
    for line in lines:
        if line.strip().startswith("```"):
            in_code, line = not in_code, ""
        if in_code:
            continue
        stops = not line.strip() or re.match(r"\s*([-*] |\d+\. |#|\|)", line)
        if stops and group:
            yield " ".join(group)
            group = []
        if line.strip() and not re.match(r"\s*(#|\||!\[)", line):
            group.append(re.sub(r"^\s*([-*] |\d+\. )", "", line).strip())
    if group:
        yield " ".join(group)


def of_code():
    """Sentences of comments and messages, with their files."""
    for crate in PUBLISHED:
        folder = ROOT / "crates" / crate / "src"
        for path in sorted(folder.rglob("*")):
            if path.suffix not in {".rs", ".lua"} or "tests" in str(path.relative_to(folder)):
                continue
            text = re.split(r"(?m)^#\[cfg\(test\)\]\nmod tests", path.read_text())[0]
            mark = r"\s*(?://[/!]?|--)(?: |$)"
            lines = [re.sub(mark, "", line, count=1) if re.match(mark, line) else "" for line in text.splitlines()]
            for paragraph in paragraphs(lines):
                for sentence in sentences(paragraph):
                    yield path.relative_to(ROOT), sentence
            for message in re.findall(r'"((?:[^"\\\n]|\\.){20,})"', re.sub(r"(?m)^\s*//.*$", "", text)):
                if " " in message and not re.search(r"[<>=;{}]{2}|\\u", message):
                    for sentence in sentences(message):
                        yield path.relative_to(ROOT), f"(message) {sentence}"


def of_docs():
    """Sentences of the prose pages, with their files. `docs/figures` holds generated tables and labels."""
    docs = [path for path in sorted((ROOT / "docs").rglob("*.md")) if path.parent.name != "figures"]
    pages = [ROOT / "README.md", *docs, *sorted(ROOT.glob("crates/*/README.md"))]
    for path in pages:
        for paragraph in paragraphs(path.read_text().splitlines()):
            for sentence in sentences(paragraph):
                yield path.relative_to(ROOT), sentence


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--code", type=int, default=100)
    parser.add_argument("--docs", type=int, default=50)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    print(f"seed {arguments.seed}")
    for name, source, count in [("code", of_code, arguments.code), ("docs", of_docs, arguments.docs)]:
        found = list(source())
        print(f"\n{name}: {count} of {len(found)} sentences")
        for number, (path, sentence) in enumerate(chance.sample(found, min(count, len(found))), 1):
            print(f"{number:3}. [{path}] {sentence}")


main()
