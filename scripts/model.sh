#!/usr/bin/env bash
# The escrow protocol in every order of events, in worlds that take too long for every test run, and in
# many random ones; and how many states they have. Takes names of tests, to run only those.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo test --quiet -p waiting-room-sites --release --test escrow -- \
    --include-ignored --nocapture "$@"
