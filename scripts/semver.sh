#!/usr/bin/env bash
# Compares the public API of the published packages with that of the last release, whose tag is vX.Y.Z, and fails if
# the version number does not allow the difference. Before the first release, there is nothing to compare.
set -euo pipefail
cd "$(dirname "$0")/.."

tag=$(git tag --list 'v[0-9]*' --sort=-version:refname --no-contains HEAD | head -n 1)
if [[ -z $tag ]]; then
    echo "no release is tagged yet"
    exit
fi
command -v cargo-semver-checks >/dev/null || cargo install --locked cargo-semver-checks@0.51.0
read -ra packages < <(scripts/published.py)
cargo semver-checks --baseline-rev "$tag" "${packages[@]/#/--package=}"
