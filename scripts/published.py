#!/usr/bin/env python3
"""The crates of this repository that are published, for the scripts beside this file. Prints them."""
import pathlib
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
MANIFESTS = sorted((ROOT / "crates").glob("*/Cargo.toml"))
PUBLISHED = [file.parent.name for file in MANIFESTS if tomllib.loads(file.read_text())["package"].get("publish", True)]

if __name__ == "__main__":
    print(*PUBLISHED)
