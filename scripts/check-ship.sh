#!/usr/bin/env bash
# Lints what ships beside the code, without Docker and without GitHub: images, Compose, the unit, workflows, forms
# and shell scripts. scripts/install-test-parts.sh installs the linters in .venv.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"

shellcheck test.sh .ci/run scripts/*.sh lab/scripts/*.sh
hadolint Dockerfile
schema() { check-jsonschema --quiet --builtin-schema "vendor.$1" "${@:2}"; }
schema compose-spec compose.yaml
schema dependabot .github/dependabot.yml
schema github-actions .github/actions/*/action.yml
schema github-issue-config .github/ISSUE_TEMPLATE/config.yml
schema github-issue-forms .github/ISSUE_TEMPLATE/{bug,question}.yml
schema github-workflows .github/workflows/*.yml
zizmor --offline --quiet --min-severity medium .github
