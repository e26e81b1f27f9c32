#!/usr/bin/env python3
"""Adds one thing of each kind to a copy of the repository, and tests it there.

    scripts/add-a-thing.py [--crates]

docs/architecture.md, "Where to look", has a row for each kind of thing: a rule of the room, a fact of the
page, a sentence, an algorithm, a form of answer. The script fails if a thing changes other files than
its row names, or more than it may change. scripts/add-a-thing/things.py has the changes, and the tests
are beside it. With --crates, all tests of the crates that the things change run as well, in the copy.
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts" / "add-a-thing"))
sys.dont_write_bytecode = True

from things import LISTED, MUTATIONS, TESTS, THINGS  # noqa: E402

TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
PATH = r"`([\w.-]+/[\w./-]+)`"
# Always the same folder, so that a second run compiles only what has changed.
COPY = TARGET / "add-a-thing"
# All features of all crates, so that the dependencies are those of the other tests.
CHOSEN = ["--quiet", "--workspace", "--all-features", "--test", "things"]


def tracked():
    """The content of each file of the repository."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    paths = [ROOT / name for name in names.decode().split("\0") if name]
    return {str(path.relative_to(ROOT)): path.read_bytes() for path in paths if path.is_file()}


def rows():
    """The files that each row of "Where to look" names, by the task of the row."""
    section = (ROOT / "docs/architecture.md").read_text().split("\n## Where to look\n")[1]
    cells = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", section, re.MULTILINE)
    # What follows a semicolon is not changed.
    return {task: {full(path) for path in re.findall(PATH, files.split(";")[0])} for task, files in cells}


def full(path):
    """The path of a file that is named without the folder of all crates."""
    return path if (ROOT / path).exists() else f"crates/{path}"


def check_files(thing, named):
    """Fails unless the thing changes the files of its row, and not too many."""
    # Of a new file, a row can only name the folder.
    changed = {edit.path if edit.anchor else f"{edit.path.rpartition('/')[0]}/" for edit in thing.edits}
    if thing.task not in named:
        sys.exit(f'docs/architecture.md, "Where to look", has no row "{thing.task}"')
    for path in sorted(changed - named[thing.task]):
        sys.exit(f'to {thing.task}, {path} has to be changed, which its row in "Where to look" does not name')
    for path in sorted(named[thing.task] - changed):
        sys.exit(f'to {thing.task}, {path} need not be changed, but its row in "Where to look" names it')
    by_hand = len(changed.difference(thing.written))
    print(f"{thing.task}: {by_hand} files by hand, at most {thing.most}; a test writes {len(thing.written)}")
    if by_hand > thing.most:
        sys.exit(f"to {thing.task}, {by_hand} files have to be changed by hand; at most {thing.most} are good")


def apply(tree, edits):
    """Makes the changes in the content of the files."""
    for edit in edits:
        text = tree.get(edit.path, b"").decode()
        if text.count(edit.anchor) != 1:
            sys.exit(f"{edit.path} has to contain this once, not {text.count(edit.anchor)} times:\n{edit.anchor}")
        tree[edit.path] = text.replace(edit.anchor, edit.text).encode()


def write(tree):
    """Makes the copy equal to the tree. A file that no thing changes keeps its time if it is the same already."""
    # The deepest first: a folder that has become empty, such as that of a crate, goes too.
    for path in sorted(COPY.rglob("*"), reverse=True):
        if path.is_file() and str(path.relative_to(COPY)) not in tree:
            path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    # Cargo may have built the original of a file since it was written, in the same folder.
    edited = {edit.path for thing in THINGS for edit in thing.edits}
    for name, content in tree.items():
        path = COPY / name
        if name in edited or not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod((ROOT / name).stat().st_mode if (ROOT / name).exists() else 0o644)


def cargo(*arguments):
    """Runs cargo in the copy, and returns whether it succeeded, and what was printed."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET), "CARGO_TERM_COLOR": "never", "RUST_BACKTRACE": "0"}
    ran = subprocess.run(
        ["cargo", *arguments],
        cwd=COPY,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return ran.returncode == 0, ran.stdout


def prove(*chosen):
    """Runs tests in the copy, and fails unless they pass."""
    passed, printed = cargo("test", *chosen)
    if not passed:
        print(printed)
        sys.exit("the things do not work")
    print("all of them: " + ", ".join(re.findall(r"test result: (.*?);", printed)))


def main():
    """Adds all things at once, first with each mutation, and then as they should be."""
    named = rows()
    for thing in THINGS:
        check_files(thing, named)
    tree = tracked()
    for test in TESTS:
        tree[test.path] = (ROOT / "scripts/add-a-thing" / test.source).read_bytes()
    for mutation in MUTATIONS:
        mutant = dict(tree)
        edits = [edit for thing in THINGS for edit in thing.edits if edit.path not in mutation.without]
        apply(mutant, edits)
        write(mutant)
        passed, printed = cargo(mutation.cargo[0], *CHOSEN, *mutation.cargo[1:])
        missing = [sign for sign in mutation.signs if sign not in printed]
        if passed or missing:
            print(printed)
            sys.exit(f"without the changes to {', '.join(mutation.without)}, {' and '.join(mutation.signs)} should fail")
        print(f"without the changes to {', '.join(mutation.without)}: noticed")
    apply(tree, [edit for thing in THINGS for edit in thing.edits])
    write(tree)
    prove(*CHOSEN)
    for script, sign in LISTED:
        listed = subprocess.run([COPY / script], text=True, capture_output=True).stdout
        if sign not in listed:
            sys.exit(f"{script} does not list {sign}")
    if "--crates" in sys.argv[1:]:
        crates = {edit.path.split("/")[1] for thing in THINGS for edit in thing.edits if edit.path.startswith("crates/")}
        prove("--quiet", "--all-features", "--no-fail-fast", *(f"--package={crate}" for crate in sorted(crates)))


main()
