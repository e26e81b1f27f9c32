#!/usr/bin/env bash
# Checks the escrow protocol in every order of events, in worlds that take too long for every test
# run, and in many random ones, and prints the number of their states. Accepts names of tests, to
# run only those.
set -euo pipefail
cd "$(dirname "$0")/../.."

cargo test --quiet --manifest-path lab/Cargo.toml -p waiting-room-studies --release --test escrow -- \
    --include-ignored --nocapture "$@"
