#!/usr/bin/env bash
# Checks what ships beside the code, without Docker and without GitHub: Dockerfile, compose.yaml,
# .github, SECURITY.md and the shell scripts.
#
#   scripts/check-ship.sh               runs the linters that are installed, and check-ship.py
#   scripts/check-ship.sh --self-test   checks check-ship.py instead
#
# scripts/install-test-parts.sh installs the linters and PyYAML in .venv.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"

# Runs a linter, or says that it is not installed.
lint() {
    if command -v "$1" >/dev/null; then
        "$@"
    else
        echo "$1 is not installed; to run it: scripts/install-test-parts.sh"
    fi
}

if (($#)); then
    exec python3 scripts/check-ship.py "$@"
fi
lint shellcheck test.sh .ci/run scripts/*.sh
lint hadolint Dockerfile
schema() { lint check-jsonschema --builtin-schema "$@"; }
schema vendor.compose-spec compose.yaml
schema vendor.github-workflows .github/workflows/*.yml
schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/{bug,question}.yml
python3 scripts/check-ship.py
