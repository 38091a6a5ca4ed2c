"""Two distributions hold the package: each alone and both together give `tracejury.sdk`, and either may be removed."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {"tracejury-sdk": ROOT / "deploy" / "sdk", "tracejury": ROOT}
NAMES = "from tracejury.sdk import LiveProcessor, agent, carry, judged, set_up, task; import tracejury.sdk as s; "
JUDGED = "\nwith judged() as run: pass\nprint(run.traces)"


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both wheels, by the locked hatchling: nothing is downloaded."""
    built = {}
    for name, source in SOURCES.items():
        folder = tmp_path_factory.mktemp(name)
        done = pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source))
        assert done.returncode == 0, done.stderr
        (built[name],) = folder.glob("*.whl")
    return built


def pip(*args: str) -> subprocess.CompletedProcess[str]:
    """`pip ARGS`."""
    return run([sys.executable, "-m", "pip", "--disable-pip-version-check", *args])


def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """A command, to its end."""
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)  # noqa: S603 - our own


class Place:
    """An environment that has what both depend on, and nothing of tracejury."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False)
        self.python = str(folder / "bin" / "python")
        (site,) = (folder / "lib").glob("python*/site-packages")
        for entry in Path(sysconfig.get_path("purelib")).iterdir():
            if "tracejury" not in entry.name:
                (site / entry.name).symlink_to(entry)

    def install(self, wheel: Path) -> None:
        """A wheel, without what it needs."""
        done = pip("--python", self.python, "install", "--no-deps", "--no-index", str(wheel))
        assert done.returncode == 0, done.stderr

    def uninstall(self, name: str) -> None:
        """A distribution."""
        done = pip("--python", self.python, "uninstall", "--yes", name)
        assert done.returncode == 0, done.stderr

    def says(self, program: str) -> str:
        """What a program prints that has the public names."""
        done = run([self.python, "-I", "-c", NAMES + program])
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.mark.parametrize("order", list(permutations(SOURCES)))
def test_either_may_be_installed_first_and_removed(
    tmp_path: Path, wheels: dict[str, Path], order: tuple[str, str]
) -> None:
    """The first takes no file of the second with it, which then stands alone."""
    place = Place(tmp_path / "v")
    for name in order:
        place.install(wheels[name])
    assert place.says(JUDGED) == "()"
    place.uninstall(order[0])
    if order[1] == "tracejury":
        assert place.says(JUDGED) == "()"
        return
    # Without tracejury all but judging works; that says in one line what is missing.
    assert place.says("import importlib.util as u; print(u.find_spec('tracejury.collector'))") == "None"
    told = place.says("\ntry:\n  judged().__enter__()\nexcept ImportError as e: print(e)")
    assert told.startswith("judged() needs the detectors: pip install tracejury")
    assert "\n" not in told


def test_no_file_is_owned_by_both(wheels: dict[str, Path]) -> None:
    """Installing or removing one can't break the other; and the small one depends on OpenTelemetry's SDK only."""
    held = {name: set(zipfile.ZipFile(wheel).namelist()) for name, wheel in wheels.items()}
    assert not held["tracejury"] & held["tracejury-sdk"]
    assert all(name.startswith(("tracejury/sdk/", "tracejury_sdk-")) for name in held["tracejury-sdk"])
    same = {name.replace("tracejury/sdk/", "tracejury/_sdk/") for name in held["tracejury-sdk"]}
    assert {name for name in same if name.startswith("tracejury/")} <= held["tracejury"]
    with zipfile.ZipFile(wheels["tracejury-sdk"]) as small:
        (metadata,) = [name for name in small.namelist() if name.endswith("METADATA")]
        needs = [line for line in small.read(metadata).decode().splitlines() if line.startswith("Requires-Dist")]
    assert [line for line in needs if "extra ==" not in line] == ["Requires-Dist: opentelemetry-sdk>=1.30"]


def test_the_big_one_holds_criteria_and_packs(wheels: dict[str, Path]) -> None:
    """All data files of the judges."""
    held = set(zipfile.ZipFile(wheels["tracejury"]).namelist())
    files = {f"tracejury/{file.relative_to(ROOT)}" for file in (ROOT / "judges").rglob("*.yaml")}
    assert "tracejury/judges/packs/pipa/pack.yaml" in files
    assert files <= held


def test_both_have_one_version(wheels: dict[str, Path]) -> None:
    """They are released together."""
    assert len({wheel.name.split("-")[1] for wheel in wheels.values()}) == 1
