#!/usr/bin/env bash
# The gate under loom: every interleaving of two threads, and of three with a few interruptions.
# Takes names of tests, to run only those.
set -euo pipefail
cd "$(dirname "$0")/.."

# By itself, since everything is compiled anew with other flags.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom"
export RUSTFLAGS="${RUSTFLAGS:-} --cfg waiting_room_loom"
# Optimized, and with the gate's own invariants.
export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true

cargo test --quiet -p waiting-room-core --release --lib -- "${@:-gate::tests::loom::}"
