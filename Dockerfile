# syntax=docker/dockerfile:1
# The shop of examples/shop, on Debian:
#
#   docker build --tag shop .
#   docker run --rm --publish 127.0.0.1:3000:3000 shop
#
# Options of the shop replace those at the end of this file, so they have to include --listen:
#
#   docker run --rm --publish 127.0.0.1:3000:3000 shop --listen 0.0.0.0:3000 --limit 1

FROM rust:1.95-trixie AS build
WORKDIR /src
# Cargo reads the manifest of every member of the workspace, also to build only one of them.
COPY Cargo.toml Cargo.lock ./
COPY crates crates
COPY examples examples
COPY tests tests
# The caches do not become part of the image, so the program is copied out of them.
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,target=/src/target,sharing=locked \
    cargo build --locked --release -p shop \
    && cp target/release/shop /usr/local/bin/shop

FROM debian:trixie-slim AS shop
# The health check needs curl. Debian keeps only one version of a package, so none is pinned.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends curl \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 shop \
    && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin shop
COPY --from=build /usr/local/bin/shop /usr/local/bin/shop
# By number, so that Kubernetes can check that the user is not root.
USER 10001:10001
EXPOSE 3000
# The room does not apply to this path, so a full room is healthy.
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 \
    CMD ["curl", "--fail", "--silent", "--output", "/dev/null", "http://127.0.0.1:3000/healthz"]
ENTRYPOINT ["shop"]
CMD ["--listen", "0.0.0.0:3000"]
