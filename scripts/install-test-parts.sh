#!/usr/bin/env bash
# Installs the dependencies of the tests that a Rust toolchain does not bring: browsers with a
# driver, curl, wget, OpenSSL for a client in Rust, HAProxy, nginx, PostgreSQL, Redis, Valkey, valgrind,
# Prometheus, and the clients for Node and Python. For Debian. Asks no questions, and does nothing if
# everything is installed.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "install-test-parts: $*" >&2
    exit 1
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# --- From Debian: what is missing, whatever package it came from ---
packages=()
has curl || packages+=(curl)
has wget || packages+=(wget)
has w3m || packages+=(w3m)
has chromium || packages+=(chromium fonts-dejavu-core fonts-ipafont-gothic)
has chromedriver || packages+=(chromium-driver)
has node || packages+=(nodejs)
has npm || packages+=(npm)
has python3 || packages+=(python3)
has redis-server || packages+=(redis-server)
has initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || packages+=(postgresql)
has openssl || packages+=(openssl)
has haproxy || packages+=(haproxy)
has nginx || packages+=(nginx)
has valgrind || packages+=(valgrind)
has prometheus && has promtool || packages+=(prometheus)
has pkg-config || packages+=(pkg-config)
pkg-config --exists openssl 2>/dev/null || packages+=(libssl-dev)
python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3-venv)

if ((${#packages[@]})); then
    has apt-get || fail "missing ${packages[*]}, and there is no apt-get: install them by hand"
    ((EUID == 0)) || fail "missing ${packages[*]}: run 'sudo apt-get install ${packages[*]}'"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || fail "apt-get update failed"
    apt-get install -qq --yes --no-install-recommends "${packages[@]}" >/dev/null ||
        fail "apt-get could not install ${packages[*]}"
fi

# --- Valkey: part of Debian 13 and later; for Debian 12, from its backports ---
if ! has valkey-server; then
    if ! apt-cache show valkey-server >/dev/null 2>&1; then
        # shellcheck source=/dev/null
        . /etc/os-release
        ((EUID == 0)) || fail "missing valkey-server: enable $VERSION_CODENAME-backports, then install it"
        echo "deb http://deb.debian.org/debian $VERSION_CODENAME-backports main" \
            >/etc/apt/sources.list.d/backports.list
        apt-get update -qq || fail "apt-get update failed"
    fi
    ((EUID == 0)) || fail "missing valkey-server: run 'sudo apt-get install valkey-server'"
    DEBIAN_FRONTEND=noninteractive \
        apt-get install -qq --yes --no-install-recommends valkey-server >/dev/null ||
        fail "apt-get could not install valkey-server"
fi

# --- From PyPI: what the tests and the checks need, with pinned versions, in .venv ---
.venv/bin/python -c 'import pip' 2>/dev/null || python3 -m venv --clear .venv ||
    fail "python3 cannot make .venv"
.venv/bin/pip install --quiet --disable-pip-version-check \
    --requirement tests/requirements.txt --requirement scripts/tools.txt ||
    fail "pip could not install what tests/requirements.txt and scripts/tools.txt ask for"

# --- From npm: the packages that tests/package.json pins, in tests/node_modules ---
(($(node -p 'parseInt(process.versions.node)') >= 20)) ||
    fail "node $(node --version) is too old for the clients in tests/package.json: 20 or newer"
if ! npm ls --prefix tests >/dev/null 2>&1; then
    npm install --prefix tests --silent --no-package-lock --no-audit --no-fund --ignore-scripts ||
        fail "npm could not install what tests/package.json asks for"
fi
