#!/usr/bin/env python3
"""Counts the words of the pages (the bars of tables are none), and finds what two pages say, or one page says twice.

A sentence of eight words or more stands once. Two paragraphs say the same if they share half of their sequences of four
words. The ceilings may only fall.
"""
import re
import sys

from published import ROOT

CEILINGS = {"README.md": 700, "docs, without the design notes": 40_000, "docs/design": 27_600}
# What surrounds prose: blocks of code, lists of links, tables.
NO_PROSE = re.compile(r"(?ms)^ *```.*?^ *```|^\[[^\]]*\]: .*?$|^ *\|.*?$|^#.*?$")
LINK = re.compile(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")

words = dict.fromkeys(CEILINGS, 0)
sentences, paragraphs, found = {}, [], []
for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
    name, text = str(path.relative_to(ROOT)), path.read_text()
    kind = name if name in CEILINGS else "docs/design" if "design" in path.parts else "docs, without the design notes"
    words[kind] += len(re.findall(r"[^\s|]*\w[^\s|]*", text))
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", NO_PROSE.sub("", text)):
        said = re.findall(r"[\w.'/-]*\w", LINK.sub(r"\1", paragraph).lower())
        runs = {tuple(said[at : at + 4]) for at in range(len(said) - 3)}
        if len(said) >= 12:
            paragraphs.append((name, " ".join(paragraph.split())[:100], runs))
        for sentence in re.split(r"(?<=[.!?:]) ", " ".join(LINK.sub(r"\1", paragraph).split())):
            sentence = sentence.strip("-*` ")
            if len(sentence.split()) >= 8:
                if sentence in sentences:
                    found.append(f"{sentences[sentence]}, {name}: {sentence}")
                sentences[sentence] = name
for at, (name, begins, runs) in enumerate(paragraphs):
    for other, _, others in paragraphs[:at]:
        if 2 * len(runs & others) > min(len(runs), len(others)):
            found.append(f"{other}, {name}: {begins} …")
print("; ".join(f"{kind}: {count:,} words, at most {CEILINGS[kind]:,}" for kind, count in words.items()))
found += [f"too many words in {kind}" for kind, count in words.items() if count > CEILINGS[kind]]
print("\n".join(found))
sys.exit(1 if found else 0)
