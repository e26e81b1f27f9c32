#!/usr/bin/env python3
"""Checks that what the repository says of its published packages is true, and, with a tag, that it may be published.

    scripts/check-release.py [vX.Y.Z]

SECURITY.md names exactly the published packages, which scripts/published.py lists. Each package has a table of its
features in lib.rs, without those that are not part of the public API. With a tag, Cargo.toml has its version and the
address of the repository, and CHANGELOG.md begins with a section of that version and a date.
"""
import re
import sys
import tomllib

from published import PUBLISHED, ROOT


def findings(tag):
    supported = re.search(r"(?m)^\| the latest release of (.*?) \|", (ROOT / "SECURITY.md").read_text())[1]
    if sorted(re.findall(r"`([\w-]+)`", supported)) != PUBLISHED:
        yield f"SECURITY.md supports {supported}, expected {', '.join(PUBLISHED)}"
    for package in PUBLISHED:
        folder = ROOT / "crates" / package
        manifest = (folder / "Cargo.toml").read_text()
        private = re.findall(r"(?m)^#.* Not part of the public API\.\n([\w-]+) =", manifest)
        features = set(tomllib.loads(manifest).get("features", {})) - {"default", *private}
        listed = set(re.findall(r"(?m)^//! \| `([\w-]+)`(?: \(default\))? \|", (folder / "src/lib.rs").read_text()))
        if features - listed:
            yield f"{package}: no table in lib.rs lists the features {sorted(features - listed)}"
    if tag:
        package = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
        if tag != f"v{package['version']}":
            yield f"the tag is {tag}, and Cargo.toml has version {package['version']}"
        if not package["repository"].startswith("https://"):
            yield "Cargo.toml has no address in `repository`: see RELEASING.md"
        heading = re.search(r"(?m)^## .*", (ROOT / "CHANGELOG.md").read_text())[0]
        if not re.fullmatch(rf"## {re.escape(tag[1:])} \(\d{{4}}-\d\d-\d\d\)", heading):
            yield f"CHANGELOG.md begins with {heading!r}, expected '## {tag[1:]} (YYYY-MM-DD)'"


found = list(findings(sys.argv[1] if sys.argv[1:] else None))
print("\n".join(found) or f"{len(PUBLISHED)} packages, nothing found")
sys.exit(1 if found else 0)
