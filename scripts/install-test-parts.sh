#!/usr/bin/env bash
# Installs what the end-to-end tests need and a Rust toolchain does not bring: a browser with its
# driver, curl, Node with axe-core, and Python with requests. For Debian; asks nothing, and does
# nothing where everything is there.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "install-test-parts: $*" >&2
    exit 1
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# --- From Debian: what is not there, under whatever name it was installed ---
packages=()
has curl || packages+=(curl)
has chromium || packages+=(chromium fonts-dejavu-core)
has chromedriver || packages+=(chromium-driver)
has node || packages+=(nodejs)
has npm || packages+=(npm)
has python3 || packages+=(python3)
python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3-venv)

if ((${#packages[@]})); then
    has apt-get || fail "missing ${packages[*]}, and there is no apt-get: install them by hand"
    ((EUID == 0)) || fail "missing ${packages[*]}: run 'sudo apt-get install ${packages[*]}'"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || fail "apt-get update failed"
    apt-get install -qq --yes --no-install-recommends "${packages[@]}" >/dev/null ||
        fail "apt-get could not install ${packages[*]}"
fi

# --- From PyPI: requests, in .venv ---
requests=2.34.2
if ! .venv/bin/python -c "import requests; assert requests.__version__ == '$requests'" 2>/dev/null; then
    python3 -m venv --clear .venv || fail "python3 cannot make .venv"
    .venv/bin/pip install --quiet --disable-pip-version-check "requests==$requests" ||
        fail "pip could not install requests $requests"
fi

# --- From npm: axe-core, in tests/node_modules ---
wanted=$(node -p 'require("./tests/package.json").dependencies["axe-core"]')
if [[ $(node -p 'require("./tests/node_modules/axe-core/package.json").version' 2>/dev/null) != "$wanted" ]]; then
    npm install --prefix tests --silent --no-package-lock --no-audit --no-fund --ignore-scripts ||
        fail "npm could not install axe-core $wanted"
fi
