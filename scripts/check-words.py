#!/usr/bin/env python3
"""Checks the words of the code and of the docs, as docs/glossary.md and docs/style.md ask for them.

No type of the published crates has a name of `RETIRED`, and two have the same one only if `SHARED` says
why. No page of docs and no comment says "nobody", "anybody" or "whoever", and no heading of a design note is a question.
No name of a test has a word of `TRANSLATED`, no closure calls its parameter `it`, and two bindings or assignments are
two lines, not those of two tuples. Clippy has `match_bool`.
"""
import collections
import re
import sys

from published import PUBLISHED, ROOT

VAGUE = re.compile(r"\b(nobody|anybody|whoever)\b", re.IGNORECASE)
QUESTION = re.compile(r"^(?:\*\*|#+ )(?:Who|Whose|What|Which|Where|When|Why|How)\b")
TEST = re.compile(r"#\[(?:\w+::)*test\b[^\n]*\]\s*(?:#\[[^\n]*\]\s*|//[^\n]*\n\s*)*(?:pub )?(?:async )?fn (\w+)")
TRANSLATED = re.compile(
    r"(?:^|_)(?:who|whom|whoever|nobody|somebody|anybody|everybody|what|whatever|for_ever|so_(?:many|much|often|long))(?:_|$)"
)
# Comments and literals: nothing in them is code, except for the examples of doc comments.
NO_CODE = re.compile(r'//[^\n]*|\br(#*)".*?"\1|"(?:\\.|[^"\\])*"|b?\'(?:\\[^\n]*?|[^\'\\\n])\'', re.DOTALL)
GROUP = r"\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)"
PAIRS = re.compile(rf"(?m)^ *(?:let )?\([^()]*, [^()]*\)(?:\s*:\s*[^=;]*)?\s*= (?=\([^;]*,){GROUP};$")
CLOSURE = re.compile(r"(?<![|\w)] )\|(?:[^|\n;{}]*[^|\w.])?it\b(?!::)[^|\n;{}]*\|(?!\|)")
# Names that several private types have, each with one meaning.
SHARED = set(
    "Ended Kind Line Place RateLimit Readme Report Running Seen Sessions Shared Stage State Text WaitingRoom".split()
)


# Names of earlier drafts, each with the one that took its place.
RETIRED = {
    "Ask": "LimiterCharge",
    "Asked": "AcceptHeader",
    "Away": "OutageState",
    "Critical": "Locked",
    "Fixed": "FixedLimit",
    "Gatekeeper": "Pipeline",
    "Hold": "ReleaseAt",
    "HoldOutcome": "PermitOutcome",
    "Limit": "AdaptiveLimit",
    "LimitAsk": "ChargeRequest",
    "LimitFailure": "RateStoreFailure",
    "LimitPolicy": "RatePolicy",
    "LimitReply": "ChargeReply",
    "LimitRules": "AdaptiveRules",
    "LimitStore": "RateStore",
    "OnLoss": "GateStoreFailure",
    "ReturnSlots": "RetrySchedule",
    "RoomSwitch": "RoomMode",
    "Ruling": "SlotDecision",
    "Said": "ChargeNumbers",
    "Shelves": "LockedTable",
    "Snapshot": "RoomSnapshot",
    "Spend": "ChargeHandle",
    "Told": "PolicyState",
    "TypicalHold": "HoldEstimate",
    "Usher": "SiteAdmission",
    "Wait": "WaitEstimate",
    "Wakes": "WakeList",
    "Words": "AtomicTable",
}


def second_words():
    """The types of the published crates whose name has another meaning, or none any more."""
    types = collections.defaultdict(list)
    for crate in PUBLISHED:
        for path in (ROOT / "crates" / crate / "src").rglob("*.rs"):
            if crate != "waiting-room-ledger" and "tests" not in str(path) and not path.name.startswith("no_"):
                text = path.read_text().partition("#[cfg(test)]\nmod tests")[0]
                for name in re.findall(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait) (\w+)", text):
                    types[name].append(path.name)
    yield from (f"{types[name][0]}: `{name}` is retired: {word}" for name, word in RETIRED.items() if name in types)
    several = [name for name, files in types.items() if len(files) > 1 and name not in SHARED]
    yield from (f"the type `{name}` has several definitions: {', '.join(types[name])}" for name in several)


def vague(path, text):
    """The positions of vague subjects in prose, and of questions in headings of design notes."""
    if path.suffix == ".md":
        text = re.sub(r"(?ms)^ *```.*?^ *```|`[^`]*`|\]\([^)]*\)", lambda found: "\n" * found[0].count("\n"), text)
        lines = enumerate(text.splitlines(), 1)
    else:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if re.match(r"\s*(?://|--)", line)]
    for number, line in lines:
        if VAGUE.search(line) or ("design" in path.parts and QUESTION.search(line)):
            yield f"{path.relative_to(ROOT)}:{number}: a vague subject, or a question as a heading"


def dialect(path, source):
    """The habits of ours in a Rust file that its readers do not share."""
    code = NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)
    examples = re.sub(r"(?m)^(?:[ \t]*//[/!] ?(.*)|.*)$", lambda found: found[1] or "", source)
    found = [test for test in TEST.finditer(source) if TRANSLATED.search(test[1])]
    found += [*PAIRS.finditer(code), *PAIRS.finditer(examples), *CLOSURE.finditer(code), *re.finditer(r"\|it\|", examples)]
    for match in found:
        yield f"{path.relative_to(ROOT)}:{source.count(chr(10), 0, match.end()) + 1}: {match[0].split(chr(10))[-1].strip()}"


found = list(second_words())
for path in sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("crates/*/src/**/*.*")]):
    if path.name != "style.md" and "tests" not in str(path) and path.suffix in (".md", ".rs", ".lua"):
        found += vague(path, path.read_text().partition("#[cfg(test)]\nmod tests")[0])
for folder in ("crates", "examples", "tests", "lab"):
    for path in sorted((ROOT / folder).rglob("*.rs")):
        found += dialect(path, path.read_text())
print("\n".join(found) or "words: nothing found")
sys.exit(1 if found else 0)
