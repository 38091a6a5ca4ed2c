"""What judging takes in tokens: counted from the prompts that would be sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from sizes import sized
from trail_folder import write

from tracejury.collector.cli.root import root
from tracejury.collector.evaluation.judges_options import JudgesOptions
from tracejury.collector.evaluation.prefix_cache import BLOCK, LEAST, PrefixCache
from tracejury.collector.evaluation.token_report import report_tokens, shortest
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.judges.llm.client import Prompt, PromptMessage

A, B = "a" * 32, "b" * 32
GAIA = Path(__file__).parents[4] / "shared" / "data" / "trail" / "gaia-dev"
needs_trail = pytest.mark.skipif(not GAIA.exists(), reason="needs the shared TRAIL traces")


def prompt(*texts: str) -> Prompt:
    roles = ("system", "user", "user", "user")
    return Prompt(tuple(PromptMessage(r, t) for r, t in zip(roles, texts, strict=False)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("earlier", "later", "cached"),
    [
        (("s" * 2000, "a"), ("s" * 2000, "b"), 1920),  # whole blocks of what is alike
        (("s" * 1023,), ("s" * 1023, "b"), 0),  # below the least
        (("s" * 1024,), ("s" * 1024, "b"), 1024),
        (("s" * 1000, "a" * 500), ("s" * 1000, "a" * 500 + "b"), 1408),
        (("s" * 1000, "a" * 500, "x" * 500), ("s" * 1000, "a" * 400, "x" * 500), 1280),  # what differs ends it
        (("x" * 2000,), ("s" * 2000,), 0),
    ],
)
def test_the_cache_has_the_longest_common_prefix(earlier: tuple[str, ...], later: tuple[str, ...], cached: int) -> None:
    """In blocks of 128 tokens, from 1,024 on; a token is a character here."""
    cache = PrefixCache(len, set())
    assert cache.cached(prompt(*earlier)) == 0
    assert cache.cached(prompt(*later)) == cached


def test_runs_share_the_first_message() -> None:
    """Not what follows it: another run's record is not the same."""
    systems: set[str] = set()
    first, second = PrefixCache(len, systems), PrefixCache(len, systems)
    first.cached(prompt("s" * 1500, "a" * 1500))
    assert second.cached(prompt("s" * 1500, "a" * 1500)) == 1500 // BLOCK * BLOCK


@given(st.text("ab", max_size=3000), st.text("ab", max_size=3000))
def test_no_more_is_cached_than_is_alike(one: str, other: str) -> None:
    """Whatever the texts: a multiple of the block, at most the common prefix, nothing below the least."""
    alike = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    cache = PrefixCache(len, set())
    cache.cached(prompt(one))
    cached = cache.cached(prompt(other))
    expected = alike // BLOCK * BLOCK if alike >= LEAST else 0
    assert cached == expected


def test_windows_are_answered_with_findings_that_quote() -> None:
    """At the last steps of the record, so that closing prompts have something to list."""
    lines = ["=== record x ===", "S1 llm", "wrote:", " a first line of some length here", "S2 tool t", " short"]
    record = "\n".join([*lines, "result:", " another line of some length"])
    messages = prompt("S9 x\n no step of the record at all", record).messages
    schema: dict[str, Any] = {"properties": {"findings": {}}}
    found = json.loads(shortest(Prompt(messages, schema=schema, purpose="window")))["findings"]
    assert [(f["label"], f["quote"]) for f in found] == [
        ("S1", "a first line of some length here"),
        ("S2", "another line of some length"),
    ]
    assert json.loads(shortest(Prompt(messages, schema=schema, purpose="closing")))["findings"] == []


def test_every_prompt_is_counted(tmp_path: Path) -> None:
    """Panel mode asks about the plan and the run, separate mode each judge; the architecture costs what it is long."""
    folder = write(tmp_path / "x", [A, B], {A: []})
    written = tmp_path / "architecture.txt"
    written.write_text("One agent reads files and answers. " * 20)
    options = JudgesOptions(folder, LlmConfig(), architecture=str(written))
    report = report_tokens(options, lambda _stage, _done, _of: None)
    row = report.traces[0]
    assert (row.name, len(report.traces)) == (A, 2)
    assert (row.panel.calls, row.panel.total) == (2, row.panel.tokens["closing"] + row.panel.tokens["plan"])
    assert row.separate.calls == 7
    assert row.separate.total > row.panel.total > row.separate.uncached / 2
    assert row.ablation["none"].total < row.ablation[str(written)].total == row.panel.total
    assert row.ablation["none"].total <= row.ablation["derived"].total
    assert row.panel.uncached == row.panel.total  # the first run: nothing to share yet
    assert report.traces[1].panel.uncached < report.traces[1].panel.total


def test_the_report_for_people_and_programs(tmp_path: Path) -> None:
    """`--tokens` needs no model; both say the same."""
    folder = write(tmp_path / "x", [A], {A: []})
    words = ["evaluate", "trail", str(folder), "--tokens", "--architecture", "none"]
    table, document = (CliRunner().invoke(root, [*words, "--format", style]) for style in ("table", "json"))
    assert (table.exit_code, document.exit_code) == (0, 0), table.output + document.output
    found = json.loads(document.output)
    assert found["traces"] == 1
    assert f"{found['totals']['panel']:,}" in table.output
    assert f"{found['panel_ratio']:.3f} (goal: at most 0.15)" in table.output


@pytest.mark.trail
@needs_trail
def test_what_judging_the_development_traces_takes(tmp_path: Path) -> None:
    """Panel mode at most .15 of seven calls on the paper's preprocessing, streaming at most 1.3 of one closing call."""
    every = sized(3, 1)
    for part in ("traces", "annotations"):
        (tmp_path / part).mkdir()
        for file in sorted((GAIA / part).iterdir())[every - 1 :: every]:
            (tmp_path / part / file.name).symlink_to(file)
    gaia = report_tokens(JudgesOptions(tmp_path, LlmConfig()), lambda _stage, _done, _of: None)
    assert len(gaia.traces) == 56 // every
    assert gaia.panel_ratio <= 0.15
    assert gaia.streaming_ratio <= 1.3
