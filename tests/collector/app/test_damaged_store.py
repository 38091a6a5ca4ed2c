"""A collector whose store is removed under it, or was damaged while it was off: it says so, and nothing is silent."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from house import House, open_house
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from processes import put_new_store, tracejury

from tracejury.collector.api.client import ApiClient


def request(number: int) -> ExportTraceServiceRequest:
    """A trace of two spans."""
    found = ExportTraceServiceRequest()
    spans = found.resource_spans.add().scope_spans.add().spans
    for n in (1, 2):
        spans.add(
            trace_id=number.to_bytes(16, "big"), span_id=n.to_bytes(8, "big"), name="step",
            parent_span_id=(n - 1).to_bytes(8, "big") if n > 1 else b"",
            start_time_unix_nano=1_700_000_000 * 10**9, end_time_unix_nano=1_700_000_001 * 10**9,
        )  # fmt: skip
    return found


def ready(house: House) -> httpx.Response:
    return httpx.get(f"{house.url}/readyz", trust_env=False, timeout=30)


def listed(house: House) -> set[str]:
    return {one["trace_id"] for one in house.traces()}


def trace_id(number: int) -> str:
    return f"{number:032x}"


MANY_FILES = """
import os
os.umask(0o077)
from tracejury.collector.store.client import Store
store = Store.open("chdb:///./.tracejury/db")
store.command("ALTER TABLE spans MODIFY SETTING min_bytes_for_full_part_storage = 0")
store.close()
"""
"""Has parts made of many files, as large ones are: of one that is a single file less can be damaged by itself."""


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folder of a collector that judged two traces, each in a part of its own, and was stopped, and a copy."""
    folder = tmp_path_factory.mktemp("left") / "folder"
    put_new_store(folder)
    subprocess.run([sys.executable, "-c", MANY_FILES], cwd=folder, check=True)  # noqa: S603  an engine of its own
    with open_house(folder) as house:
        for number in (1, 2):
            house.put(request(number))
            house.wait_until_settled(number)
        assert ready(house).json() == {"status": "ready"}
        assert house.serving.stop() == 0
    return folder, Path(shutil.copytree(folder, folder.with_name("copy"), symlinks=True))


@pytest.fixture
def stopped(left: tuple[Path, Path]) -> Path:
    """That folder as it was left; the engine's links hold its path, so a store works in its own place only."""
    folder, copy = left
    shutil.rmtree(folder)
    return Path(shutil.copytree(copy, folder, symlinks=True))


def test_a_folder_that_is_removed(tmp_path: Path) -> None:
    """From then on nothing is acknowledged, and the collector is not ready."""
    with open_house(tmp_path) as house:
        house.put(request(1))
        house.wait_until_settled(1)
        shutil.rmtree(tmp_path / ".tracejury" / "db", ignore_errors=True)
        with pytest.raises(httpx.HTTPStatusError) as refused:
            house.put(request(2))
        assert refused.value.response.status_code == 503
        answer = ready(house)
        assert answer.status_code == 503
        assert "of the store" in answer.json()["detail"]
        read = httpx.get(f"{house.url}/api/traces/{1:032x}", trust_env=False, timeout=30)
        assert read.status_code == 503
        assert "cannot be found any more" in read.json()["detail"]


def test_a_folder_that_is_replaced(tmp_path: Path) -> None:
    """Another folder at its place is another store."""
    with open_house(tmp_path) as house:
        house.put(request(1))
        folder = tmp_path / ".tracejury" / "db"
        folder.rename(tmp_path / "moved")
        shutil.copytree(tmp_path / "moved", folder)
        with pytest.raises(httpx.HTTPStatusError):
            house.put(request(2))
        assert "was replaced" in ready(house).json()["detail"]


def test_only_its_own_user_may_read(stopped: Path) -> None:
    """The store's folder, and what lies beside it."""
    folder = stopped / ".tracejury"
    assert stat.S_IMODE((folder / "db").stat().st_mode) == 0o700
    wide = [p for p in folder.rglob("*") if p.stat().st_mode & 0o077]
    assert wide == []


def test_damage_while_it_was_off(stopped: Path) -> None:
    """The loss is said and counted; `store repair` saves what it can, and gives the rest up when told to."""
    parts = spans_parts(stopped)
    (parts[0] / "count.txt").write_text("")
    shutil.rmtree(parts[1])
    with open_house(stopped) as house:
        answer = ready(house)
        assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
        losses = " ".join(answer.json()["losses"])
        assert f"{parts[0].name} (2 rows) was damaged and set aside" in losses
        assert f"{parts[1].name} (2 rows) is gone" in losses
        assert listed(house) == set()
        assert house.serving.stop() == 0
    checked = store(stopped, "check")
    assert checked.returncode == 1
    for number in (1, 2):
        assert f"trace {trace_id(number)}: 2 of 2 spans are lost" in checked.stdout
    repaired = store(stopped, "repair")
    assert f"{parts[0].name}: 2 rows saved, 0 lost" in repaired.stdout
    assert repaired.returncode == 1
    assert "--give-up" in repaired.stderr
    given_up = store(stopped, "repair", "--give-up")
    assert (given_up.returncode, given_up.stdout.splitlines()[-1]) == (0, "the store is complete")
    with open_house(stopped) as house:
        assert ready(house).json() == {"status": "ready"}
        assert listed(house) == {trace_id(1)}


def test_a_deletion_before_a_crash(stopped: Path) -> None:
    """Parts that it emptied are not missed, although the process died before the next look at the store."""
    with open_house(stopped) as house:
        with ApiClient(house.url) as client:
            for number in (1, 2):
                client.delete_trace(trace_id(number))
        house.serving.process.kill()
        house.serving.process.wait(30)
    for part in spans_parts(stopped):
        shutil.rmtree(part)  # as the engine does soon after
    with open_house(stopped) as house:
        assert ready(house).json() == {"status": "ready"}


def store(folder: Path, *args: str) -> Any:
    """`tracejury store ARGS` on the folder's store."""
    return tracejury("store", *args, folder=folder)


def spans_parts(folder: Path) -> list[Path]:
    """The parts of the table of spans, in the order of their inserts: only there is a column of events."""
    columns = (folder / ".tracejury/db/store").glob("*/*/*/columns.txt")
    return sorted(p.parent for p in columns if "`Events.Nanos`" in p.read_text() and p.parent.name[:4].isdigit())
