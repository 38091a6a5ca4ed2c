"""requirements/*.txt hold what pyproject.toml asks for, each file with its hash, for every Python and platform."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
CORE = [*PROJECT["project"]["dependencies"], "tracejury[embedded,llm,mcp]"]
ENVIRONMENTS = [
    {"python_version": minor, "python_full_version": f"{minor}.0", "sys_platform": "linux", "platform_machine": machine}
    for minor in ("3.11", "3.12", "3.13")
    for machine in ("x86_64", "aarch64")
]


def declared(entries: list[str | dict[str, str]]) -> list[Requirement]:
    """Requirements of a list of pyproject.toml, with those of the groups and extras that it includes."""
    found = []
    for entry in entries:
        if isinstance(entry, dict):
            found += declared(PROJECT["dependency-groups"][entry["include-group"]])
            continue
        requirement = Requirement(entry)
        if requirement.name == PROJECT["project"]["name"]:
            for extra in requirement.extras:
                found += declared(PROJECT["project"]["optional-dependencies"][extra])
        else:
            found.append(requirement)
    return found


def blocks(name: str) -> list[str]:
    """Each entry of a lock on one line: an option, or a requirement with its hashes."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text().replace("\\\n", "")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def locked(name: str) -> list[Requirement]:
    """The requirements of a lock."""
    return [Requirement(block.partition(" --hash")[0]) for block in blocks(name) if not block.startswith("-")]


LOCKS: dict[str, list[str | dict[str, str]]] = {
    "runtime": [*CORE, {"include-group": "build"}],
    "dev": [*CORE, {"include-group": "dev"}],
    "frameworks": [{"include-group": "frameworks"}],
    "phoenix": [{"include-group": "phoenix"}],
}


def test_each_lock_is_known() -> None:
    assert sorted(path.stem for path in (ROOT / "requirements").iterdir()) == sorted(LOCKS)


@pytest.mark.parametrize("name", LOCKS)
def test_every_requirement_is_pinned_and_has_hashes(name: str) -> None:
    """No other option, address or index: the one that is there forbids builds, whose tools no hash would cover."""
    options = [block for block in blocks(name) if block.startswith("-")]
    assert options == ["--only-binary :all:"]
    for block in blocks(name):
        if block not in options:
            pin, *hashes = [part.strip() for part in block.split("--hash=")]
            assert [s.operator for s in Requirement(pin).specifier] == ["=="], pin
            assert hashes, pin
            assert all(digest.startswith("sha256:") for digest in hashes), pin


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda e: f"{e['python_version']}-{e['platform_machine']}")
@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_satisfies_what_is_declared(name: str, environment: dict[str, str]) -> None:
    """After a change of dependencies: `make lock`."""
    pins: dict[str, str] = {}
    for pin in locked(name):
        if pin.marker is None or pin.marker.evaluate(environment):
            assert canonicalize_name(pin.name) not in pins, pin
            (only,) = pin.specifier
            pins[canonicalize_name(pin.name)] = only.version
    for wanted in declared(LOCKS[name]):
        if wanted.marker is None or wanted.marker.evaluate(environment):
            version = pins.get(canonicalize_name(wanted.name))
            assert version is not None, f"{wanted} is not in requirements/{name}.txt: make lock"
            assert wanted.specifier.contains(version, prereleases=True), f"{wanted} is not {version}: make lock"


def test_tests_run_with_the_versions_of_images() -> None:
    tested = {str(pin) for pin in locked("dev")}
    assert [pin for pin in map(str, locked("runtime")) if pin not in tested] == []


def test_the_build_is_locked_too() -> None:
    assert PROJECT["dependency-groups"]["build"] == PROJECT["build-system"]["requires"]
