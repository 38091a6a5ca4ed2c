"""Backups of a collector that runs, restored elsewhere: real processes, killed where it hurts most."""

from __future__ import annotations

import json
import shutil
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import processes
import pytest
from click.testing import CliRunner
from google.protobuf.message import Message
from house import House, open_house
from otlp_parts import span, text, traces
from processes import tracejury
from sizes import sized

from tracejury.collector.cli.root import root
from tracejury.collector.store.backup import PARTIAL
from tracejury.collector.store.backup_manifest import DATA, MANIFEST

pytest.importorskip("chdb", reason="the embedded engine is not installed")

KIND = "openinference.span.kind"
SECOND = 10**9
T0 = 1_700_000_000 * SECOND
STORE = Path(".tracejury/db")
ROUNDS = sized(3, 12)


def request(number: int) -> Message:
    """A run whose tool call fails, so that something is found."""
    trace = number.to_bytes(16)
    root = span(
        trace_id=trace, span_id=b"agent001", name="agent", end_time_unix_nano=T0 + 3 * SECOND,
        attributes=[text(KIND, "AGENT"), text("agent.name", "agent"), text("input.value", "Find it.")],
    )  # fmt: skip
    model = span(
        trace_id=trace, span_id=b"llm00001", parent_span_id=b"agent001", name="llm",
        end_time_unix_nano=T0 + SECOND,
        attributes=[
            text(KIND, "LLM"), text("llm.model_name", "some-model"),
            text("llm.input_messages.0.message.role", "user"),
            text("llm.input_messages.0.message.content", "Find it."),
            text("llm.output_messages.0.message.role", "assistant"),
            text("llm.output_messages.0.message.tool_calls.0.tool_call.function.name", "search"),
            text("llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments", "{}"),
        ],
    )  # fmt: skip
    tool = span(
        trace_id=trace, span_id=b"tool0001", parent_span_id=b"agent001", name="search",
        start_time_unix_nano=T0 + SECOND + 1, end_time_unix_nano=T0 + 2 * SECOND,
        attributes=[
            text(KIND, "TOOL"), text("tool.name", "search"),
            text("output.value", "Error: TypeError: unexpected keyword argument 'q'"),
        ],
    )  # fmt: skip
    return traces(root, model, tool)


def seen(house: House) -> dict[str, Any]:
    """State and findings of all traces, by id."""
    return {
        one["trace_id"]: (one["state"], sorted((f["id"], f["category"]) for f in house.findings(one["trace_id"])))
        for one in house.traces()
    }


def backup(folder: Path, house: House, *args: str) -> Path:
    """By the command, asking the running collector; its folder."""
    made = tracejury("store", "backup", *args, "--url", house.url, "--format", "json", folder=folder)
    assert made.returncode == 0, made.stderr
    return Path(json.loads(made.stdout)["folder"])


def restored(folder: Path, source: Path, dsn: str = "chdb:///./.tracejury/db") -> subprocess.CompletedProcess[str]:
    return tracejury("store", "restore", str(source), "--store", dsn, folder=folder)


def refused(*args: str, **env: str) -> str:
    """The one line on stderr of a command that is refused before it opens a store."""
    answer = CliRunner().invoke(root, ["store", *args], env=env)
    assert answer.exit_code != 0
    (line,) = answer.stderr.splitlines()
    return line


def not_restored(source: Path, folder: Path) -> str:
    return refused("restore", str(source), "--store", f"chdb://{folder / STORE}")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A whole backup of three judged traces and one that is not, and what a collector then says of its store."""
    folder = tmp_path_factory.mktemp("original")
    with open_house(folder) as house:
        for number in (1, 2, 3):
            house.put(request(number))
        house.wait_until_settled(3)
    (folder / "tracejury.yaml").unlink()
    with open_house(folder, quiet_seconds=600) as house:
        house.put(request(4))
        source = backup(folder, house, "monday")
        house.put(request(5))
        assert house.serving.stop() == 0
    with open_house(folder) as house:
        house.wait_until_settled(5)
        found = {trace_id: what for trace_id, what in seen(house).items() if trace_id != f"{5:032x}"}
    assert any(findings for _, findings in found.values())
    return source, found


@pytest.fixture
def source(made: tuple[Path, dict[str, Any]], tmp_path: Path) -> Path:
    """A copy of that backup, away from its store."""
    return Path(shutil.copytree(made[0], tmp_path / "copy of it"))


def test_a_restored_store_says_the_same(source: Path, made: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    """What was judged is there, the rest is judged at the start, what came later is not there; nothing is lost.

    Also after `kill -9` of those who began to restore: there is no half of a store. What is there stays.
    """
    (tmp_path / ".tracejury").mkdir()
    stale = tmp_path / ".tracejury" / "db.tracejury.parts.json"  # of a store that was there before
    stale.write_text(json.dumps({"parts": {"spans": {"20240101_1_1_0": 7}}, "missing": {}}))
    for at in ("restore._fill", "restore.apply_settings", "restore.record_of"):
        killed(at, "store", "restore", str(source), folder=tmp_path)
        assert list((tmp_path / STORE).iterdir()) == []
    answer = restored(tmp_path, source)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "start the collector" in answer.stdout
    assert stat.S_IMODE((tmp_path / STORE).stat().st_mode) == 0o700
    assert sorted(path.name for path in (tmp_path / ".tracejury").iterdir()) == ["db", "db.lock"]
    assert "is not empty" in not_restored(source, tmp_path)
    with open_house(tmp_path) as house:
        assert "is held by process" in not_restored(source, tmp_path)
        house.wait_until_settled(4)
        assert seen(house) == made[1]
        assert httpx.get(f"{house.url}/readyz", trust_env=False).json() == {"status": "ready"}
        house.put(request(6))
        house.wait_until_settled(5)
        assert house.serving.stop() == 0
    checked = tracejury("store", "check", folder=tmp_path)
    assert checked.returncode == 0, checked.stdout


def test_a_backup_holds_no_key_and_no_path(source: Path, tmp_path: Path) -> None:
    """Only the engine's files and the manifest: it restores at any place."""
    assert sorted(path.name for path in source.iterdir()) == [DATA, MANIFEST]
    assert all(str(STORE) not in path.read_text() for path in source.rglob("*.sql"))
    other = "chdb:///./other/place?database=other"
    assert restored(tmp_path, source, other).returncode == 0
    assert tracejury("store", "check", "--store", other, folder=tmp_path).returncode == 0


def test_of_another_version(source: Path, tmp_path: Path) -> None:
    """A newer one is refused; what is no backup, or half of one, and a server, too. Nothing is made then."""
    assert "server" in refused("restore", str(source), "--store", "clickhouse://127.0.0.1:1/x")
    manifest = source / MANIFEST
    known = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(known | {"migrations": known["migrations"] | {"9999_new.sql": "x"}}))
    assert "has migration 9999_new.sql, which this version does not know" in not_restored(source, tmp_path)
    manifest.unlink()
    assert "no whole backup" in not_restored(source, tmp_path)
    assert "no whole backup" in not_restored(tmp_path / "nowhere", tmp_path)
    assert not (tmp_path / STORE).exists()


def test_of_an_older_version(tmp_path: Path) -> None:
    """It is restored as it is, and migrated by the next start."""
    script = """
from pathlib import Path
from tracejury.collector.store.backup import Backups
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.migrate import migrate, migrations
store = SharedStore.open("chdb:///./old/db")
migrate(store, migrations()[:12])
Backups(store).make("old")
store.close()
"""
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)  # noqa: S603  ours
    assert restored(tmp_path, tmp_path / "old" / "backups" / "old").returncode == 0
    assert "lacks" in tracejury("store", "check", folder=tmp_path).stderr
    with open_house(tmp_path) as house:
        house.put(request(1))
        house.wait_until_settled(1)


def test_a_store_that_no_collector_uses(tmp_path: Path) -> None:
    """The command opens it itself, with or without its name; not where there is none, and not beside a collector."""
    for command in ("backup", "check", "repair"):
        assert "no store in" in refused(command, "--store", f"chdb://{tmp_path}/none/db")
    assert not (tmp_path / "none").exists()
    assert "no collector answers" in refused("backup", TRACEJURY_URL="http://127.0.0.1:1")
    assert "--folder goes with --store" in refused("backup", "--folder", "x")
    to = ("backup", "mine", "--store", "chdb:///./.tracejury/db", "--folder", "elsewhere")
    with open_house(tmp_path) as house:
        house.put(request(1))
        assert "is held by process" in tracejury("store", *to, folder=tmp_path).stderr
        assert house.serving.stop() == 0
    answer = tracejury("store", *to, folder=tmp_path)
    assert answer.stdout.startswith(f"{tmp_path / 'elsewhere' / 'mine'}: ")
    assert "choose another name" in tracejury("store", *to, folder=tmp_path).stderr
    assert restored(tmp_path, tmp_path / "elsewhere" / "mine", "chdb:///./new/db").returncode == 0


KILLED = """
import os, signal, sys
from tracejury.collector.cli import main
from tracejury.collector.store import backup, restore
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
module, name = sys.argv.pop(1).split(".")
setattr({"backup": backup, "restore": restore, "os": os}[module], name, die)
main()
"""


def killed(at: str, *args: str, folder: Path) -> None:
    """The command, killed at its first call of `at`."""
    command = [sys.executable, "-c", KILLED, at, *args]
    assert subprocess.run(command, cwd=folder, check=False).returncode == -signal.SIGKILL  # noqa: S603  ours


def test_kill_9_during_a_backup(source: Path, tmp_path: Path) -> None:
    """What it leaves never has the name, hinders nobody, and goes with the next backup."""
    assert restored(tmp_path, source).returncode == 0
    args = ("store", "backup", "first", "--store", "chdb:///./.tracejury/db")
    backups = tmp_path / ".tracejury" / "backups"
    for at in ("backup.described", "backup.Manifest", "os.sync"):
        killed(at, *args, folder=tmp_path)
        assert sorted(path.name for path in backups.iterdir()) == [".lock", f"first{PARTIAL}"]
        if at != "os.sync":  # by then it was whole
            assert "no whole backup" in not_restored(backups / f"first{PARTIAL}", tmp_path / "new")
    assert tracejury(*args, folder=tmp_path).returncode == 0
    assert sorted(path.name for path in backups.iterdir()) == [".lock", "first"]
    assert restored(tmp_path, backups / "first", "chdb:///./new/db").returncode == 0


def test_kill_9_of_a_collector_during_a_backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command says so in one line; the next collector has everything, and makes a backup."""
    monkeypatch.setattr(processes, "COMMAND", [sys.executable, "-c", KILLED, "backup.described"])
    with open_house(tmp_path) as house:
        house.put(request(1))
        house.wait_until_settled(1)
        before = seen(house)
        house.put(request(2))
        assert "broke off" in refused("backup", "--url", house.url)
        assert house.serving.process.wait(60) == -signal.SIGKILL
    monkeypatch.undo()
    with open_house(tmp_path) as house:
        house.wait_until_settled(2)
        assert before.items() < seen(house).items()
        assert (backup(tmp_path, house, "whole") / MANIFEST).exists()


def test_under_load(tmp_path: Path) -> None:
    """Nothing is refused; what was acknowledged before a backup began is in it, and judged the same."""
    sent = list[int]()

    def send(house: House, sender: int, rounds: int) -> None:
        for number in range(rounds):
            house.put(request(sender * 1000 + number + 1))
            sent.append(sender * 1000 + number + 1)

    with open_house(tmp_path) as house, ThreadPoolExecutor(4) as pool:
        sending = [pool.submit(send, house, sender, ROUNDS) for sender in range(4)]
        before, whole = list[int](), Path()
        while not all(one.done() for one in sending) or not before:
            before = list(sent)
            whole = backup(tmp_path, house)
        for one in sending:
            one.result()
        house.wait_until_settled(4 * ROUNDS)
        original = seen(house)
        assert house.serving.stop() == 0
    (tmp_path / STORE).rename(tmp_path / "gone")
    assert restored(tmp_path, whole).returncode == 0
    with open_house(tmp_path) as house:
        house.wait_until_settled(len(before))
        again = seen(house)
        assert {f"{number:032x}" for number in before} <= set(again)
        assert again == {trace_id: original[trace_id] for trace_id in again}
