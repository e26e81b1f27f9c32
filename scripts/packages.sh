#!/usr/bin/env bash
# Counts the packages that a program builds because of the layer, and fails above a ceiling. Every
# package is compiled, audited and updated by each user, so a new dependency has to be worth it.
#
#   scripts/packages.sh
#
# A package counts once by its name, for the host's platform, without those of the tests.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
at_most() {
    local ceiling=$1 what=$2 count
    shift 2
    count=$(cargo tree --package tower-waiting-room "$@" --edges normal --prefix none \
        | awk '{print $1}' | sort -u | wc -l)
    echo "$what: $count packages, at most $ceiling"
    ((count <= ceiling)) || failed=1
}

at_most 52 "limits and gates with axum" --no-default-features --features axum
at_most 92 "the default features"
exit $failed
