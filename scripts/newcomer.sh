#!/usr/bin/env bash
# Follows docs/guide/quick-start.md as a new user would, from `cargo new` in an empty folder, and
# compares everything that its commands print with what the page shows. The commands, dependencies
# and programs are read from the page, so the page and this check cannot differ.
#
# In three ways this is not what a new user does: the crates come from this checkout and not from
# the registry, their dependencies have the versions of this Cargo.lock, and the servers listen on
# free ports. Needs curl, openssl and redis-server (scripts/install-test-parts.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

# Compiled dependencies are shared with the tests of this checkout.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
# With all features, as in ./test.sh, so that both are one build.
cargo build --quiet --workspace --all-features --bin newcomer
exec "$CARGO_TARGET_DIR/debug/newcomer"
