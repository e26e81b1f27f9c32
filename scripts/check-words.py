#!/usr/bin/env python3
"""Checks that the words of docs/glossary.md have one meaning each in the published crates, and the style
of the docs.

- A word that the glossary lists as retired names no type, Lua file, metric or reason any more.
- Two types of the published crates have the same name only if `SHARED` says why.
- The labels of metrics and the left parts of reasons are words of the glossary, or plain English of `PLAIN`.
- Each Lua script of a verb has the name of a variant of `Verb`, and the reverse.

In the pages of docs, and in the comments of the published crates without their tests:

- No sentence says "nobody", "anybody" or "whoever". Code, links and docs/style.md are left out.
- No heading of a design note begins with a question word.

In all Rust of the repository, tests included:

- No name of a test has one of the words of `TRANSLATED`, such as "nobody" or "what".
- No `let (a, b) = (x, y);` and no `(a, b) = (x, y);`: two bindings are two lines. No parameter of a closure is called `it`. No `match` on a bool.

    scripts/check-words.py [--self-test]
"""
import pathlib
import re
import sys

from published import PUBLISHED

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The crates whose types have one name each.
CRATES = [crate for crate in PUBLISHED if crate != "waiting-room-ledger"]

VAGUE = re.compile(r"\b(nobody|anybody|whoever)\b", re.IGNORECASE)
QUESTION = re.compile(r"^(?:\*\*|#+ )(?:Who|Whose|What|Which|Where|When|Why|How)\b")

# Words by which a name of a test reads as translated: a clause in place of a noun, or a vague subject or measure.
TRANSLATED = re.compile(
    r"(?:^|_)(?:who|whom|whoever|nobody|somebody|anybody|everybody|what|whatever|for_ever|so_(?:many|much|often|long))"
    r"(?:_|$)"
)
TEST = re.compile(r"#\[(?:\w+::)*test\b[^\n]*\]\s*(?:#\[[^\n]*\]\s*|//[^\n]*\n\s*)*(?:pub )?(?:async )?fn (\w+)")
# Comments and literals: nothing in them is code.
NO_CODE = re.compile(
    r'//[^\n]*|\b(?:b|c)?r(#+)".*?"\1|\b(?:b|c)?r"[^"]*"|"(?:\\.|[^"\\])*"|b?\'(?:\\[^\n]*?|[^\'\\\n])\'',
    re.DOTALL,
)
DOC_CODE = re.compile(r"(?m)^\s*//[/!] (?:# )?(\s*let \(.*\) = \(.*\);)$")
ASSIGN = re.compile(r"(?m)^ *\([\w.]+(?:, [\w.]+)+\) = \(.*\);$")
LET = re.compile(r"(?m)^[ \t]*let \(")
CLOSURE = re.compile(r"(?<![|\w)] )\|(?:[^|\n;{}]*[^|\w.])?it\b(?!::)[^|\n;{}]*\|(?!\|)")
DOC_CLOSURE = re.compile(r"(?m)^\s*//[/!].*\|it\|")
MATCH = re.compile(r"\bmatch\b[^{};]*\{\s*(?:true|false) =>")

# Names that several private types have, each with the one meaning that they share.
SHARED = {
    "Kind": "the variants of the type in whose file it stands",
    "Ended": "a session that was ended, in the room and in the naive model",
    "Line": "a line of visitors; a line of a queue served in one order is one too",
    "Place": "a place in the line, in the room and in the naive model",
    "Readme": "the doc test of a README",
    "Report": "what is reported about limits or about an address",
    "RateLimit": "a limit, in code and as written in a rules file",
    "Running": "requests that run",
    "Seen": "what was seen of a file, and of an answer",
    "Sessions": "the sessions that a room holds, and those that a node knows",
    "Shared": "what the clones of one handle share",
    "Stage": "a step of a request or of a waiter",
    "State": "the state behind one lock or of one future",
    "Text": "text that was parsed",
    "WaitingRoom": "the service, and its form in Cloudflare's JSON",
}

# Labels and parts of reasons that mean what they mean in English.
PLAIN = {
    "admitted", "bypass", "code", "error", "mode", "outcome", "policy", "queue", "queued", "refused",
    "suspended", "waited",
}


def sources(crate):
    """The Rust files of a crate, without tests and without the stand-ins of absent features."""
    folder = ROOT / "crates" / crate / "src"
    return [
        path
        for path in sorted(folder.rglob("*.rs"))
        if "tests" not in str(path.relative_to(folder)) and not path.name.startswith("no_")
    ]


def without_tests(text):
    """A file up to its test module."""
    return re.split(r"(?m)^#\[cfg\(test\)\]\nmod tests", text)[0]


def types():
    """The names of all types of the published crates, with the files that define them."""
    found = {}
    for crate in CRATES:
        for path in sources(crate):
            text = without_tests(path.read_text())
            for name in re.findall(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait) (\w+)", text):
                found.setdefault(name, []).append(str(path.relative_to(ROOT)))
    return found


def glossary():
    """The words of the glossary, and the retired words with their successors."""
    text = (ROOT / "docs" / "glossary.md").read_text()
    kept, _, retired = text.partition("## Retired words")
    rows = re.findall(r"(?m)^\| ([^|]+) \|", kept)
    words = {word for row in rows for word in re.findall(r"[a-z][a-z-]+", row.lower())}
    return words, dict(re.findall(r"(?m)^\| `(\w+)` \| `?([^|`]+)`? \|", retired))


def findings(found, words, retired):
    """One line for each second word."""
    for name, files in sorted(found.items()):
        if name in retired:
            yield f"{files[0]}: the type `{name}` has a retired name: it is `{retired[name]}` now"
        if len(files) > 1 and name not in SHARED:
            yield f"the type `{name}` has {len(files)} definitions: {', '.join(files)}"
    folder = ROOT / "crates/tower-waiting-room/src/telemetry"
    telemetry = "".join(path.read_text() for path in [folder.with_suffix(".rs"), *folder.rglob("*.rs")])
    for label in sorted(set(re.findall(r'\("([a-z_]+)", [^()]*\.into\(\)\)', telemetry))):
        if label not in words | PLAIN:
            yield f"the label `{label}` of a metric is no word of the glossary"
    reasons = (ROOT / "crates/waiting-room-core/src/room/verdict.rs").read_text()
    for reason in sorted(set(re.findall(r"/// `([a-z_:<>]+)`: ", reasons))):
        head = reason.partition(":")[0].replace("<", "")
        if not set(head.split("_")) <= words | PLAIN | {"all", "unavailable"}:
            yield f"the reason `{reason}` begins with no word of the glossary"
    lua = ROOT / "crates/waiting-room-redis/src/lua"
    scripts = {path.stem for path in lua.glob("*.lua")}
    verbs = (ROOT / "crates/waiting-room-redis/src/scripts.rs").read_text()
    body = re.search(r"enum Verb \{(.*?)\n\}", verbs, re.DOTALL).group(1)
    names = re.findall(r"(?m)^    ([A-Z]\w+),", body)
    known = {re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() for name in names}
    for verb in sorted(known - scripts):
        yield f"the verb `{verb}` has no script of its name"


def prose(text):
    """The lines of a page with their numbers, without code and without the targets of links."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, re.sub(r"`[^`]*`|\]\([^)]*\)", "", line)


def comments(text):
    """The comments of a Rust or Lua file with the numbers of their lines."""
    for number, line in enumerate(without_tests(text).splitlines(), 1):
        if comment := re.search(r"(?:^|\s)(?://|--)(.*)", line):
            yield number, comment.group(1)


def vague(name, lines):
    """One line for each vague subject and each question in a heading of a design note."""
    for number, line in lines:
        if word := VAGUE.search(line):
            yield f"{name}:{number}: `{word.group()}` is vague: name the visitor, the client or the process"
        if name.startswith("docs/design/") and QUESTION.search(line):
            yield f"{name}:{number}: the heading is a question, expected a noun phrase"


def vague_in_tree():
    """The findings of `vague` in the docs and in the published crates."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        if page.name != "style.md":
            yield from vague(str(page.relative_to(ROOT)), prose(page.read_text()))
    for crate in PUBLISHED:
        folder = ROOT / "crates" / crate / "src"
        for path in sorted([*folder.rglob("*.rs"), *folder.rglob("*.lua")]):
            if "tests" not in str(path.relative_to(folder)):
                yield from vague(str(path.relative_to(ROOT)), comments(path.read_text()))


def end_of(text, start):
    """The position behind the bracket that opens at `start`."""
    depth = 0
    for position in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if not depth:
            return position + 1
    return len(text)


def binds_pairs(text):
    """The positions of each `let (a, b) = (x, y);` in code."""
    for found in LET.finditer(text):
        close = end_of(text, found.end() - 1)
        bound = re.compile(r"(?:\s*:\s*[^=;]*)?\s*=\s*\(").match(text, close)
        # With one value in the brackets, they belong to an expression.
        if bound and text[(end := end_of(text, bound.end() - 1)) : end + 1] == ";" and "," in text[bound.end() : end]:
            yield found.end() - 1


def dialect(name, source):
    """One line for each habit of ours in a Rust file that its readers do not share."""
    for found in TEST.finditer(source):
        if word := TRANSLATED.search(found[1]):
            yield found.start(1), f"the name of the test has `{word.group().strip('_')}`: name the subject"
    lets = [found.start(1) for found in DOC_CODE.finditer(source)]
    code = NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), source)
    for position in [*lets, *binds_pairs(code)]:
        yield position, "two bindings are two lines, not a let of two tuples"
    for found in ASSIGN.finditer(code):
        yield found.start(), "two assignments are two lines, not an assignment of two tuples"
    for found in [*CLOSURE.finditer(code), *DOC_CLOSURE.finditer(source)]:
        yield found.start(), "the parameter of a closure is called `it`: name what it is"
    for found in MATCH.finditer(code):
        yield found.start(), "a match on a bool is an if"


def dialect_in_tree():
    """The findings of `dialect` in all Rust of the repository."""
    for folder in ("crates", "examples", "tests", "lab"):
        for path in sorted((ROOT / folder).rglob("*.rs")):
            if "target" not in path.relative_to(ROOT).parts:
                source = path.read_text()
                for position, line in dialect(path.name, source):
                    yield f"{path.relative_to(ROOT)}:{source.count(chr(10), 0, position) + 1}: {line}"


def self_test():
    """Each kind of finding is found."""
    found = {"Spend": ["a.rs"], "Twice": ["a.rs", "b.rs"], "Permit": ["a.rs"]}
    lines = list(findings(found, set(), {"Spend": "ChargeHandle"}))
    assert any("Spend" in line for line in lines), lines
    assert any("Twice" in line for line in lines), lines
    assert not any("Permit" in line for line in lines), lines
    assert any("label" in line for line in lines), lines
    page = "`nobody`\n```\nnobody\n```\n[a](nobody.md)\nWhoever\n**Who waits.** A visitor"
    lines = list(vague("docs/design/001.md", prose(page)))
    assert [line.split(":")[1] for line in lines] == ["6", "7"], lines
    source = 'let text = "Nobody"; // Nobody waits.\n--- anybody\nlet url = "http://nobody";'
    lines = list(vague("a.rs", comments(source)))
    assert [line.split(":")[1] for line in lines] == ["1", "2"], lines
    for good in [
        "#[test]\nfn dropping_the_body_frees_the_slot() {}",
        "#[test]\nfn a_whole_room_is_somewhat_full() {}",
        "fn who_is_no_test() {}",
        "let (a, b) = split();",
        "let (a, b) = (x + y).split();",
        'let text = "let (a, b) = (x, y);";',
        "if let (Some(a), Some(b)) = (x, y) {}",
        "// |it| let (a, b) = (x, y);",
        "list.map(|item| item.it(a | b))",
        'let text = "|it|";',
        "match first { Some(true) => 1, _ => 2 }",
        "match both { (true, false) => 1, _ => 2 }",
    ]:
        assert not list(dialect("a.rs", good)), good
    for bad in [
        "#[test]\nfn only_so_many_wait_at_a_time() {}",
        "#[tokio::test(start_paused = true)]\nasync fn nobody_waits() {}",
        "#[test]\n// Why.\n#[ignore]\nfn what_is_wrong_is_named() {}",
        "    #[test]\n    fn a_visitor_who_waits() {}",
        "    let (a, mut b) = (f(x, y), z);",
        "let (a, b): (u8, u8) = (\n    1,\n    2,\n);",
        "/// let (a, b) = (1, 2);",
        "    (room.active, b) = (f(x), None);",
        "/// list.map(|it| it + 1)",
        "list.map(|it| it + 1)",
        "list.map(|(_, it)| it + 1)",
        "list.fold(0, |sum, it| sum + it)",
        "let is_one = |it: &u8| *it == 1;",
        "match is_one { true => 1, false => 2 }",
        "match a.b(c) {\n    false => 1,\n    true => 2,\n}",
    ]:
        assert len(list(dialect("a.rs", bad))) == 1, bad


if sys.argv[1:] == ["--self-test"]:
    self_test()
    sys.exit()
words, retired = glossary()
assert retired, "docs/glossary.md lists retired words"
problems = [*findings(types(), words, retired), *vague_in_tree(), *dialect_in_tree()]
print("\n".join(problems) or f"{len(words)} words, {len(retired)} retired, no second word")
sys.exit(1 if problems else 0)
