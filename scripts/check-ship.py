#!/usr/bin/env python3
"""Checks what ships beside the code against the code: Dockerfile, compose.yaml and .github.

    scripts/check-ship.py [--self-test]

It needs PyYAML, which scripts/install-test-parts.sh installs in .venv; scripts/check-ship.sh finds it there.

dockerfile  Each path that COPY names exists and is sent to the builder (.dockerignore). Every folder of
            the workspace is copied. Each stage that is named exists. `cargo build -p` names a package,
            and the image of Rust is not older than `rust-version`. The last stage has a user other than
            root, and a health check of a path that the shop serves without a place in the room.
options     Each option and each environment variable of the shop exists in the source of its command line.
ports       The ports of EXPOSE, --listen, the health check and compose.yaml agree, and the shop does not
            listen on loopback in a container.
compose     Each service has a stage to build, or an image; `depends_on` names services.
workflows   Each script and path that a step runs exists. Permissions are `contents: read`, jobs have a
            timeout, actions are pinned to a commit or a major version, ./test.sh is called, and the
            toolchains are that of the Dockerfile and `rust-version`.
templates   Each form has a name, a description and distinct ids.
links       Relative links, and paths in backticks that contain a slash, lead to files.

YAML files are read with a parser that rejects duplicate keys.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

try:
    import yaml
except ImportError:
    sys.exit("check-ship.py needs PyYAML: run scripts/install-test-parts.sh, then scripts/check-ship.sh")

ROOT = Path(__file__).resolve().parent.parent
SHOP = "examples/shop/src"
# Read by the library for logging, and therefore not in the definition of the command line.
LOG_FILTER = "RUST_LOG"


class StrictLoader(yaml.SafeLoader):
    """A loader that rejects duplicate keys, and keeps `on` a string."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=deep) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"duplicate key {key!r}", node.start_mark)
        return super().construct_mapping(node, deep)


# YAML 1.1 reads `on`, `off`, `yes` and `no` as booleans, but GitHub and Compose read YAML 1.2.
StrictLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool" or first in "tTfF"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class Repository:
    """The files of a copy of the repository."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.manifest = tomllib.loads(self.text("Cargo.toml"))
        sources = [path.read_text() for path in sorted((root / SHOP).rglob("*.rs"))]
        # The attribute and the name of each field that clap reads from the command line.
        field = re.compile(r"#\[arg\((.*?)\)\]\s*(?:pub(?:\(crate\))? )?(\w+):", re.DOTALL)
        arguments = [argument for source in sources for argument in field.findall(source)]
        self.options = {
            "--" + name.replace("_", "-") for attribute, name in arguments if re.search(r"\blong\b", attribute)
        }
        self.environment = {LOG_FILTER} | {
            name for attribute, _ in arguments for name in re.findall(r'\benv = "(\w+)"', attribute)
        }
        served = {path for source in sources for path in re.findall(r'\.route\("([^"]+)"', source)}
        bypassed = {path for source in sources for path in re.findall(r'Bypass::path\("\w+", "([^"]+)"\)', source)}
        self.health = served & bypassed

    def text(self, path: str) -> str:
        return (self.root / path).read_text()

    def yaml(self, path: str):
        return yaml.load(self.text(path), Loader=StrictLoader)

    def has(self, path: str) -> bool:
        return (self.root / path).exists()

    @property
    def oldest_rust(self) -> tuple[int, ...]:
        return version(self.manifest["workspace"]["package"]["rust-version"])


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


# --- The Dockerfile -------------------------------------------------------------------------------


class Dockerfile:
    """The instructions of a Dockerfile by stage."""

    def __init__(self, text: str) -> None:
        self.stages: list[tuple[str, str, list[tuple[str, str]]]] = []
        without_comments = re.sub(r"(?m)^\s*#.*\n", "", text)
        for line in without_comments.replace("\\\n", " ").splitlines():
            word, _, rest = line.strip().partition(" ")
            if word.upper() == "FROM":
                image, _, name = rest.partition(" AS ")
                self.stages.append((name.strip(), image.strip(), []))
            elif word and self.stages:
                self.stages[-1][2].append((word.upper(), rest.strip()))

    def names(self) -> set[str]:
        return {name for name, _, _ in self.stages}

    def all(self, word: str) -> list[str]:
        return [rest for _, _, instructions in self.stages for found, rest in instructions if found == word]

    def last(self, word: str) -> str | None:
        """The instruction of this name that is in force in the last stage."""
        found = [rest for known, rest in self.stages[-1][2] if known == word]
        return found[-1] if found else None


def words(rest: str | None) -> list[str]:
    """The words of an instruction in the form of a list or of a shell command."""
    if not rest:
        return []
    return yaml.safe_load(rest) if rest.startswith("[") else shlex.split(rest)


def is_sent(path: str, patterns: list[str]) -> bool:
    """Whether .dockerignore lets a path through. The last pattern that matches it or a folder above decides."""
    sent, parts = True, Path(path).parts
    above = ["/".join(parts[: index + 1]) for index in range(len(parts))]
    for pattern in patterns:
        bare = pattern.removeprefix("!").removeprefix("**/")
        if any(fnmatch(folder, bare) and folder.count("/") <= bare.count("/") for folder in above):
            sent = pattern.startswith("!")
    return sent


def dockerfile(repository: Repository, file: Dockerfile) -> Iterator[str]:
    ignored = [line for line in repository.text(".dockerignore").splitlines() if line and not line.startswith("#")]
    copied = set()
    for rest in file.all("COPY"):
        flags = [word for word in rest.split() if word.startswith("--")]
        sources = [word for word in rest.split() if not word.startswith("--")][:-1]
        origin = next((flag.partition("=")[2] for flag in flags if flag.startswith("--from=")), None)
        if origin is not None:
            if origin not in file.names():
                yield f"Dockerfile: COPY --from={origin} names no stage"
            continue
        for source in sources:
            copied.add(source)
            if not repository.has(source):
                yield f"Dockerfile: COPY {source} names no file"
            elif not is_sent(source, ignored):
                yield f"Dockerfile: COPY {source} is excluded by .dockerignore"
    for member in repository.manifest["workspace"]["members"]:
        if member.partition("/")[0] not in copied:
            yield f"Dockerfile: the member {member} of the workspace is not copied"
    packages = {tomllib.loads(path.read_text())["package"]["name"] for path in repository.root.glob("*/*/Cargo.toml")}
    for package in re.findall(r"cargo build[^&|;]* -p (\S+)", " ".join(file.all("RUN"))):
        if package not in packages:
            yield f"Dockerfile: cargo build -p {package} names no package"
    for _, image, _ in file.stages:
        found = re.match(r"rust:(\d+\.\d+)", image)
        if found and version(found[1]) < repository.oldest_rust:
            yield f"Dockerfile: {image} is older than rust-version"
    if (file.last("USER") or "root").partition(":")[0] in {"root", "0"}:
        yield "Dockerfile: the last stage runs as root"
    urls = re.findall(r"http://[^/\"\s]+(/[^\"\s]*)", file.last("HEALTHCHECK") or "")
    if len(urls) != 1 or urls[0] not in repository.health:
        yield f"Dockerfile: the health check has to ask for one of {sorted(repository.health)}, not {urls}"


# --- Options, ports and compose.yaml --------------------------------------------------------------


def commands(file: Dockerfile, compose: dict) -> Iterator[tuple[str, list[str]]]:
    """Each command line of the shop, with its origin."""
    yield "Dockerfile", words(file.last("ENTRYPOINT")) + words(file.last("CMD"))
    for name, service in compose["services"].items():
        if "build" in service and "command" in service:
            yield f"compose.yaml: {name}", words(file.last("ENTRYPOINT")) + list(service["command"])


def options(repository: Repository, file: Dockerfile, compose: dict) -> Iterator[str]:
    for origin, command in commands(file, compose):
        if not command or Path(command[0]).name != "shop":
            yield f"{origin}: the program is {command[:1]}, not shop"
        for word in command[1:]:
            if word.startswith("-") and word.partition("=")[0] not in repository.options:
                yield f"{origin}: the shop has no option {word}"
    for name, service in compose["services"].items():
        given = service.get("environment", []) if "build" in service else []
        for variable in given:
            if variable.partition("=")[0] not in repository.environment:
                yield f"compose.yaml: {name}: the shop reads no variable {variable.partition('=')[0]}"


def ports(file: Dockerfile, compose: dict) -> Iterator[str]:
    exposed = set(file.all("EXPOSE"))
    asked = set(re.findall(r"http://[^/:\"\s]+:(\d+)/", file.last("HEALTHCHECK") or ""))
    if asked != exposed:
        yield f"Dockerfile: EXPOSE names {sorted(exposed)}, the health check {sorted(asked)}"
    for origin, command in commands(file, compose):
        address = command[command.index("--listen") + 1] if "--listen" in command[:-1] else "127.0.0.1:3000"
        host, _, port = address.rpartition(":")
        if host in {"127.0.0.1", "[::1]"}:
            yield f"{origin}: the shop listens on {host}, which cannot be reached from outside of its container"
        if {port} != exposed:
            yield f"{origin}: EXPOSE names {sorted(exposed)}, --listen {port}"
    for name, service in compose["services"].items():
        for published in service.get("ports", []) if "build" in service else []:
            inner = str(published).rpartition(":")[2].partition("/")[0]
            if inner not in exposed:
                yield f"compose.yaml: {name}: publishes {inner}, EXPOSE names {sorted(exposed)}"


def services(repository: Repository, file: Dockerfile, compose: dict) -> Iterator[str]:
    for name, service in compose["services"].items():
        if ("build" in service) == ("image" in service):
            yield f"compose.yaml: {name}: either build or image, and not both"
        build = service.get("build", {})
        if build and build.get("target") not in file.names():
            yield f"compose.yaml: {name}: the Dockerfile has no stage {build.get('target')}"
        if build and not repository.has(build.get("context", "missing")):
            yield f"compose.yaml: {name}: there is no folder {build.get('context')}"
        for other in service.get("depends_on", []):
            if other not in compose["services"]:
                yield f"compose.yaml: {name}: depends on {other}, which is no service"


# --- .github --------------------------------------------------------------------------------------


def workflows(repository: Repository, file: Dockerfile) -> Iterator[str]:
    tested = False
    for path in sorted((repository.root / ".github/workflows").glob("*.yml")):
        workflow = repository.yaml(f".github/workflows/{path.name}")
        if workflow.get("permissions") != {"contents": "read"}:
            yield f"{path.name}: permissions are more than contents: read, or not given"
        if not re.search(r'sed -n [^\n]*rust-version[^\n]* Cargo\.toml', path.read_text()):
            yield f"{path.name}: the oldest supported toolchain is not that of Cargo.toml"
        for name, job in workflow["jobs"].items():
            if "timeout-minutes" not in job:
                yield f"{path.name}: {name} has no timeout"
            if "permissions" in job:
                yield f"{path.name}: {name} has permissions of its own"
            container = job.get("container", {})
            image = container.get("image") if isinstance(container, dict) else container
            if image not in {image for _, image, _ in file.stages}:
                yield f"{path.name}: {name} runs in {image}, which is no image of the Dockerfile"
            for step in job["steps"]:
                action = step.get("uses", "owner/name@v1")
                if not re.fullmatch(r"[\w.-]+(/[\w.-]+)+@([0-9a-f]{40}|v\d+)", action):
                    yield f"{path.name}: {action} is not pinned to a commit or a major version"
                run = step.get("run", "")
                tested |= "./test.sh" in run.split()
                for command in re.findall(r"(?m)(?:^|[\s;&|(])(?:\./([\w./-]+)|((?:scripts|\.ci)/[\w./-]+))", run):
                    named = command[0] or command[1]
                    found = repository.root / named
                    if not found.is_file() or not found.stat().st_mode & 0o111:
                        yield f"{path.name}: {named} is no program of the repository"
    if not tested:
        yield ".github/workflows: no step runs ./test.sh"


def templates(repository: Repository) -> Iterator[str]:
    for path in sorted((repository.root / ".github/ISSUE_TEMPLATE").glob("*.yml")):
        form = repository.yaml(f".github/ISSUE_TEMPLATE/{path.name}")
        if path.name == "config.yml":
            continue
        for field in ("name", "description", "body"):
            if not form.get(field):
                yield f"{path.name}: has no {field}"
        parts = form.get("body") or []
        for field in ("id", "label"):
            given = [part.get("attributes", {}).get(field) if field == "label" else part.get(field) for part in parts]
            for value in sorted({value for value in given if value and given.count(value) > 1}):
                yield f"{path.name}: the {field} {value} is there twice"


def links(repository: Repository) -> Iterator[str]:
    pages = ["SECURITY.md", "CONTRIBUTING.md"]
    pages += [str(path.relative_to(repository.root)) for path in sorted((repository.root / ".github").rglob("*.*"))]
    for page in pages:
        text = repository.text(page)
        if page.endswith(".md"):
            for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
                if "://" not in link and not (repository.root / page).parent.joinpath(link).exists():
                    yield f"{page}: {link} leads nowhere"
        for path in re.findall(r"`((?:docs|scripts|examples|crates|tests)/[\w./-]*)`", text):
            if "NNN" not in path and not repository.has(path):
                yield f"{page}: there is no {path}"


def findings(root: Path) -> list[str]:
    try:
        repository = Repository(root)
        file = Dockerfile(repository.text("Dockerfile"))
        compose = repository.yaml("compose.yaml")
        return [
            *dockerfile(repository, file),
            *options(repository, file, compose),
            *ports(file, compose),
            *services(repository, file, compose),
            *workflows(repository, file),
            *templates(repository),
            *links(repository),
        ]
    except yaml.YAMLError as error:
        return [f"not YAML: {error}"]


# --- The test of this script ----------------------------------------------------------------------

# A file, a text in it, what takes its place, and a part of the finding.
MUTATIONS = [
    ("Dockerfile", "COPY tests tests", "COPY test tests", "COPY test names no file"),
    ("Dockerfile", "COPY tests tests\n", "", "the member tests of the workspace is not copied"),
    ("Dockerfile", "COPY tests tests", "COPY tests docs ./", "docs is excluded by .dockerignore"),
    (".dockerignore", "!crates\n", "", "COPY crates is excluded"),
    ("Dockerfile", "--from=build", "--from=builder", "names no stage"),
    ("Dockerfile", "-p shop", "-p shops", "names no package"),
    ("Dockerfile", "rust:1.95", "rust:1.70", "older than rust-version"),
    ("Dockerfile", "USER 10001:10001\n", "", "runs as root"),
    ("Dockerfile", "USER 10001:10001", "USER 0:0", "runs as root"),
    ("Dockerfile", "/healthz", "/health", "the health check has to ask"),
    ("Dockerfile", "/healthz", "/", "the health check has to ask"),
    ("Dockerfile", '["--listen", "0', '["--address", "0', "no option --address"),
    ("Dockerfile", '"0.0.0.0:3000"', '"127.0.0.1:3000"', "cannot be reached"),
    ("Dockerfile", "EXPOSE 3000", "EXPOSE 8080", "EXPOSE names ['8080']"),
    ("Dockerfile", '"0.0.0.0:3000"', '"0.0.0.0:8080"', "--listen 8080"),
    ("Dockerfile", 'ENTRYPOINT ["shop"]', 'ENTRYPOINT ["shoppe"]', "not shop"),
    ("compose.yaml", '"--rate"', '"--store"', "no option --store"),
    ("compose.yaml", "- SHOP_KEY", "- SHOP_KEYS", "reads no variable SHOP_KEYS"),
    ("compose.yaml", "target: shop", "target: store", "no stage store"),
    ("compose.yaml", ":3000:3000", ":3000:80", "publishes 80"),
    ("compose.yaml", "    read_only: true", "    depends_on: [valkey]", "valkey, which is no service"),
    ("compose.yaml", "    read_only: true", "    command: []", "duplicate key 'command'"),
    ("compose.yaml", "services:", "services: [", "not YAML"),
    (f"{SHOP}/app.rs", '.route("/healthz"', '.route("/live"', "the health check has to ask"),
    (f"{SHOP}/room.rs", "pub rate: u32", "pub pace: u32", "no option --rate"),
    (".github/workflows/ci.yml", "run: ./test.sh", "run: ./tests.sh", "tests.sh is no program"),
    (".github/workflows/ci.yml", "run: ./test.sh", "run: cargo test", "no step runs ./test.sh"),
    (".github/workflows/ci.yml", "run: ./test.sh", "run: scripts/gone.sh", "gone.sh is no program"),
    (".github/workflows/ci.yml", "contents: read", "contents: write", "permissions are more"),
    (".github/workflows/ci.yml", "    timeout-minutes: 90\n", "", "has no timeout"),
    (".github/workflows/ci.yml", "# v7.0.1", "", None),
    (".github/workflows/ci.yml", "3d3c42e5aac5ba805825da76410c181273ba90b1", "main", "not pinned"),
    (".github/workflows/ci.yml", "image: rust:1.95-trixie", "image: rust:1.99-trixie", "no image of the Dockerfile"),
    (".github/workflows/ci.yml", "^rust-version", "^edition", "not that of Cargo.toml"),
    (".github/ISSUE_TEMPLATE/bug.yml", "id: proxies", "id: store", "the id store is there twice"),
    (".github/ISSUE_TEMPLATE/bug.yml", "description: The layer", "about: The layer", "has no description"),
    (".github/ISSUE_TEMPLATE/question.yml", "docs/redis.md", "docs/valkey.md", "no docs/valkey.md"),
    ("SECURITY.md", "](docs/abuse.md)", "](docs/abuses.md)", "leads nowhere"),
]


def copy(to: Path) -> None:
    """Copies the files that are mutated, and links to the others."""
    mutated = {Path(file).parts[0] for file, *_ in MUTATIONS}
    for path in ROOT.iterdir():
        if path.name in mutated - {"examples"}:
            shutil.copytree(path, to / path.name) if path.is_dir() else shutil.copy(path, to / path.name)
        elif path.name not in {"examples", "target"}:
            (to / path.name).symlink_to(path)
    (to / "examples").mkdir()
    for path in (ROOT / "examples").iterdir():
        if path.name != "shop":
            (to / "examples" / path.name).symlink_to(path)
    shutil.copytree(ROOT / "examples/shop", to / "examples/shop")


def self_test() -> int:
    """Each mutation of a copy has its finding, and the copy without one has none."""
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        copy(root)
        if found := findings(root):
            failed.append(f"without a mutation: {found}")
        for file, old, new, expected in MUTATIONS:
            path = root / file
            text = path.read_text()
            if old not in text:
                failed.append(f"{file} does not contain {old!r}: adapt MUTATIONS")
                continue
            path.write_text(text.replace(old, new))
            found = findings(root)
            path.write_text(text)
            if (expected is None) != (not found) or (expected and not any(expected in line for line in found)):
                failed.append(f"{file}: {old!r} → {new!r}: expected {expected!r}, found {found}")
    print("\n".join([*failed, f"{len(MUTATIONS) + 1} tests, {len(failed)} failed"]))
    return 1 if failed else 0


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if sys.argv[1:]:
        sys.exit("usage: scripts/check-ship.py [--self-test]")
    found = findings(ROOT)
    print("\n".join(found) or "nothing found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
