"""From labels in a running collector to figures: export, evaluate, compare, all by the command line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from collecting import configured, settled
from trail_folder import trace, write

from tracejury.collector.api.client import ApiClient
from tracejury.collector.app.service import Collector
from tracejury.collector.cli.root import root
from tracejury.collector.evaluation.folder import load
from tracejury.collector.evaluation.people import read_session_labels
from tracejury.collector.otlp.client import replay

FIRST, SECOND, THIRD, FOURTH = (letter * 32 for letter in "abcd")


@pytest.fixture
async def address(served_dsn: str, tmp_path: Path) -> AsyncIterator[str]:
    """A collector that has judged two traces, and a session of two."""
    folder = write(tmp_path / "sent", [FIRST, SECOND], {})
    for name in (THIRD, FOURTH):
        said = json.dumps(trace(name)).replace('"openinference.', '"session.id": "chat/1", "openinference.')
        (folder / "traces" / f"{name}.json").write_text(said)
    async with Collector(configured(served_dsn)) as collector:
        await replay(load(folder).requests, f"127.0.0.1:{collector.grpc_port}", "grpc")
        await settled(collector)
        yield f"http://127.0.0.1:{collector.api_port}"


async def run(address: str, *args: str) -> str:
    """A command's stdout."""
    env = {"TRACEJURY_URL": address, "TRACEJURY_ANNOTATOR": "ann", "COLUMNS": "250"}
    result = await asyncio.to_thread(CliRunner().invoke, root, list(args), env=env)
    assert result.exit_code == 0, result.output
    return result.stdout


async def test_labels_are_what_judges_are_measured_against(address: str, tmp_path: Path) -> None:
    """One finding agreed with, one error missed, one of two traces reviewed: the figures are of that one."""
    found = json.loads(await run(address, "errors", "--trace", FIRST, "--profile", "balanced", "--format", "json"))
    first, *others = found
    assert others
    await run(address, "labels", "add", first["finding_ids"][0], "--agree")
    missed = ("--missed", "--trace", FIRST, "--span", f"{2:016x}", "--category", "Language-only")
    await run(address, "labels", "add", *missed)
    await run(address, "labels", "review", FIRST)
    labels, folder = tmp_path / "labels.jsonl", tmp_path / "labelled"
    await run(address, "labels", "export", str(labels), "--traces", str(folder))
    assert [path.name for path in (folder / "traces").iterdir()] == [f"{FIRST}.json"]
    evaluate = ("evaluate", "trail", str(folder), "--protocol", "direct", "--format", "json", "--labels")
    report = json.loads(await run(address, *evaluate, str(labels)))
    assert (report["traces"], report["errors"], report["as_errors"]["errors"]) == (1, 2, len(found))
    with ApiClient(address) as client:
        findings, _ = await asyncio.to_thread(client.findings, {"trace": FIRST, "profile": "balanced"}, 100)
    assert report["findings"] == len(findings)
    for figures, shown in ((report, findings), (report["as_errors"]["all"], found)):
        assert figures["localised"] == 0.5
        spans = {one["span_id"] if isinstance(one, dict) else one.span_id for one in shown}
        assert figures["span_precision"] == pytest.approx(1 / len(spans))
    assert json.loads(await run(address, *evaluate, address)) == report


async def test_labelled_sessions_come_with_their_traces(address: str, tmp_path: Path) -> None:
    """All traces of a session, and a trace that is one by itself; file and folder are one that evaluations read."""
    folder = tmp_path / "judged"
    export = ("labels", "export", str(folder / "labels.jsonl"), "--traces", str(folder))
    await run(address, "labels", "session", "chat/1", "--bad", "--satisfied", "yes")
    await run(address, "labels", "session", SECOND, "--good")
    await run(address, "labels", "session", FIRST, "--good")
    await run(address, "labels", "session", FIRST, "--withdraw")
    await run(address, *export)
    assert {path.stem for path in (folder / "traces").iterdir()} == {SECOND, THIRD, FOURTH}
    assert set(load(folder).names) == {SECOND, THIRD, FOURTH}
    labels = read_session_labels(folder / "labels.jsonl")
    assert {(one.service, one.session_id, one.good, one.satisfied) for one in labels} == {
        ("app", "chat/1", False, True), ("app", SECOND, True, None),
    }  # fmt: skip
    assert await asyncio.to_thread(read_session_labels, address) == labels
    await run(address, "delete", "--trace", SECOND, "--yes")
    (folder / "traces" / f"{SECOND}.json").unlink()
    await run(address, *export)
    assert {path.stem for path in (folder / "traces").iterdir()} == {THIRD, FOURTH}
