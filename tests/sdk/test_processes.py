"""Real processes: an ordinary exit, an abrupt one, and forks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import json, os, signal, sys, threading
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from tracejury.sdk import LiveProcessor

class Lines(SpanExporter):
    def __init__(self):
        self.maker = os.getpid()

    def export(self, spans):
        with open(os.environ["LINES"], "a") as out:
            for span in spans:
                told = {"name": span.name, "pending": "tracejury.pending" in span.attributes}
                told |= {"pid": os.getpid(), "maker": self.maker}
                print(json.dumps(told), file=out)
        return SpanExportResult.SUCCESS

provider = TracerProvider(shutdown_on_exit=False)
processor = LiveProcessor(Lines)
provider.add_span_processor(processor)
tracer = provider.get_tracer("t")
"""


def lines_of(program: str, folder: Path, code: int = 0) -> list[dict[str, Any]]:
    """What a program's exporter wrote; the program must end with `code`."""
    out = folder / "lines"
    out.touch()
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", PROGRAM + program],
        env={"LINES": str(out)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return [json.loads(line) for line in out.read_text().splitlines()]


@pytest.mark.parametrize("end", ["", "sys.exit(0)", "tracer.start_span('other')"])
def test_a_program_that_ends_keeps_its_root(tmp_path: Path, end: str) -> None:
    """A script that exits right after its last span, with nobody shutting anything down, loses nothing."""
    found = lines_of(f"with tracer.start_as_current_span('root'): pass\n{end}", tmp_path)
    assert ("root", False) in [(line["name"], line["pending"]) for line in found]


def test_a_program_that_raises_keeps_its_root(tmp_path: Path) -> None:
    """An exception that ends the program ends the root's span first."""
    out = tmp_path / "lines"
    subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", PROGRAM + "with tracer.start_as_current_span('root'): 1 / 0"],
        env={"LINES": str(out)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    last = json.loads(out.read_text().splitlines()[-1])
    assert (last["name"], last["pending"]) == ("root", False)


def test_a_killed_program_leaves_what_it_announced(tmp_path: Path) -> None:
    """SIGKILL in the middle of a tool: manager and tool are known, as pending."""
    program = """
with tracer.start_as_current_span("manager"), tracer.start_as_current_span("tool"):
    while not os.path.getsize(os.environ["LINES"]) or processor.counts.announced < 2:
        threading.Event().wait(0.001)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    found = lines_of(program, tmp_path, code=-9)
    assert {(line["name"], line["pending"]) for line in found} == {("manager", True), ("tool", True)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_sends_its_own_spans_only(tmp_path: Path) -> None:
    """Parent and child each send what they ended, with exporters of their own; nothing is sent twice or hangs."""
    program = """
with tracer.start_as_current_span("root"):
    child = os.fork()
    if not child:
        tracer.start_span("of child", attributes={"gen_ai.tool.name": "x"}).end()
        processor.force_flush()
        os._exit(0)
    os.waitpid(child, 0)
print(os.getpid())
"""
    found = [line for line in lines_of(program, tmp_path) if not line["pending"]]
    assert sorted(line["name"] for line in found) == ["of child", "root"]
    assert len({line["pid"] for line in found}) == 2
    assert all(line["maker"] == line["pid"] for line in found)


def test_a_child_of_multiprocessing_flushes_at_its_end(tmp_path: Path) -> None:
    """Such children leave without running exit handlers; a span that was in no hurry is sent all the same."""
    program = """
import multiprocessing
def work():
    parent = tracer.start_span("parent of it")
    from opentelemetry import trace
    tracer.start_span("inner", context=trace.set_span_in_context(parent)).end()
child = multiprocessing.get_context("fork").Process(target=work)
child.start()
child.join()
"""
    found = lines_of(program, tmp_path)
    assert ("inner", False) in [(line["name"], line["pending"]) for line in found]
