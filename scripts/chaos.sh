#!/usr/bin/env bash
# Ten million random operations by four threads on the gate. The seed is printed. To repeat a run,
# pass it in WAITING_ROOM_CHAOS_SEED.
set -euo pipefail
cd "$(dirname "$0")/.."

export WAITING_ROOM_CHAOS_OPERATIONS="${WAITING_ROOM_CHAOS_OPERATIONS:-10000000}"
# Enables the gate's own invariants.
export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true
cargo test --quiet -p waiting-room-core --release --lib gate::tests::chaos -- --nocapture
