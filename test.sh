#!/usr/bin/env bash
# The checks that must pass before a change is merged.
#
#   ./test.sh          the product: its sources, lints and tests, with real servers, browsers and clients
#   ./test.sh --all    also each feature alone, what would be published, and the lab: what CI runs
#
#   --without NAME,…   leaves out these steps, and names them at the end
#   --only NAME,…      runs only these steps
#
# Each step prints its name after `==`. No step is left out because a part of it is missing: the first one
# installs the parts on Debian, and a missing part fails.
set -euo pipefail
cd "$(dirname "$0")"

fail() {
    echo "test.sh: $*" >&2
    exit 2
}

all=false only='' without=''
while (($#)); do
    case $1 in
        --all) all=true ;;
        --only) only=,${2:?'the names of steps'}, && shift ;;
        --without) without=,${2:?'the names of steps'}, && shift ;;
        *) fail "unknown option $1: --all, --without NAME,… or --only NAME,…" ;;
    esac
    shift
done

# Incremental data from a build of another commit is of no use here, and rustc 1.95 may fail on it.
export CARGO_INCREMENTAL=0
target=${CARGO_TARGET_DIR:-target}
lab=(--manifest-path lab/Cargo.toml)

# --- Steps, and what each takes ---
names=, took='' current='' began=0 spent=0
clock=$(mktemp)
trap 'rm -f "$clock"' EXIT

# Sets `cpu` to the seconds of CPU time that all programs have taken up to now.
read_cpu() {
    local user system
    times >"$clock"
    { read -r _ && read -r user system; } <"$clock"
    system=${system%.*} user=${user%.*}
    cpu=$((${user%m*} * 60 + ${user#*m} + ${system%m*} * 60 + ${system#*m}))
}

end_step() {
    [[ -n $current ]] || return 0
    read_cpu
    printf -v took '%s%-12s %6d %6d\n' "$took" "$current" $((cpu - spent)) $((SECONDS - began))
    current='' spent=$cpu
}

# Begins a step of the product. Fails if it is left out.
step() {
    end_step
    names+=$1,
    [[ -z $only || $only == *,$1,* ]] || return 1
    if [[ $without == *,$1,* ]]; then
        left_out+=("$1")
        return 1
    fi
    current=$1 began=$SECONDS
    printf '\n== %s: %s\n' "$1" "$2"
}

# The same for a step of --all.
step_of_all() {
    if $all || [[ $only == *,$1,* ]]; then
        step "$@"
    else
        end_step
        names+=$1,
        return 1
    fi
}
left_out=()

# --- The product ---
if step parts "the servers, browsers and clients of the tests"; then
    scripts/install-test-parts.sh
fi

if step format "as rustfmt writes it"; then
    cargo fmt --all --check
    cargo fmt "${lab[@]}" --all --check
fi

if step structure "no circles, no upward arrows, no long functions, no growth"; then
    scripts/check-structure.py
    if grep -rn --include=Cargo.toml '/lab/' crates examples tests; then
        fail "the product depends on the lab"
    fi
    scripts/lines.sh
fi

if step promises "each has tests, which exist, and so has each row of the comparison"; then
    scripts/check-promises.py
fi

if step pages "how many words, and nothing said twice"; then
    scripts/check-pages.py
fi

if step words "one meaning each, as in docs/glossary.md, and every language has every sentence"; then
    scripts/check-words.py
    scripts/untranslated.py
fi

if step ship "containers, workflows and forms; what is said of the packages"; then
    scripts/check-ship.sh
    scripts/check-release.py
fi

if step lints "clippy over everything"; then
    cargo clippy --workspace --all-targets --all-features --quiet -- -D warnings
fi

if step tests "all tests of the product"; then
    # Tests with foreign clients mostly wait for those clients, so there are more threads than cores.
    export RUST_TEST_THREADS="${RUST_TEST_THREADS:-6}"
    # Cases of each property: 256 in --all.
    $all || export PROPTEST_CASES="${PROPTEST_CASES:-64}"
    cargo test --workspace --all-features
fi

# --- The product, in every form that a user may build ---
if step_of_all docs "every page of the documentation"; then
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features --quiet
fi

if step_of_all api "the public API is that of docs/api.txt"; then
    scripts/public-api.py
fi

if step_of_all features "each feature by itself"; then
    for feature in "" axum files metrics room tonic; do
        cargo clippy --quiet -p tower-waiting-room --no-default-features --features "$feature" -- -D warnings
    done
    cargo check --quiet -p tower-waiting-room --no-default-features --features axum --lib --tests
    cargo test --quiet -p tower-waiting-room --no-default-features --features axum --test features
    cargo check --quiet -p waiting-room-redis
    cargo check --quiet -p waiting-room-ledger --no-default-features
fi

if step_of_all programs "those of the docs, each with the dependencies that its page lists"; then
    EACH_ALONE=1 cargo test --workspace --all-features --quiet --test it -- programs:: testing::
fi

if step_of_all packages "how many a program builds because of the layer"; then
    scripts/packages.sh
fi

if step_of_all things "a rule, a field, a sentence, an algorithm and a format take the files that the map says"; then
    scripts/add-a-thing.py
fi

if step_of_all newcomer "the quick start of the guide, followed from cargo new"; then
    scripts/newcomer.sh
fi

if step_of_all dependencies "each is used, and its license and its source are allowed"; then
    scripts/dependencies.sh
fi

if step_of_all semver "the version number allows the changes of the API since the last release"; then
    scripts/semver.sh
fi

# --- The proofs that take minutes, and the lab ---
if step_of_all lab-lints "clippy over the lab"; then
    cargo clippy "${lab[@]}" --workspace --all-targets --all-features --quiet -- -D warnings
fi

if step_of_all lab-tests "all tests of the lab"; then
    cargo test "${lab[@]}" --workspace --all-features --quiet
fi

if step_of_all escrow "the protocol of the ledger in every order of events, in larger worlds"; then
    cargo test "${lab[@]}" --workspace --all-features --quiet --test escrow -- \
        --ignored larger_worlds omitted_rule
fi

# Its programs are started from where they are built, so that cargo does not choose other features.
built() {
    cargo build "${lab[@]}" --workspace --all-features --quiet
    "$target/debug/$1" "${@:2}"
}
day=examples/shop/data/worldcup98-1998-06-30.csv

if step_of_all attacks "over real sockets, in short, with a fresh seed"; then
    built abuse --short
fi

if step_of_all simulations "a day, a day with an event, rate limits against an exact log, and the gate, with fresh seeds"; then
    built waiting-room-studies --trace "$day" --visits 20000 --limit 20 --rate 20 --seeds 2
    built waiting-room-studies --trace "$day" --visits 40000 --limit 20 --rate 20 --seeds 2 --event
    built waiting-room-studies accuracy --requests 20000
    built waiting-room-studies gate --quick
fi

if step_of_all cluster "four nodes under faults, with fresh seeds"; then
    # The limit on new visitors decides here when visitors are admitted; lab/scripts/faults.sh admits
    # them faster.
    for trouble in "redis none store-lost" "valkey failover"; do
        read -r engine faults <<<"$trouble"
        # shellcheck disable=SC2086 # the names of several faults
        built cluster --engine "$engine" --ignore-times --admissions 0 --limit 40 --rate 40 --session 8s \
            --visitors 300 --over 15s --drain 15s --at 4s --lasts 3s faults $faults
    done
fi

if step_of_all sites "three sites with one limit, whose ledger is killed, with a fresh seed"; then
    built sites --limit 60 --per-second 20 --over 20s --admissions 10 --fault ledger
fi

if step_of_all loom "the gate in every interleaving of two threads"; then
    scripts/loom.sh
fi

# One build of what is measured.
release() {
    cargo build "${lab[@]}" --release --quiet -p waiting-room-bench -p waiting-room-studies
    "$target/release/$1" "${@:2}"
}

if step_of_all figures "many sites, in short: the known properties of each policy"; then
    release waiting-room-studies figures --quick
fi

if step_of_all bars "instructions and allocations of a request: none above the last known"; then
    release waiting-room-bench bars --counted-only
fi

if step_of_all worst "no header of 16 KiB costs more than twice an ordinary request, with a fresh seed"; then
    release waiting-room-bench worst
fi

if step_of_all crossed "files that a request passes through: no more than docs/architecture.md says"; then
    scripts/files-crossed.py
fi

# --- What is published: last, since the first of these steps makes cargo forget what it has built ---
if step_of_all publish "each published crate builds from what would be published"; then
    # Cargo keeps what it has unpacked and compiled from the registry of an earlier dry run, whose
    # versions are the same.
    rm -rf "${CARGO_HOME:-$HOME/.cargo}"/registry/{src,cache}/-*/{tower-waiting-room,waiting-room-}*
    rm -rf "$target"/debug/.fingerprint/{tower-waiting-room,waiting-room-}*
    cargo publish --workspace --dry-run --allow-dirty --quiet
fi

if step_of_all msrv "the oldest supported toolchain"; then
    msrv=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    rustup run "$msrv" cargo --version >/dev/null 2>&1 || rustup toolchain install "$msrv" --profile minimal
    for package in $(scripts/published.py); do
        cargo "+$msrv" check --quiet --all-features --target-dir "$target/msrv" -p "$package"
    done
fi

# --- What the steps took ---
end_step
for name in ${only//,/ } ${without//,/ }; do
    [[ $names == *,$name,* ]] || fail "there is no step $name; the steps are ${names//,/ }"
done
printf '\n%-12s %6s %6s\n%s' step "CPU s" s "$took"
read_cpu
printf '%-12s %6d %6d\n' all "$cpu" "$SECONDS"
if ((${#left_out[@]})); then
    echo "left out: ${left_out[*]}"
fi
echo "== passed"
