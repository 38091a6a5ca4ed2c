"""Labels over the whole collector: what people say through the command line, of traces that were sent to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from collecting import configured, settled
from trail_folder import error, write

from tracejury.collector.api.client import ApiClient
from tracejury.collector.app.service import Collector
from tracejury.collector.cli.root import root
from tracejury.collector.evaluation.folder import load
from tracejury.collector.otlp.client import replay

FIRST, SECOND = "a" * 32, "b" * 32
TOOL, ANSWER = f"{4:016x}", f"{5:016x}"


class Labelled:
    """A collector with two judged traces, and the command line that asks it."""

    def __init__(self, collector: Collector, folder: Path) -> None:
        self.collector, self.folder = collector, folder

    async def run(self, *args: str, code: int = 0, stdin: bytes = b"") -> Result:
        """`tracejury labels …` on a thread."""
        env = {
            "TRACEJURY_URL": f"http://127.0.0.1:{self.collector.api_port}",
            "TRACEJURY_ANNOTATOR": "ann",
            "COLUMNS": "250",
        }
        result = await asyncio.to_thread(CliRunner().invoke, root, ["labels", *args], input=stdin, env=env)
        assert result.exit_code == code, result.output
        return result

    async def json(self, *args: str) -> Any:
        """Its JSON."""
        return json.loads((await self.run(*args, "--format", "json")).stdout)

    async def findings(self, trace_id: str) -> list[dict[str, Any]]:
        """What was found in a trace."""
        env = {"TRACEJURY_URL": f"http://127.0.0.1:{self.collector.api_port}"}
        args = ["errors", "--trace", trace_id, "--profile", "balanced", "--format", "json"]
        result = await asyncio.to_thread(CliRunner().invoke, root, args, env=env)
        found: list[dict[str, Any]] = json.loads(result.stdout)
        return found


@pytest.fixture
async def labelled(served_dsn: str, tmp_path: Path) -> AsyncIterator[Labelled]:
    folder = write(tmp_path, [FIRST, SECOND], {FIRST: [error(4), error(5, "Goal Deviation", impact="LOW")]})
    async with Collector(configured(served_dsn)) as collector:
        await replay(load(folder).requests, f"127.0.0.1:{collector.grpc_port}", "grpc")
        await settled(collector)
        yield Labelled(collector, folder)


async def test_label_what_the_queue_gives(labelled: Labelled) -> None:
    """Queue, opinion, missed error, score, review: then the queue is done, and quality says what came of it."""
    first, second = await labelled.json("queue")
    assert {first["trace_id"], second["trace_id"]} == {FIRST, SECOND}
    trace_id = first["trace_id"]
    finding = (await labelled.findings(trace_id))[0]
    (opinion,) = await labelled.json("add", finding["id"], "--agree", "--why", "so it is")
    assert (opinion["judge"], opinion["annotator"]) == (finding["judge"], "ann")
    missed = ("--missed", "--trace", trace_id, "--span", ANSWER, "--category", "timeout issues")
    (marked,) = await labelled.json("add", *missed)
    assert (marked["category"], marked["agent_run_id"]) == ("Timeout Issues", first["agent_run_id"])
    scores = await labelled.json("score", trace_id, "GF=1", "PQ=na")
    assert [(s["dimension"], s["score"], s["agent_run_id"]) for s in scores] == [
        ("GF", 1, first["agent_run_id"]),
        ("PQ", None, first["agent_run_id"]),
    ]
    (review,) = await labelled.json("review", trace_id, "--drawn")
    assert (review["stratum"], review["probability"]) == (first["stratum"], 1.0)
    assert await labelled.json("queue") == [second]
    quality = await labelled.json("quality")
    judge = next(q for q in quality["items"] if q["judge"] == finding["judge"])
    assert (judge["findings"], judge["agreed"]) == (1, 1)
    assert judge["errors"] == 2, "the agreed one and the missed one"
    assert judge["found"] == 1
    assert [s["reviewed"] for s in quality["strata"]] == [1]
    for kind in ("annotations", "human-scores", "reviews"):
        shown = (await labelled.run("list", "--kind", kind)).stdout
        assert "ann" in shown


async def test_changing_ones_mind_and_taking_it_back(labelled: Labelled) -> None:
    """One opinion a person and finding, over another span, until it is withdrawn."""
    finding = (await labelled.findings(FIRST))[0]
    await labelled.run("add", finding["id"], "--agree")
    other = ANSWER if finding["span_id"] != ANSWER else TOOL
    (moved,) = await labelled.json("add", finding["id"], "--other-span", "--span", other)
    assert [(a["opinion"], a["span_id"]) for a in await labelled.json("list")] == [("other-span", other)]
    await labelled.run("withdraw", moved["id"])
    assert await labelled.json("list") == []
    assert [a["withdrawn"] for a in await labelled.json("list", "--withdrawn")] == [True]


async def test_export_and_import_change_nothing(labelled: Labelled, tmp_path: Path) -> None:
    """What was exported is known; a line that does not fit is named by its number, and the others are taken."""
    await labelled.run("add", "--missed", "--trace", FIRST, "--span", TOOL, "--category", "Goal Deviation")
    await labelled.run("score", FIRST, "GF=2")
    await labelled.run("review", FIRST)
    file = tmp_path / "labels.jsonl"
    await labelled.run("export", str(file))
    assert len(file.read_bytes().splitlines()) == 3
    assert (await labelled.run("import", str(file))).stdout == "0 taken, 3 known already\n"
    bad = [b"", b"{", b"[]", b'{"opinion": "missed"}', b'{"kind": "score", "score": NaN}', b"\xff", b'"\x00"']
    good = {"opinion": "missed", "trace_id": SECOND, "span_id": TOOL, "category": "Goal Deviation"}
    long = json.dumps(good | {"explanation": "x" * 60_000}).encode()
    half = json.dumps(good | {"explanation": "\ud800"}).encode()
    file.write_bytes(b"\n".join([*bad, long, half, json.dumps(good).encode()]))
    result = await labelled.run("import", str(file), code=1)
    assert result.stdout == "1 taken, 0 known already, 8 refused\n"
    named = [line.split(": ")[0].rpartition(":")[2] for line in result.stderr.splitlines()]
    assert sorted(map(int, named)) == [2, 3, 4, 5, 6, 7, 8, 9]
    assert all(len(line) < 600 for line in result.stderr.splitlines())
    again = await labelled.run("import", "-", stdin=json.dumps(good).encode())
    assert again.stdout == "0 taken, 1 known already\n"


async def test_trail_annotations_come_in(labelled: Labelled) -> None:
    """Each error as a missed one at its span, with its run; twice changes nothing; what was withdrawn stays so."""
    result = await labelled.run("import", str(labelled.folder), "--reviewed")
    assert result.stdout == "3 taken, 0 known already\n"
    found = await labelled.json("list")
    said = {(a["trace_id"], a["span_id"], a["category"], a["severity"]) for a in found}
    assert said == {(FIRST, TOOL, "Formatting Errors", "HIGH"), (FIRST, ANSWER, "Goal Deviation", "LOW")}
    assert len({a["agent_run_id"] for a in found} - {None}) == 1
    assert [r["trace_id"] for r in await labelled.json("list", "--kind", "reviews")] == [FIRST]
    await labelled.run("withdraw", found[0]["id"])
    assert (await labelled.run("import", str(labelled.folder))).stdout == "0 taken, 2 known already\n"
    assert len(await labelled.json("list")) == 1


async def test_two_people_label_the_same_finding_at_once(labelled: Labelled) -> None:
    """Each has an opinion of their own; the store has both."""
    finding = (await labelled.findings(FIRST))[0]
    people = [f"person-{n}" for n in range(4)]

    def say(number: int) -> None:
        item = {"annotator": people[number], "opinion": _opinion(number), "finding_id": finding["id"]}
        with ApiClient(f"http://127.0.0.1:{labelled.collector.api_port}") as client:
            client.add_labels("annotations", [item])

    await asyncio.gather(*(asyncio.to_thread(say, n) for n in range(4)))
    found = {(a["annotator"], a["opinion"]) for a in await labelled.json("list")}
    assert found == {(p, _opinion(n)) for n, p in enumerate(people)}


def _opinion(number: int) -> str:
    return "agree" if number % 2 else "disagree"


MISSED = ("add", "--missed", "--trace", FIRST, "--span", TOOL, "--category")
REFUSED: list[tuple[tuple[str, ...], int, str]] = [
    (("add",), 2, "say one of --agree, --disagree, --other-span and --missed"),
    (("add", "--agree"), 2, "name the FINDING, or say --missed with --trace, --span and --category"),
    (("add", "f" * 32, "--agree"), 4, f"no finding '{'f' * 32}' is stored"),
    ((*MISSED, "Rudeness"), 2, "'Rudeness' is no category of TRAIL"),
    ((*MISSED, "x", "--why", "\udcff"), 2, "explanation is not text in UTF-8"),
    (("score", FIRST, "GF=4"), 2, "'GF=4': a score is 0, 1, 2, 3 or na"),
    (("score", FIRST, "XX=1"), 2, "'XX' is none of PQ PA GF LC EE TS TC"),
    (("score", "f" * 32, "GF=1"), 4, f"no trace '{'f' * 32}' is stored"),
    (("review", FIRST, "--run", "none", "--drawn"), 2, "your calibration queue has no such run (any more)"),
    (("withdraw", "none"), 4, "no annotation 'none' is stored"),
    (("import", "none.jsonl"), 2, "Path 'none.jsonl' does not exist"),
]


async def test_what_cannot_be_said_is_one_line(labelled: Labelled) -> None:
    """With the exit code that other commands have for it."""
    for args, code, line in REFUSED:
        result = await labelled.run(*args, code=code)
        assert line in result.stderr
        assert len(result.stderr.splitlines()) == 1


async def test_the_beginning_of_an_id_that_lists_show_is_enough(labelled: Labelled) -> None:
    """Of an error and of a finding; of several, they are named, and what nothing begins with is one clear line."""
    found = await labelled.findings(FIRST)
    await labelled.run("add", found[0]["id"][:8], "--agree")
    (said,) = await labelled.json("list", "--kind", "annotations")
    assert (said["span_id"], said["opinion"]) == (found[0]["span_id"], "agree")
    await labelled.run("add", said["finding_id"][:8], "--disagree")
    (again,) = await labelled.json("list", "--kind", "annotations")
    assert (again["id"], again["opinion"]) == (said["id"], "disagree")
    refused = await labelled.run("add", "zz", "--agree", code=4)
    assert refused.stderr.strip() == "tracejury: no error 'zz' is stored"
