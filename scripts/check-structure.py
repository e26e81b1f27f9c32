#!/usr/bin/env python3
"""Checks the dependencies between the files of this workspace, and their lengths.

    scripts/check-structure.py [ROOT] [--only circles,arrows,crates,sizes,mod-files]
    scripts/check-structure.py --self-test

The exit status is 1 if anything is wrong, and each finding names its files.

circles    No two files of a crate may depend on each other, directly or through others. An arrow
           goes from the file that uses a name to the file that defines it. `use` lines and the paths
           in the code are read. Re-exports (`pub use`, `pub(crate) use`) are followed to the
           definition and are not arrows themselves, nor are `mod` lines.
arrows     The top-level modules of a crate are its places. A place with a row in `ALLOWED` may use
           only the places of its row; in every crate, the graph of the places has no circle.
crates     `OWN_DEPENDENCIES` lists which crates of the workspace a published crate may depend on.
sizes      Files have at most 500 lines and functions at most 70, and fewer than one file in ten
           has less than 60 lines.
mod-files  A module `name` is in `name.rs`, not in `name/mod.rs`.

Only production code counts: `src/` without `tests.rs`, without folders `tests/`, and without items
behind `#[cfg(test)]`. Lines of tests do not count as lines of their file either.

This is not a compiler: method calls (`x.verb()`) and names that macros create are not seen. A file
that calls a method without ever naming the type has no arrow to it.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

# The places that each place may use, by crate. The root of a crate (`lib.rs`, `main.rs`) is the
# place `root`. A place without a row may use any other, as long as there is no circle.

# The layers of tower-waiting-room, the lowest first. The stages do not depend on each other.
_GROUND = {"ambient", "misconfiguration", "rate_headers", "request", "telemetry"}
_STAGES = _GROUND | {"token", "rate", "room", "gate"}
_PIPELINE = _STAGES | {"respond", "rules_file", "config", "pipeline"}

ALLOWED: dict[str, dict[str, set[str]]] = {
    "tower-waiting-room": {
        "ambient": set(),
        "misconfiguration": set(),
        "rate_headers": set(),
        "telemetry": {"misconfiguration"},
        "request": {"ambient", "misconfiguration"},
        "token": {"ambient"},
        "rate": _GROUND,
        "room": _GROUND | {"token"},
        "gate": _GROUND,
        "respond": _STAGES,
        "rules_file": _GROUND | {"rate"},
        "config": _STAGES | {"respond", "rules_file"},
        "pipeline": _PIPELINE - {"pipeline"},
        "body": {"gate"},
        "future": _PIPELINE | {"body"},
        "for_axum": {"body"},
        "service": _PIPELINE | {"body", "for_axum", "future"},
        "handle": _PIPELINE,
        "layer": _PIPELINE | {"for_axum", "handle", "service"},
        "routes": _PIPELINE | {"for_axum", "layer", "service"},
        "root": _PIPELINE | {"body", "for_axum", "future", "handle", "layer", "routes", "service"},
    },
    "waiting-room-core": {
        "error": set(),
        "sync": set(),
        "time": {"error", "sync"},
        "rate": {"error", "sync", "time"},
        "gate": {"error", "sync", "time"},
        "room": {"error", "gate", "rate", "sync", "time"},
        "store": {"error", "gate", "rate", "room", "sync", "time"},
        "memory": {"error", "gate", "rate", "room", "store", "sync", "time"},
    },
}

# The crates of this workspace that a published crate may have under [dependencies].
OWN_DEPENDENCIES: dict[str, set[str]] = {
    "tower-waiting-room": {"waiting-room-core"},
    "waiting-room-cloudflare": {"tower-waiting-room", "waiting-room-core"},
    "waiting-room-core": set(),
    "waiting-room-dashboard": {"tower-waiting-room", "waiting-room-core"},
    "waiting-room-redis": {"waiting-room-core"},
    "waiting-room-sim": {"waiting-room-core"},
    "waiting-room-test": {"tower-waiting-room", "waiting-room-core"},
}

FILE_LINES = 500
FUNCTION_LINES = 70
SHORT_FILE_LINES = 60
SHORT_FILES_PERCENT = 10

# --- Tokens ---------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<line_comment>//[^\n]*)
  | (?P<block_comment>/\*)
  | (?P<raw_string>(?:b|c)?r(?P<hashes>\#*)".*?"(?P=hashes))
  | (?P<string>(?:b|c)?"(?:\\.|[^"\\])*")
  | (?P<char>b?'(?:\\(?:u\{[^}]*\}|x[0-9a-fA-F]{2}|.)|[^'\\])')
  | (?P<lifetime>'(?:r\#)?\w+)
  | (?P<name>(?:r\#)?[A-Za-z_]\w*)
  | (?P<number>\d(?:[\w]|\.(?=\d))*)
  | (?P<sign>::|\.\.=|\.\.\.|\.\.|=>|->|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_OPENING = {"(": ")", "[": "]", "{": "}"}
_CLOSING = set(_OPENING.values())


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    line: int


def tokens_of(source: str) -> list[Token]:
    """Returns the tokens of a Rust file, without comments and whitespace."""
    tokens: list[Token] = []
    at, line = 0, 1
    while at < len(source):
        match = _TOKEN.match(source, at)
        assert match is not None and match.lastgroup is not None
        kind = match.lastgroup
        end = _end_of_block_comment(source, at) if kind == "block_comment" else match.end()
        if kind not in ("space", "line_comment", "block_comment"):
            tokens.append(Token(kind, match[0].removeprefix("r#") if kind == "name" else match[0], line))
        if kind not in ("name", "sign"):
            line += source.count("\n", at, end)
        at = end
    return tokens


def _end_of_block_comment(source: str, at: int) -> int:
    """Returns the end of the comment that starts at `at`. Block comments nest in Rust."""
    depth = 0
    for mark in re.finditer(r"/\*|\*/", source[at:]):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return at + mark.end()
    return len(source)


def closing(tokens: list[Token], at: int) -> int:
    """Returns the index of the bracket that closes the one at `at`."""
    depth = 0
    for index in range(at, len(tokens)):
        if tokens[index].kind == "sign":
            if tokens[index].text in _OPENING:
                depth += 1
            elif tokens[index].text in _CLOSING:
                depth -= 1
                if depth == 0:
                    return index
    return len(tokens) - 1


# --- What stands behind #[cfg(test)] --------------------------------------------------------------


def production(tokens: list[Token]) -> tuple[list[Token], list[tuple[int, int]]]:
    """Returns the tokens without test items, and the first and last line of each dropped range."""
    kept: list[Token] = []
    dropped: list[tuple[int, int]] = []
    at = 0
    while at < len(tokens):
        if not _starts_attribute(tokens, at):
            kept.append(tokens[at])
            at += 1
            continue
        start, inner, only_tests = at, tokens[at + 1].text == "!", False
        while _starts_attribute(tokens, at):
            bracket = at + 1 if tokens[at + 1].text == "[" else at + 2
            end = closing(tokens, bracket)
            only_tests = only_tests or _is_only_for_tests(tokens[bracket + 1 : end])
            at = end + 1
            if inner:
                break
        if not only_tests:
            kept.extend(tokens[start:at])
            continue
        at = len(tokens) if inner else _end_of_item(tokens, at)
        dropped.append((tokens[start].line, tokens[min(at, len(tokens)) - 1].line))
    return kept, dropped


def _starts_attribute(tokens: list[Token], at: int) -> bool:
    if at >= len(tokens) or tokens[at].text != "#":
        return False
    following = "".join(token.text for token in tokens[at : at + 3])
    return following.startswith(("#[", "#!["))


def _is_only_for_tests(attribute: list[Token]) -> bool:
    if len(attribute) < 3 or attribute[0].text != "cfg":
        return False
    return _holds_without_tests(attribute[2:-1]) is False


def _holds_without_tests(condition: list[Token]) -> bool | None:
    """Returns whether a `cfg` condition holds in a build without tests; None if that depends."""
    if len(condition) == 1:
        return False if condition[0].text == "test" else None
    if len(condition) < 3 or condition[1].text != "(":
        return None
    parts = [_holds_without_tests(part) for part in _split(condition[2:-1]) if part]
    match condition[0].text:
        case "all":
            return False if False in parts else None
        case "any":
            return False if all(part is False for part in parts) else None
        case "not" if parts and parts[0] is not None:
            return not parts[0]
    return None


def _split(tokens: list[Token]) -> Iterator[list[Token]]:
    """Yields the parts between the commas that are outside of brackets."""
    part: list[Token] = []
    depth = 0
    for token in tokens:
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        if token.text == "," and depth == 0:
            yield part
            part = []
        else:
            part.append(token)
    yield part


_ITEMS = set(
    "async const enum extern fn impl let macro_rules mod static struct trait type union unsafe use".split()
)
_ENDED_BY_SEMICOLON = set("const let static type use".split())


def _end_of_item(tokens: list[Token], at: int) -> int:
    """Returns the index behind the item, field, arm or statement that starts at `at`."""
    keyword = at
    if tokens[at].text == "pub":
        keyword = closing(tokens, at + 1) + 1 if tokens[at + 1].text == "(" else at + 1
    is_item = tokens[keyword].text in _ITEMS
    is_function = tokens[keyword + 1].text in ("async", "extern", "fn", "unsafe")
    semicolon_only = tokens[keyword].text in _ENDED_BY_SEMICOLON and not is_function
    while at < len(tokens):
        text = tokens[at].text if tokens[at].kind == "sign" else ""
        if text in _CLOSING:
            return at
        if text == ";" or (text == "," and not is_item):
            return at + 1
        if text in _OPENING:
            at = closing(tokens, at)
            if text == "{" and not semicolon_only:
                follows_comma = not is_item and at + 1 < len(tokens) and tokens[at + 1].text == ","
                return at + 2 if follows_comma else at + 1
        at += 1
    return at


# --- Modules --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Use:
    """One leaf of a `use` tree: a name, possibly under an alias, or all names (`*`)."""

    path: tuple[str, ...]
    alias: str
    public: bool


@dataclass(frozen=True, slots=True)
class Definition:
    file: str
    name: str
    # Whether a path can continue behind it: true for types and traits, false for other items.
    is_type: bool


@dataclass(eq=False)
class Module:
    file: str
    parent: Module | None
    # The folder that contains its child modules.
    folder: PurePosixPath
    children: dict[str, Module] = field(default_factory=dict)
    defined: set[Definition] = field(default_factory=set)
    uses: list[Use] = field(default_factory=list)
    # The paths in its code, except for `use` lines.
    paths: set[tuple[str, ...]] = field(default_factory=set)

    def tree(self) -> Iterator[Module]:
        yield self
        for child in self.children.values():
            yield from child.tree()


_TYPES = set("enum struct trait type union".split())
_NAMED_ITEMS = _TYPES | set("const fn static".split())


class Reader:
    """Turns files into modules, starting from the root of a crate, and reads each file once."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files
        self.functions: dict[str, list[tuple[str, int, int]]] = {}
        self.lines: dict[str, int] = {}

    def root(self, file: str) -> Module:
        module = Module(file, None, PurePosixPath(file).parent)
        self._read_file(module)
        return module

    def _read_file(self, module: Module) -> None:
        source = self.files[module.file]
        tokens, dropped = production(tokens_of(source))
        of_tests = sum(last - first + 1 for first, last in dropped)
        self.lines[module.file] = source.count("\n") - of_tests
        self.functions[module.file] = list(functions(tokens))
        self._read(module, tokens)

    def _read(self, module: Module, tokens: list[Token]) -> None:
        at, depth = 0, 0
        while at < len(tokens):
            token = tokens[at]
            before = tokens[at - 1].text if at else ""
            following = tokens[at + 1] if at + 1 < len(tokens) else Token("sign", "", 0)
            depth += (token.text in _OPENING and token.kind == "sign")
            depth -= (token.text in _CLOSING and token.kind == "sign")
            if token.kind != "name" or before == ".":
                at += 1
            elif token.text == "use" and before != "<" and before != "+":
                end = next(i for i in range(at, len(tokens)) if tokens[i].text == ";")
                module.uses.extend(_leaves(tokens[at + 1 : end], (), public=before in ("pub", ")")))
                at = end + 1
            elif token.text == "mod" and following.kind == "name":
                at = self._read_child(module, tokens, at + 1)
            elif token.text == "macro_rules" and following.text == "!":
                module.defined.add(Definition(module.file, tokens[at + 2].text, is_type=False))
                at += 3
            elif token.text in _NAMED_ITEMS and following.kind == "name" and before not in ("<", ",", "*"):
                if following.text in _NAMED_ITEMS or following.text in ("unsafe", "async", "extern"):
                    at += 1
                    continue
                if depth == 0:
                    module.defined.add(Definition(module.file, following.text, token.text in _TYPES))
                at += 2
            else:
                end = _end_of_path(tokens, at)
                path = tuple(part.text for part in tokens[at:end:2])
                if not _is_binding(tokens, at, end):
                    is_global = before == "::" and at > 1 and tokens[at - 2].kind == "sign"
                    module.paths.add(("::", *path) if is_global else path)
                at = end

    def _read_child(self, module: Module, tokens: list[Token], at: int) -> int:
        """Reads `name;` or `name { .. }` and returns the index behind it."""
        name = tokens[at].text
        if tokens[at + 1].text == "{":
            end = closing(tokens, at + 1)
            child = Module(module.file, module, module.folder / name)
            module.children[name] = child
            self._read(child, tokens[at + 2 : end])
            return end + 1
        for file in (module.folder / f"{name}.rs", module.folder / name / "mod.rs"):
            if str(file) in self.files and not is_test(str(file)):
                child = Module(str(file), module, module.folder / name)
                module.children[name] = child
                self._read_file(child)
        return at + 2


def _end_of_path(tokens: list[Token], at: int) -> int:
    at += 1
    while at + 1 < len(tokens) and tokens[at].text == "::" and tokens[at + 1].kind == "name":
        at += 2
    return at


def _is_binding(tokens: list[Token], at: int, end: int) -> bool:
    """Returns whether a single name is that of a local, a field or an argument, not of an item."""
    if end - at > 1 or not tokens[at].text[0].islower():
        return False
    before = tokens[at - 1].text if at else ""
    after = tokens[end].text if end < len(tokens) else ""
    return before in ("let", "mut", "ref", "for") or after in (":", "=")


def _leaves(tree: list[Token], prefix: tuple[str, ...], *, public: bool) -> Iterator[Use]:
    """Yields the leaves of a `use` tree."""
    path, at = list(prefix), 0
    if not prefix and tree[0].text == "::":
        path.append("::")
    while at < len(tree):
        token = tree[at]
        if token.text == "{":
            for part in _split(tree[at + 1 : closing(tree, at)]):
                if part:
                    yield from _leaves(part, tuple(path), public=public)
            return
        if token.text == "*":
            yield Use(tuple(path), "*", public)
            return
        if token.text == "as":
            yield Use(tuple(path), tree[at + 1].text, public)
            return
        if token.kind == "name" and not (token.text == "self" and path):
            path.append(token.text)
        at += 1
    yield Use(tuple(path), path[-1], public)


def functions(tokens: list[Token]) -> Iterator[tuple[str, int, int]]:
    """Yields the name, the line and the number of lines of each function with a body."""
    for at, token in enumerate(tokens[:-1]):
        if token.text != "fn" or token.kind != "name" or tokens[at + 1].kind != "name":
            continue
        end = at
        while end < len(tokens) and tokens[end].text not in ("{", ";"):
            end = closing(tokens, end) + 1 if tokens[end].text in ("(", "[") else end + 1
        if end < len(tokens) and tokens[end].text == "{":
            last = tokens[closing(tokens, end)].line
            yield tokens[at + 1].text, token.line, last - token.line + 1


def is_test(file: str) -> bool:
    """Returns whether a file in `src/` contains tests."""
    inside = file.partition("/src/")[2]
    path = PurePosixPath(inside)
    return path.name == "tests.rs" or "tests" in path.parent.parts


# --- From names to definitions --------------------------------------------------------------------

Target = Module | Definition
# The names that are already being resolved, so that circular re-exports terminate.
Seen = frozenset[tuple[int, str]]


class Names:
    """Resolves paths, in the crate whose library has the root `library`."""

    def __init__(self, crate: str, library: Module | None) -> None:
        self.crate = crate.replace("-", "_")
        self.library = library

    def path(self, module: Module, path: tuple[str, ...], seen: Seen = frozenset()) -> set[Target]:
        """Returns every target of a path: a module and a function may have the same name."""
        if not path or path[0] == "::":
            return set()
        targets = self._first(module, path[0], seen)
        for name in path[1:]:
            following: set[Target] = set()
            for target in targets:
                if isinstance(target, Definition):
                    # The rest is a variant of an enum, or an associated item.
                    following |= {target} if target.is_type else set()
                elif name == "super":
                    following |= {target.parent} if target.parent else set()
                else:
                    following |= self._name(target, name, seen)
            targets = following
        return targets

    def _first(self, module: Module, name: str, seen: Seen) -> set[Target]:
        if name == "crate":
            while module.parent:
                module = module.parent
            return {module}
        if name == "self":
            return {module}
        if name == "super":
            return {module.parent} if module.parent else set()
        found = self._name(module, name, seen)
        if not found and name == self.crate and self.library:
            return {self.library}
        return found

    def _name(self, module: Module, name: str, seen: Seen) -> set[Target]:
        if (id(module), name) in seen:
            return set()
        seen |= {(id(module), name)}
        found: set[Target] = {definition for definition in module.defined if definition.name == name}
        if name in module.children:
            found.add(module.children[name])
        for use in module.uses:
            if use.alias == name:
                found |= self.path(module, use.path, seen)
        if not found:
            for use in module.uses:
                if use.alias == "*":
                    for target in self.path(module, use.path, seen):
                        if isinstance(target, Module):
                            found |= self._name(target, name, seen)
        return found


# --- Crates ---------------------------------------------------------------------------------------

# From file to file, with the names that cause the arrow.
Arrows = dict[str, dict[str, set[str]]]


@dataclass
class Crate:
    name: str
    folder: str
    manifest: dict
    reader: Reader
    arrows: Arrows

    def short(self, file: str) -> str:
        return file.removeprefix(f"{self.folder}/src/")

    def place(self, file: str) -> str:
        """Returns the top-level module that a file belongs to."""
        first = self.short(file).partition("/")[0].removesuffix(".rs")
        return "root" if first in ("bin", "lib", "main") else first


def read_crates(files: dict[str, str]) -> list[Crate]:
    """Reads the crates of a workspace, given as its files: path and text."""
    crates = []
    for path, text in sorted(files.items()):
        if not re.fullmatch(r"(crates/[^/]+|examples/[^/]+|tests)/Cargo\.toml", path):
            continue
        folder = path.removesuffix("/Cargo.toml")
        manifest = tomllib.loads(text)
        crates.append(_read_crate(manifest["package"]["name"], folder, manifest, files))
    return crates


def _read_crate(name: str, folder: str, manifest: dict, files: dict[str, str]) -> Crate:
    reader = Reader(files)
    roots = [file for file in files if re.fullmatch(re.escape(folder) + r"/src/(lib|main|bin/[^/]+)\.rs", file)]
    modules = {file: reader.root(file) for file in sorted(roots)}
    names = Names(name, modules.get(f"{folder}/src/lib.rs"))
    arrows: Arrows = defaultdict(lambda: defaultdict(set))
    for root in modules.values():
        for module in root.tree():
            for path in used_paths(module):
                for target in names.path(module, path):
                    if isinstance(target, Definition) and target.file != module.file:
                        arrows[module.file][target.file].add(target.name)
    return Crate(name, folder, manifest, reader, arrows)


def used_paths(module: Module) -> Iterator[tuple[str, ...]]:
    """Yields the paths that a module depends on: its own imports, and the paths in its code."""
    for use in module.uses:
        if not use.public:
            yield use.path
    yield from module.paths


# --- Checks ---------------------------------------------------------------------------------------


def circles_in(graph: dict[str, set[str]]) -> list[list[str]]:
    """Returns the strongly connected components of more than one node (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for following in sorted(graph.get(node, ())):
            if following not in index:
                visit(following)
                low[node] = min(low[node], low[following])
            elif following in stack:
                low[node] = min(low[node], index[following])
        if low[node] == index[node]:
            component = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found)


def check_circles(crate: Crate) -> Iterator[str]:
    graph = {file: set(targets) for file, targets in crate.arrows.items()}
    for circle in circles_in(graph):
        lines = [f"{crate.name}: {len(circle)} files in a circle"]
        for file in circle:
            for target in sorted(graph[file] & set(circle)):
                names = ", ".join(sorted(crate.arrows[file][target]))
                lines.append(f"    {crate.short(file)} -> {crate.short(target)} ({names})")
        yield "\n".join(lines)


def check_arrows(crate: Crate) -> Iterator[str]:
    rows = ALLOWED.get(crate.name, {})
    graph: dict[str, set[str]] = defaultdict(set)
    causes: dict[tuple[str, str], list[str]] = defaultdict(list)
    for file, targets in sorted(crate.arrows.items()):
        for target, names in sorted(targets.items()):
            place, used = crate.place(file), crate.place(target)
            if place == used:
                continue
            cause = f"    {crate.short(file)} -> {crate.short(target)} ({', '.join(sorted(names))})"
            if place in rows and used not in rows[place]:
                # Reported here, so it is not part of a circle of places below.
                yield f"{crate.name}: {place} may not use {used}\n{cause}"
                continue
            graph[place].add(used)
            causes[place, used].append(cause)
    for circle in circles_in(graph):
        lines = [f"{crate.name}: the places {', '.join(circle)} are a circle"]
        for place in circle:
            for used in sorted(graph[place] & set(circle)):
                lines.extend(causes[place, used])
        yield "\n".join(lines)


def check_crates(crates: list[Crate]) -> Iterator[str]:
    ours = {crate.name for crate in crates}
    for crate in crates:
        allowed = OWN_DEPENDENCIES.get(crate.name)
        if allowed is None:
            continue
        for name in sorted((_dependencies(crate.manifest) & ours) - allowed):
            yield f"{crate.name}: may not depend on {name}"


def _dependencies(manifest: dict) -> set[str]:
    """Returns the dependencies of a crate that its users need, for any target."""
    tables = [manifest, *manifest.get("target", {}).values()]
    found = set()
    for table in tables:
        for kind in ("dependencies", "build-dependencies"):
            for name, details in table.get(kind, {}).items():
                found.add(details.get("package", name) if isinstance(details, dict) else name)
    return found


def check_sizes(crate: Crate) -> Iterator[str]:
    lines = crate.reader.lines
    for file, count in sorted(lines.items()):
        if count > FILE_LINES:
            yield f"{crate.name}: {crate.short(file)} has {count} lines, at most {FILE_LINES}"
    for file, functions_of_file in sorted(crate.reader.functions.items()):
        for name, line, count in functions_of_file:
            if count > FUNCTION_LINES:
                where = f"{crate.short(file)}:{line} {name}"
                yield f"{crate.name}: {where} has {count} lines, at most {FUNCTION_LINES}"
    short = sorted(file for file, count in lines.items() if count < SHORT_FILE_LINES)
    if lines and len(short) * 100 >= SHORT_FILES_PERCENT * len(lines):
        bound = f"{SHORT_FILE_LINES} lines, below {SHORT_FILES_PERCENT} % is wanted"
        listed = "\n".join(f"    {crate.short(file)} ({lines[file]})" for file in short)
        yield f"{crate.name}: {share(crate)} have less than {bound}\n{listed}"


def share(crate: Crate) -> str:
    lines = crate.reader.lines
    short = sum(count < SHORT_FILE_LINES for count in lines.values())
    return f"{short} of {len(lines)} files ({100 * short / max(len(lines), 1):.0f} %)"


def check_mod_files(files: Iterable[str]) -> Iterator[str]:
    for file in sorted(files):
        if PurePosixPath(file).name == "mod.rs":
            yield f"{file}: is to be {PurePosixPath(file).parent}.rs"


def findings(files: dict[str, str], crates: list[Crate]) -> dict[str, list[str]]:
    """Returns all findings, by the name of the check."""

    def each(check: Callable[[Crate], Iterator[str]]) -> list[str]:
        return [finding for crate in crates for finding in check(crate)]

    return {
        "circles": each(check_circles),
        "arrows": each(check_arrows),
        "crates": list(check_crates(crates)),
        "sizes": each(check_sizes),
        "mod-files": list(check_mod_files(files)),
    }


def load(root: Path) -> dict[str, str]:
    """Loads the Rust files and manifests of all crates, by their paths below the root."""
    files = {}
    for part in ("crates", "examples", "tests", "lab"):
        for path in sorted((root / part).rglob("*")):
            inside = path.relative_to(root)
            if path.suffix == ".rs" or path.name == "Cargo.toml":
                if not {"target", "node_modules"} & set(inside.parts):
                    files[inside.as_posix()] = path.read_text(encoding="utf-8")
    return files


# --- Tests of this script -------------------------------------------------------------------------

_LIB = "crates/it/src/lib.rs"
_LONG = "fn long() {\n" + "    ();\n" * 69 + "}\n"

# The case, the files of a crate below `src/`, and the expected findings.
SELF_TESTS: list[tuple[str, dict[str, str], dict[str, list[str]]]] = [
    (
        "a circle through a re-export",
        {
            "lib.rs": "mod a;\nmod b;",
            "a.rs": "mod deep;\npub(crate) use deep::{A};\npub(crate) use self::deep::helper as help;",
            "a/deep.rs": "use crate::b::B;\npub struct A(B);\npub fn helper() {}",
            "b.rs": "use super::a;\npub struct B;\nimpl B { fn go() { a::help(); } fn make(_: a::A) {} }",
        },
        {
            "circles": ["it: 2 files in a circle\n    a/deep.rs -> b.rs (B)\n    b.rs -> a/deep.rs (A, helper)"],
            "arrows": ["it: the places a, b are a circle\n    a/deep.rs -> b.rs (B)\n    b.rs -> a/deep.rs (A, helper)"],
        },
    ),
    (
        "a nested use tree with self, several lines and `super::super`",
        {
            "lib.rs": "mod a;\nmod b;",
            "a.rs": "pub mod c;\npub struct A;",
            "a/c.rs": "use super::super::{\n    b::{self, inner::{Deep, Other as Renamed}},\n};\npub struct C(Deep, Renamed, b::B);",
            "b.rs": "pub mod inner;\npub struct B;",
            "b/inner.rs": "pub struct Deep;\npub struct Other;\nfn f(_: crate::a::c::C) {}",
        },
        {
            "circles": ["it: 2 files in a circle\n    a/c.rs -> b/inner.rs (Deep, Other)\n    b/inner.rs -> a/c.rs (C)"],
            "arrows": ["it: the places a, b are a circle\n    a/c.rs -> b.rs (B)\n    a/c.rs -> b/inner.rs (Deep, Other)\n    b/inner.rs -> a/c.rs (C)"],
        },
    ),
    (
        "imports of tests do not count",
        {
            "lib.rs": "mod a;\nmod b;\n#[cfg(all(test, unix))]\nmod only;",
            "a.rs": "pub struct A;\n#[cfg(test)]\nuse crate::b::B;\n#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}",
            "b.rs": "use crate::a::A;\n"
            "pub struct B(A);\n"
            "#[cfg(not(test))]\nfn f() {}\n"
            "pub struct C { #[cfg(test)] pub(crate) first: u8, pub second: u8 }\n"
            "#[cfg(test)]\npub(crate) const fn g() { crate::only::f() }",
            "only.rs": "use crate::a::A;\n" + "fn f() {}\n" * 600,
        },
        {},
    ),
    (
        "a glob brings only the names that are used",
        {
            "lib.rs": "mod a;\nmod b;\nmod c;\nmod kinds;",
            "kinds.rs": "pub use crate::{a::A, b::B};",
            "a.rs": "pub struct A;",
            "b.rs": "pub struct B(crate::c::C);",
            "c.rs": "use crate::kinds::*;\npub struct C(A);",
        },
        {},
    ),
    (
        "comments, strings, lifetimes and variants are no paths, inline modules are",
        {
            "lib.rs": "mod a;\nmod b;",
            "a.rs": "pub enum A { X }\n/* crate::b::B /* nested */ crate::b::B */\nfn f<'b>(_: &'b str) -> &'static str { r#\"crate::b::B \"{\"#; \"\\\"{crate::b::B}\" }",
            "b.rs": "mod inside { pub(super) fn f() { let _ = '{'; super::super::a::A::X; } }\nuse crate::a::A::{self, X};\npub struct B;",
        },
        {},
    ),
    (
        "a function of 71 lines, with braces in strings and characters",
        {"lib.rs": _LONG.replace("    ();\n", '    let _ = ("}", \'}\', r#""}"#, b\'{\');\n', 1)},
        {"sizes": ["it: lib.rs:1 long has 71 lines, at most 70"]},
    ),
    ("a function of 70 lines", {"lib.rs": _LONG.replace("    ();\n", "", 1)}, {}),
    ("a file of 501 lines", {"lib.rs": "//\n" * 501}, {"sizes": ["it: lib.rs has 501 lines, at most 500"]}),
    (
        "a file that is mostly tests",
        {"lib.rs": "//\n" * 400 + "#[cfg(test)]\nmod tests {\n" + "//\n" * 400 + "}\n"},
        {},
    ),
    ("a module in mod.rs", {"lib.rs": "mod a;", "a/mod.rs": ""}, {"mod-files": ["crates/it/src/a/mod.rs: is to be crates/it/src/a.rs"]}),
]


def self_test() -> int:
    failed = 0

    def compare(name: str, found: object, expected: object) -> None:
        nonlocal failed
        if found != expected:
            failed += 1
            print(f"FAILED: {name}\n  expected {expected!r}\n  found    {found!r}")

    for name, sources, expected in SELF_TESTS:
        files = {f"crates/it/src/{file}": text for file, text in sources.items()}
        files["crates/it/Cargo.toml"] = '[package]\nname = "it"'
        found = {
            # A small crate has only short files.
            check: [finding for finding in of_check if "have less than" not in finding]
            for check, of_check in findings(files, read_crates(files)).items()
        }
        compare(name, {check: of_check for check, of_check in found.items() if of_check}, expected)

    layered = {
        "crates/core/Cargo.toml": '[package]\nname = "waiting-room-core"\n[dependencies]\ntower-waiting-room.workspace = true',
        "crates/core/src/lib.rs": "mod room;\nmod time;",
        "crates/core/src/room.rs": "use crate::time::Clock;\npub struct Room(Clock);\npub struct Other;",
        "crates/core/src/time.rs": "pub struct Clock;\nfn f(_: crate::room::Other) {}",
        "crates/layer/Cargo.toml": '[package]\nname = "tower-waiting-room"\n[dev-dependencies]\nwaiting-room-core.workspace = true',
    }
    found = findings(layered, read_crates(layered))
    compare("an arrow up", found["arrows"], ["waiting-room-core: time may not use room\n    time.rs -> room.rs (Other)"])
    compare("a crate that must not be used", found["crates"], ["waiting-room-core: may not depend on tower-waiting-room"])
    short = findings(layered, read_crates(layered))["sizes"][0].splitlines()[0]
    compare("short files", short, "waiting-room-core: 3 of 3 files (100 %) have less than 60 lines, below 10 % is wanted")
    for crate, rows in ALLOWED.items():
        graph = {place: used - {place} for place, used in rows.items()}
        between_floors = [circle for circle in circles_in(graph) if not set(circle) <= _GROUND]
        compare(f"the rows of {crate} have no circle", between_floors, [])

    print(f"{len(SELF_TESTS) + 3 + len(ALLOWED)} tests, {failed} failed")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--only", default="", help="names of checks, with commas between them")
    parser.add_argument("--self-test", action="store_true", help="check this script instead")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    files = load(arguments.root)
    crates = read_crates(files)
    found = findings(files, crates)
    only = [name for name in arguments.only.split(",") if name] or list(found)
    if unknown := sorted(set(only) - set(found)):
        parser.error(f"there is no check {', '.join(unknown)}; there are {', '.join(found)}")
    if "sizes" in only:
        for crate in crates:
            print(f"{crate.name}: {share(crate)} have less than {SHORT_FILE_LINES} lines")
    for name in only:
        for finding in found[name]:
            print(f"\n{name}: {finding}")
    count = sum(len(found[name]) for name in only)
    print(f"\n{count} findings" if count else "\nnothing found")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
