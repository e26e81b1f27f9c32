#!/usr/bin/env python3
"""Counts the files of the layer and of core that a request passes through, by callgrind.

    scripts/files-crossed.py [--enforce] [PROGRAM]

PROGRAM is the benchmark program, built in release; without it, the script builds it. A file counts if at
least one instruction for each request comes from it, also if the compiler inlined it elsewhere. With
--enforce, the script fails if a path passes through more files than its ceiling.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Each path, the benchmark case that takes it, and the most files that it may pass through.
PATHS = [
    ("valid pass", "behind-axum", "+ waiting room, valid pass", 17),
    ("pass, limit and gate", "together", "+ ours: pass, limit with headers, gate", 36),
    ("refused by a limit", "refused", "ours, all headers and a problem document", 26),
    ("queued, page", "answers", "HTML, first touch", 44),
]
CRATES = {"layer": "tower-waiting-room", "core": "waiting-room-core"}
ROOT = pathlib.Path(__file__).resolve().parent.parent
# The program runs each case twice, and what both runs have in common does not count.
FEW, MANY = 200, 1_000


def build():
    """Builds the benchmark program, and returns its path."""
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "waiting-room-bench"], cwd=ROOT, check=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "waiting-room-bench"


def instructions(program, group, case, times):
    """The instructions of each source file while the case runs this many times."""
    with tempfile.NamedTemporaryFile() as out:
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}"]
        run = subprocess.run([*tool, program, "repeat", group, case, "0", str(times)], capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"{group}, {case}: {run.stderr}")
        return read(pathlib.Path(out.name).read_text())


def read(profile):
    """The instructions of each source file in a profile of callgrind, without those of callees."""
    names, cost = {}, collections.Counter()
    file, is_call = None, False
    for line in profile.splitlines():
        if named := re.match(r"(fl|fi|fe|cfi|cfl)=\((\d+)\)(?: (.*))?$", line):
            kind, number, name = named.groups()
            if name:
                names[number] = name.strip()
            if kind in ("fl", "fi", "fe"):
                file = names.get(number)
        elif line.startswith("calls="):
            is_call = True
        elif counted := re.match(r"[+\-*\d]\S* (\d+)", line):
            if not is_call:
                cost[file] += int(counted[1])
            is_call = False
    return cost


def crossed(program, group, case):
    """The files of each crate that a repetition of the case passes through, and their instructions."""
    few = instructions(program, group, case, FEW)
    many = instructions(program, group, case, MANY)
    files = collections.defaultdict(list)
    for path, total in many.items():
        each = (total - few[path]) / (MANY - FEW)
        for crate, folder in CRATES.items():
            if path and each >= 1 and f"crates/{folder}/src/" in path:
                files[crate].append((path.split("/src/", 1)[1], round(each)))
    return {crate: sorted(files[crate], key=lambda file: -file[1]) for crate in CRATES}


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--enforce"]
    program = arguments[0] if arguments else build()
    too_many = 0
    for name, group, case, ceiling in PATHS:
        files = crossed(program, group, case)
        count = sum(map(len, files.values()))
        too_many += count > ceiling
        parts = ", ".join(f"{len(files[crate])} of {crate}" for crate in CRATES)
        print(f"{name}: {count} files, at most {ceiling} ({parts})")
        for crate in CRATES:
            print(f"  {crate}: " + ", ".join(f"{file} {each}" for file, each in files[crate]))
    if too_many and "--enforce" in sys.argv:
        sys.exit(f"{too_many} paths pass through too many files")


if __name__ == "__main__":
    main()
