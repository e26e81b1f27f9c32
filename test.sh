#!/usr/bin/env bash
# Everything that must hold before a change is merged. CI runs exactly this.
set -euo pipefail
cd "$(dirname "$0")"

# What a build of another commit has left is of no use here, and rustc 1.95 may fail on it.
export CARGO_INCREMENTAL=0

step() { printf '\n== %s\n' "$*"; }

step "the parts that the tests need"
scripts/install-test-parts.sh

step "format"
cargo fmt --all --check

step "structure: no circles, no arrows that run up, no long functions"
scripts/check-structure.py --self-test
scripts/check-structure.py

step "promises: the tests that docs/promises.md names are there"
scripts/check-promises.py

step "lints"
cargo clippy --workspace --all-targets --all-features --quiet -- -D warnings

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features --quiet

step "each feature by itself"
cargo check --quiet -p tower-waiting-room --no-default-features
cargo check --quiet -p tower-waiting-room --features metrics
cargo check --quiet -p tower-waiting-room --no-default-features --features tonic
cargo check --quiet -p waiting-room-redis

step "tests"
# The tests with foreign clients mostly wait for them, so there are more threads than cores.
RUST_TEST_THREADS="${RUST_TEST_THREADS:-6}" cargo test --workspace --all-features

step "attacks over real sockets, in short, with a fresh seed"
cargo run --quiet -p abuse -- --short

step "loom: the gate in every interleaving of two threads"
scripts/loom.sh

step "a short simulation with a fresh seed"
cargo run --quiet -p waiting-room-studies -- \
    --trace examples/shop/data/worldcup98-1998-06-30.csv --visits 20000 --limit 20 --rate 20 --seeds 2

step "rate limits against an exact log, with a fresh seed"
cargo run --quiet -p waiting-room-studies -- accuracy --requests 20000

step "a short simulation of the gate, with a fresh seed"
cargo run --quiet -p waiting-room-studies -- gate --quick

step "four nodes in trouble, with fresh seeds, while the door moves"
trouble() {
    cargo run --quiet -p cluster -- --ignore-times --admissions 15 \
        --limit 60 --rate 6000 --session 5s --refresh-interval 2s --work 0s --deadline 250ms \
        --visitors 300 --over 16s --at 8s --lasts 4s "$@"
}
# A room that holds lets visitors in a minute after its store is lost, so this one takes longer.
trouble --engine valkey --drain 72s faults failover &
held=$!
trouble --engine redis --drain 12s faults none nodes cut
wait "$held"

step "many sites, in short: what each policy is known for"
cargo run --release --quiet -p waiting-room-studies -- figures --quick

step "dependencies"
if command -v cargo-deny >/dev/null; then
    cargo deny --log-level error check licenses bans sources
else
    echo "cargo-deny is not installed; to check licences and sources: cargo install cargo-deny --locked"
fi

step "all is well"
