#!/usr/bin/env bash
# Runs the gate under loom: every interleaving of two threads, and of three threads with a few
# preemptions. Accepts names of tests, to run only those.
set -euo pipefail
cd "$(dirname "$0")/.."

# A separate target directory, since other flags recompile everything.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom"
export RUSTFLAGS="${RUSTFLAGS:-} --cfg waiting_room_loom"
# Optimized, and with the gate's own invariants.
export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true

cargo test --quiet -p waiting-room-core --release --lib -- "${@:-gate::tests::loom::}"
