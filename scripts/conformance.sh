#!/usr/bin/env bash
# Compares each store (memory, Redis and Valkey) with the naive model, for a million random commands
# with ten seeds each. Takes about twenty minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."

export CONFORMANCE_SEEDS="${CONFORMANCE_SEEDS:-10}" CONFORMANCE_COMMANDS="${CONFORMANCE_COMMANDS:-1000000}"

cargo test --release --quiet -p waiting-room-test --lib -- --nocapture agrees_with_the_naive_model
cargo test --release --quiet -p waiting-room-redis --test it -- \
    --nocapture --test-threads 1 agrees_with_the_model
