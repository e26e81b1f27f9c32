# syntax=docker/dockerfile:1
# The shop of examples/shop, and the ledger of many sites, each on Debian:
#
#   docker build --tag shop .
#   docker run --rm --publish 127.0.0.1:3000:3000 shop
#   docker build --tag waiting-room-ledger --target ledger .
#   docker run --rm waiting-room-ledger --help
#
# Options of a program replace those at the end of its part, so they have to include the addresses to listen on:
#
#   docker run --rm --publish 127.0.0.1:3000:3000 shop --listen 0.0.0.0:3000 --quiet-shop

FROM rust:1.95-trixie AS source
WORKDIR /src
# Cargo reads the manifest of every member of the workspace, also to build only one of them.
COPY Cargo.toml Cargo.lock ./
COPY crates crates
COPY examples examples
COPY tests tests

# The caches do not become part of an image, so each program is copied out of them.
FROM source AS build-ledger
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,target=/src/target,sharing=locked \
    cargo build --locked --release -p waiting-room-ledger \
    && cp target/release/waiting-room-ledger /usr/local/bin/waiting-room-ledger

FROM source AS build-shop
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,target=/src/target,sharing=locked \
    cargo build --locked --release -p shop \
    && cp target/release/shop /usr/local/bin/shop

FROM debian:trixie-slim AS base
# The health checks need curl. Debian keeps only one version of a package, so none is pinned.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends curl \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 service \
    && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin service
# By number, so that Kubernetes can check that the user is not root.
USER 10001:10001

FROM base AS ledger
COPY --from=build-ledger /usr/local/bin/waiting-room-ledger /usr/local/bin/waiting-room-ledger
# The sites and the operators, and Prometheus.
EXPOSE 7400 7401
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 \
    CMD ["curl", "--fail", "--silent", "--output", "/dev/null", "http://127.0.0.1:7401/health"]
ENTRYPOINT ["waiting-room-ledger"]
CMD ["serve", "--room", "shop", "--listen", "0.0.0.0:7400", "--metrics", "0.0.0.0:7401", \
     "--site-keys", "/run/secrets/sites.key", "--operator-keys", "/run/secrets/operators.key"]

FROM base AS shop
COPY --from=build-shop /usr/local/bin/shop /usr/local/bin/shop
EXPOSE 3000
# The room does not apply to this path, so a full room is healthy.
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 \
    CMD ["curl", "--fail", "--silent", "--output", "/dev/null", "http://127.0.0.1:3000/healthz"]
ENTRYPOINT ["shop"]
CMD ["--listen", "0.0.0.0:3000"]
