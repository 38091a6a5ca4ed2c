"""`tracejury export`: a file that appears once it is complete."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from hypothesis import given
from hypothesis import strategies as st
from served_api import KNOWN, Api, apart, finding, row, served

from tracejury.collector.cli.output import for_terminal
from tracejury.collector.cli.root import root
from tracejury.schemas.not_judged import NotJudged


def test_findings_as_json_lines(api: Api, tmp_path: Path) -> None:
    """The form follows the file's name; nothing is left beside it; "-" is stdout."""
    api.put(finding(1), finding(2))
    target = tmp_path / "findings.jsonl"
    result = CliRunner().invoke(root, ["export", str(target), "--url", api.url])
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in target.read_text().splitlines()]
    assert [row["trace_id"] for row in rows] == [KNOWN, KNOWN]
    assert [p.name for p in tmp_path.iterdir()] == ["findings.jsonl"]
    shown = CliRunner().invoke(root, ["export", "-", "--limit", "1", "--no-transcripts", "--url", api.url])
    assert len(shown.stdout.splitlines()) == 1


def test_errors_as_json_lines(api: Api) -> None:
    """One line an error, however many findings it has."""
    api.put(finding(1), finding(2), apart(3))
    shown = CliRunner().invoke(root, ["export", "-", "--errors", "--url", api.url])
    rows = [json.loads(line) for line in shown.stdout.splitlines()]
    assert sorted(len(row["finding_ids"]) for row in rows) == [1, 2]
    none = CliRunner().invoke(root, ["export", "-", "--errors", "--severity", "HIGH", "--url", api.url])
    assert (none.stdout, none.stderr) == ("", "wrote 0 errors, 0 bytes\n")


def test_what_is_not_judged_yet_is_said(api: Api, tmp_path: Path) -> None:
    """On stderr, in the API's header, and not in the rows; nothing is said where all is judged."""
    api.put(finding(1))
    target = tmp_path / "findings.jsonl"
    command = ["export", str(target), "--url", api.url]
    api.put_rows(row(1))
    assert CliRunner().invoke(root, command).stderr == ""
    rows = target.read_text()
    api.put_rows(*[replace(row(number), not_judged=NotJudged.WAITING) for number in (2, 3)])
    result = CliRunner().invoke(root, command)
    assert result.stderr == "2 traces not judged yet: what will be found there is missing; export again later\n"
    assert (target.read_text(), result.exit_code) == (rows, 0)
    assert api.client.get("/api/export").headers["X-Tracejury-Unjudged-Traces"] == "2"
    assert api.client.get("/api/export?rows=runs&service=desk").headers["X-Tracejury-Unjudged-Traces"] == "0"


@pytest.mark.parametrize(
    "filters",
    [
        ("--judge", "shpo"),
        ("--errors", "--judge", "shpo"),
        ("--runs", "--session", "shpo"),
        ("--trail", "--agent", "shpo"),
    ],
)
def test_an_unknown_name_is_refused(api: Api, tmp_path: Path, filters: tuple[str, ...]) -> None:
    """Instead of an empty data set."""
    api.empty()
    api.reader.unknown = {"shpo": ["shop"]}
    result = CliRunner().invoke(root, ["export", str(tmp_path / "x.jsonl"), *filters, "--url", api.url])
    kind = filters[-2].removeprefix("--")
    assert (result.exit_code, result.output) == (2, f"tracejury: no {kind} 'shpo' is stored; known are: shop\n")
    assert list(tmp_path.iterdir()) == []
    api.empty()


def test_a_parquet_file_by_its_name(api: Api, tmp_path: Path) -> None:
    """It has the magic of one at both ends."""
    api.put(finding(1))
    target = tmp_path / "x.parquet"
    assert CliRunner().invoke(root, ["export", str(target), "--url", api.url]).exit_code == 0
    assert target.read_bytes()[:4] == target.read_bytes()[-4:] == b"PAR1"


def test_what_is_refused_is_one_line_and_no_file(api: Api, tmp_path: Path) -> None:
    """An unknown trace exits with 4, a filter that does not fit with 2, a folder that is not there with 1."""
    target = tmp_path / "x.jsonl"
    for arguments, code, word in (
        ([str(target), "--trace", "9" * 32], 4, "no trace"),
        ([str(target), "--runs", "--judge", "x"], 2, "judge"),
        ([str(tmp_path / "no" / "x.jsonl")], 1, "cannot write"),
        ([str(tmp_path / "x.csv")], 2, "JSON lines (.jsonl) or Parquet (.parquet)"),
    ):
        result = CliRunner().invoke(root, ["export", *arguments, "--url", api.url])
        assert (result.exit_code, len(result.output.splitlines())) == (code, 1), result.output
        assert word in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_and_a_device_are_written_to(api: Api, tmp_path: Path) -> None:
    """They stay what they are: a reader has them open, and /dev/null is everybody's."""
    api.put(finding(1))
    pipe = tmp_path / "rows.jsonl"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_bytes)
        result = CliRunner().invoke(root, ["export", str(pipe), "--url", api.url])
        assert result.exit_code == 0, result.output
        assert json.loads(read.result(60))["trace_id"] == KNOWN
    assert pipe.is_fifo()
    null = tmp_path / "null"
    null.symlink_to(os.devnull)
    assert CliRunner().invoke(root, ["export", str(null), "--url", api.url]).exit_code == 0
    assert null.is_char_device()
    assert null.is_symlink()


def test_a_link_is_followed_to_the_file(api: Api, tmp_path: Path) -> None:
    """The file that it names is replaced, or made; the link stays."""
    api.put(finding(1))
    (tmp_path / "data").mkdir()
    for name in ("old", "new"):
        (tmp_path / f"{name}.jsonl").symlink_to(tmp_path / "data" / name)
    (tmp_path / "data" / "old").write_text("before")
    for name in ("old", "new"):
        result = CliRunner().invoke(root, ["export", str(tmp_path / f"{name}.jsonl"), "--url", api.url])
        assert result.exit_code == 0, result.output
        assert json.loads((tmp_path / "data" / name).read_text())["trace_id"] == KNOWN
        assert (tmp_path / f"{name}.jsonl").is_symlink()
    assert sorted(p.name for p in (tmp_path / "data").iterdir()) == ["new", "old"]
    circle = tmp_path / "circle.jsonl"
    circle.symlink_to(circle)
    result = CliRunner().invoke(root, ["export", str(circle), "--url", api.url])
    assert (result.exit_code, len(result.output.splitlines())) == (1, 1), result.output


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="there is no /dev/stdout")
def test_stdout_by_its_other_name(api: Api, tmp_path: Path) -> None:
    """Where it is a file, rows follow what it holds."""
    api.put(finding(1))
    out = tmp_path / "out"
    out.write_text("before\n")
    main = "from tracejury.collector.cli import main; main()"
    command = [sys.executable, "-c", main, "export", "/dev/stdout", "--url", api.url]
    with out.open("ab") as stdout:
        subprocess.run(command, check=True, stdout=stdout, timeout=60)  # noqa: S603  our own program
    first, row = out.read_text().splitlines()
    assert first == "before"
    assert json.loads(row)["trace_id"] == KNOWN


def test_an_export_that_breaks_off_leaves_no_file(tmp_path: Path) -> None:
    """Half a data set is worse than none; the file from before stays."""
    app = FastAPI()

    @app.get("/api/export")
    def export() -> StreamingResponse:
        def pieces() -> Iterator[bytes]:
            yield b'{"a": 1}\n'
            raise RuntimeError("the store is gone")

        return StreamingResponse(pieces())

    target = tmp_path / "x.jsonl"
    target.write_text("before")
    with served(app) as url:
        result = CliRunner().invoke(root, ["export", str(target), "--url", url])
    assert result.exit_code == 1
    assert "broke off" in result.output
    assert [p.name for p in tmp_path.iterdir()] == ["x.jsonl"]
    assert target.read_text() == "before"


@given(st.text(), st.integers(1, 7))
def test_what_a_terminal_is_shown_is_the_same_in_plain_ascii(text: str, size: int) -> None:
    """Whatever stands in a text, and wherever its bytes are parted."""
    line = orjson.dumps({"said": text.encode("utf-8", "replace").decode()}) + b"\n"
    shown = b"".join(for_terminal(line[i : i + size] for i in range(0, len(line), size)))
    assert json.loads(shown) == json.loads(line)
    assert all(byte == 0x0A or 0x20 <= byte < 0x7F for byte in shown)
