#!/usr/bin/env python3
"""Counts the files of the layer and of core that a request passes through, by callgrind.

    scripts/files-crossed.py [PROGRAM]

PROGRAM is the benchmark program, built in release; without it, the script builds it. A file counts if at
least one instruction for each request comes from it, also if the compiler inlined it elsewhere. The script
fails if a path passes through more files than docs/architecture.md says.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Each path, as the table in docs/architecture.md names it, and the benchmark case that takes it.
PATHS = [
    ("valid pass", "behind-axum", "+ waiting room, valid pass"),
    ("pass, limit and gate", "together", "+ ours: pass, limit with headers, gate"),
    ("refused by a limit", "refused", "ours, all headers and a problem document"),
    ("queued, page", "answers", "HTML, first touch"),
]
CRATES = {"layer": "tower-waiting-room", "core": "waiting-room-core"}
ROOT = pathlib.Path(__file__).resolve().parent.parent
# The program runs each case twice, and what both runs have in common does not count.
FEW, MANY = 200, 1_000


def build():
    """Builds the benchmark program, and returns its path."""
    # With the studies, as in test.sh, so that both are one build.
    packages = ["-p", "waiting-room-bench", "-p", "waiting-room-studies"]
    lab = ["--manifest-path", "lab/Cargo.toml"]
    subprocess.run(["cargo", "build", *lab, "--release", "--quiet", *packages], cwd=ROOT, check=True)
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


def stated():
    """The number of files on each path, according to the map of the code."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    return {name: int(files) for name, files in re.findall(r"(?m)^\| ([a-z, ]+) \| (\d+) \| \d+ \| \d+ \|$", page)}


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else build()
    ceilings = stated()
    too_many = []
    for name, group, case in PATHS:
        files = crossed(program, group, case)
        count = sum(map(len, files.values()))
        if count > ceilings[name]:
            too_many.append(name)
        parts = ", ".join(f"{len(files[crate])} of {crate}" for crate in CRATES)
        print(f"{name}: {count} files, {ceilings[name]} in docs/architecture.md ({parts})")
        for crate in CRATES:
            print(f"  {crate}: " + ", ".join(f"{file} {each}" for file, each in files[crate]))
    if too_many:
        sys.exit(f"more files than docs/architecture.md says: {', '.join(too_many)}")


if __name__ == "__main__":
    main()
