#!/usr/bin/env bash
# Counts the lines of Rust, tests and comments included, of the product and of the whole repository, and
# fails above a ceiling. A ceiling that rises is explained in its commit.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
at_most() {
    local ceiling=$1 what=$2 count
    shift 2
    count=$(git ls-files -z -- "$@" | xargs -0 cat | wc -l)
    echo "$what: $count lines of Rust, at most $ceiling"
    ((count <= ceiling)) || failed=1
}

at_most 147500 "the product" '*.rs' ':!lab'
at_most 181500 "the whole repository" '*.rs'
exit $failed
