#!/usr/bin/env python3
"""Checks the lengths of files, and the arrows between the files of a crate. Clippy has `too_many_lines` for functions.

A file of production code has at most 500 lines without its tests, and fewer than one file in ten of a crate of the
product has less than 60. No files of a crate name items of each other, directly or through others; a re-export (`pub
use`) is followed to the definition, and is no arrow itself. The top-level modules of the crates in `TIERS` name only
items of lower tiers. Methods are not seen: `x.verb()` is no arrow to the file of the type. cargo-modules could find
circles, but 0.25, the last one for our toolchain, calls cargo with an option that it does not have (`--lockfile-
path`), and takes minutes to build.
"""
import collections
import graphlib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The lowest first. The modules of a tier do not name each other.
TIERS = {
    "tower-waiting-room": "ambient misconfiguration rate_headers < telemetry request < token < rate room gate"
    " < respond rules_file < config < pipeline < body < for_axum future < handle service < layer < routes < lib",
    "waiting-room-core": "error sync < time < rate gate < room < store < memory < lib",
}
# Comments and literals, in which nothing is code, and items that only tests have.
NO_CODE = re.compile(r'//[^\n]*|\br(#*)".*?"\1|"(?:\\.|[^"\\])*"|b?\'(?:\\[^\n]*?|[^\'\\\n])\'', re.DOTALL)
OF_TESTS = re.compile(
    r"(?ms)^( *)#\[cfg\((?:test|any\(test|all\(test)\b[^\n]*\n(?:\1[#)][^\n]*\n)*(?:[^\n]*\{\n.*?^\1\}|.*?[;,]$)"
)
DEFINED = re.compile(
    r"(?m)^(?:pub(?:\([^)]*\))? )?(?:async |const |unsafe )*(?:struct|enum|trait|fn|type|static|const|macro_rules!) (\w+)"
)
USE = re.compile(r"(?m)^ *(pub(?:\([^)]*\))? )?use ([^;]+);")
PATH = re.compile(r"(?<![.\w])[A-Za-z_]\w*(?:::\w+)*")


def leaves(tree, above=()):
    """The paths of a `use` tree, each with the name that it brings."""
    head, _, group = tree.partition("{")
    path = [*above, *re.findall(r"[\w*]+", head.partition(" as ")[0])]
    if not group:
        if len(path) > 1 and path[-1] == "self":
            path.pop()
        yield head.partition(" as ")[2].strip() or path[-1], path
        return
    for part in re.findall(r"[^,{}]+(?:\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})?", group.rpartition("}")[0]):
        if part.strip():
            yield from leaves(part.strip(), path)


def modules(file, name=(), found=None):
    """The modules of a crate by their paths: the file, its lines, its own items, its imports, and the paths in its code."""
    found = {} if found is None else found
    text = OF_TESTS.sub("", file.read_text())
    code = NO_CODE.sub("", text)
    imports = [(public, *leaf) for public, tree in USE.findall(code) for leaf in leaves(" ".join(tree.split()))]
    paths = [path.split("::") for path in PATH.findall(USE.sub("", code))]
    paths += [path for public, _, path in imports if not public]
    found[name] = (file, text.count("\n"), set(DEFINED.findall(code)), imports, paths)
    folder = file.parent if file.name in ("lib.rs", "main.rs") else file.with_suffix("")
    for child in re.findall(r"(?m)^ *(?:pub(?:\([^)]*\))? )?mod (\w+);", code):
        if (below := folder / f"{child}.rs").exists():
            modules(below, (*name, child), found)
    return found


def definition(crate, at, path, seen=frozenset()):
    """The file that defines what a path names in a module, or nothing."""
    for index, name in enumerate(path):
        _, _, items, imports, _ = crate[at]
        if name in ("crate", "self", "super"):
            at = {"crate": (), "self": at, "super": at[:-1]}[name]
        elif (*at, name) in crate:
            at = (*at, name)
        elif name in items:
            return crate[at][0]
        else:
            rest = path[index:]
            targets = [target + rest[1:] for _, alias, target in imports if alias == name]
            targets += [target[:-1] + rest for _, alias, target in imports if alias == "*"]
            targets = [target for target in targets if (at, *target) not in seen and target[0] != name]
            found = (definition(crate, at, target, seen | {(at, *target)}) for target in targets)
            return next(filter(None, found), None)
    return None


def findings(root):
    """One line for each mistake of the crate with this root."""
    crate, source = modules(root), root.parent
    short = lambda file: str(file.relative_to(source))
    place = lambda file: short(file).split("/")[0].removesuffix(".rs")
    tiers = TIERS.get(source.parent.name, "").split(" < ")
    rank = {name: number for number, tier in enumerate(tiers) for name in tier.split()}
    arrows = collections.defaultdict(set)
    for at, (file, lines, _, _, paths) in crate.items():
        if lines > 500:
            yield f"{file.relative_to(ROOT)} has {lines} lines, at most 500"
        arrows[file] |= {definition(crate, at, path) for path in paths} - {None, file}
        for used in {place(other) for other in arrows[file]} - {place(file)}:
            if rank.get(used, -1) >= rank.get(place(file), len(crate)):
                yield f"{file.relative_to(ROOT)} names an item of {used}, which is no lower place"
    small = [short(file) for file, lines, *_ in crate.values() if lines < 60]
    if len(small) * 10 > len(crate) > 9 and "lab" not in source.relative_to(ROOT).parts:
        yield f"{source.relative_to(ROOT)}: {len(small)} of {len(crate)} files have less than 60 lines: {', '.join(small)}"
    try:
        graphlib.TopologicalSorter(arrows).prepare()
    except graphlib.CycleError as circle:
        yield f"{source.relative_to(ROOT)}: a circle: {' <- '.join(map(short, circle.args[1]))}"


roots = [root for pattern in ("*/*/src", "tests/src") for source in ROOT.glob(pattern) for root in source.glob("*.rs")]
found = [line for root in sorted(roots) if root.name in ("lib.rs", "main.rs") for line in findings(root)]
print("\n".join(found) or "structure: nothing found")
sys.exit(1 if found else 0)
