#!/usr/bin/env bash
# All checks that must pass before a change is merged. CI runs exactly this.
#
#   ./test.sh           everything
#   ./test.sh --quick   the checks of the source, the lints, and the unit tests of the core and the
#                       layer, for use while working on a change; installs nothing
set -euo pipefail
cd "$(dirname "$0")"

case "$#:${1-}" in
    0:) quick=false ;;
    1:--quick) quick=true ;;
    *)
        echo "usage: ./test.sh [--quick]" >&2
        exit 2
        ;;
esac

# Incremental data from a build of another commit is of no use here, and rustc 1.95 may fail on it.
export CARGO_INCREMENTAL=0

step() { printf '\n== %02d:%02d %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"; }

if ! $quick; then
    step "the dependencies of the tests"
    scripts/install-test-parts.sh

    step "containers, workflows and forms"
    scripts/check-ship.sh --self-test
    scripts/check-ship.sh
fi

step "format"
cargo fmt --all --check

step "structure: no circles, no upward arrows, no long functions"
scripts/check-structure.py --self-test
scripts/check-structure.py

step "promises: the tests that docs/promises.md and docs/compared.md name exist"
scripts/check-promises.py --self-test
scripts/check-promises.py

step "words: one meaning each, as in docs/glossary.md"
scripts/check-words.py --self-test
scripts/check-words.py

step "lints"
cargo clippy --workspace --all-targets --all-features --quiet -- -D warnings

if $quick; then
    step "unit tests of the core and the layer"
    cargo test --quiet -p waiting-room-core -p tower-waiting-room --all-features --lib
    step "the quick checks passed; before a merge: ./test.sh"
    exit
fi

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features --quiet

step "public API: it is that of docs/api.txt"
scripts/public-api.py

step "public API: the version number allows its changes since the last release"
# `|| true`: without a tag, or outside of a repository, git fails.
last_release=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null || true)
if [[ -z $last_release ]]; then
    echo "there is no tag of a release (v0.1.0, …) to compare with"
elif ! command -v cargo-semver-checks >/dev/null; then
    echo "cargo-semver-checks is not installed; to compare with $last_release: cargo install cargo-semver-checks --locked"
else
    cargo semver-checks --baseline-rev "$last_release" \
        -p tower-waiting-room -p waiting-room-cloudflare -p waiting-room-core \
        -p waiting-room-dashboard -p waiting-room-ledger \
        -p waiting-room-redis -p waiting-room-test
fi

step "each feature by itself"
for feature in "" axum files metrics room tonic; do
    cargo clippy --quiet -p tower-waiting-room --no-default-features --features "$feature" \
        -- -D warnings
done
cargo check --quiet -p waiting-room-redis
cargo check --quiet -p waiting-room-ledger --no-default-features
limits_alone=(-p tower-waiting-room --no-default-features --features axum)
cargo test --quiet "${limits_alone[@]}" --lib --tests

step "packages that a program builds because of the layer"
scripts/packages.sh

step "tests"
# The tests with foreign clients mostly wait for those clients, so there are more threads than
# cores.
RUST_TEST_THREADS="${RUST_TEST_THREADS:-6}" cargo test --workspace --all-features

step "adding a rule, a field, a sentence, an algorithm and a format takes the files that the map says"
scripts/add-a-thing.py

step "languages: each built-in one has every sentence"
scripts/untranslated.py

step "the quick start of the guide, followed from cargo new"
scripts/newcomer.sh

step "attacks over real sockets, in short, with a fresh seed"
cargo run --quiet -p abuse -- --short

step "loom: the gate in every interleaving of two threads"
scripts/loom.sh

# All programs have all features, so that they share one build.
run() { cargo run --quiet --all-features --bin "$1" -- "${@:2}"; }

step "a short simulation with a fresh seed"
run waiting-room-studies \
    --trace examples/shop/data/worldcup98-1998-06-30.csv --visits 20000 --limit 20 --rate 20 --seeds 2

step "a short simulation of a day with an event in its middle, with a fresh seed"
run waiting-room-studies \
    --trace examples/shop/data/worldcup98-1998-06-30.csv --visits 40000 --limit 20 --rate 20 --seeds 2 --event

step "rate limits against an exact log, with a fresh seed"
run waiting-room-studies accuracy --requests 20000

step "a short simulation of the gate, with a fresh seed"
run waiting-room-studies gate --quick

step "four nodes under faults, with fresh seeds"
# Here the limit on new visitors decides when visitors are admitted; lab/scripts/faults.sh admits them
# faster.
for trouble in "redis none store-lost" "valkey failover"; do
    read -r engine faults <<<"$trouble"
    # shellcheck disable=SC2086 # the names of several faults
    run cluster --engine "$engine" --ignore-times --admissions 0 \
        --limit 40 --rate 40 --session 8s --visitors 300 --over 15s --drain 15s --at 4s --lasts 3s \
        faults $faults
done

step "three sites with one limit, whose ledger is killed, with a fresh seed"
run sites --limit 60 --per-second 20 --over 20s --admissions 10 --fault ledger

step "many sites, in short: the known properties of each policy"
cargo run --release --quiet -p waiting-room-studies -- figures --quick

step "instructions and allocations of a request: none above the last known"
cargo run --release --quiet -p waiting-room-bench -- bars --counted-only

step "files that a request passes through: no more than docs/architecture.md says"
scripts/files-crossed.py

step "packages: each published crate builds from what would be published"
# Cargo keeps what it has unpacked and compiled from the registry of an earlier dry run, whose versions
# are the same.
rm -rf "${CARGO_HOME:-$HOME/.cargo}"/registry/{src,cache}/-*/{tower-waiting-room,waiting-room-}*
rm -rf "${CARGO_TARGET_DIR:-target}"/debug/.fingerprint/{tower-waiting-room,waiting-room-}*
cargo publish --workspace --dry-run --allow-dirty --quiet

step "the oldest supported toolchain"
msrv=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
if rustup run "$msrv" cargo --version >/dev/null 2>&1; then
    for package in tower-waiting-room waiting-room-{cloudflare,core,dashboard,ledger,redis,test}; do
        cargo "+$msrv" check --quiet --all-features --target-dir "target/msrv" -p "$package"
    done
else
    echo "Rust $msrv is not installed; to check it: rustup toolchain install $msrv --profile minimal"
fi

step "dependencies"
if command -v cargo-deny >/dev/null; then
    cargo deny --log-level error check advisories licenses bans sources
else
    echo "cargo-deny is not installed; to check advisories, licences and sources: cargo install cargo-deny --locked"
fi

step "all checks passed"
