"""Tokens of all judge calls as a share of the raw traces, and calls a trace, with runs judged together and apart.

    python tests/bench/panel_tokens.py DIR [DIR …] [--limit N]

The folders are TRAIL's or of captures (`CAPTURE/*.zip`). The prompts are those that would be sent: a script answers
each with the shortest well-formed answer. In brackets: those about plans alone.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trajectories import load

from tracejury.collector.evaluation.judges_trace import Judging, judge_trace
from tracejury.collector.evaluation.rebuilt import rebuild_folder
from tracejury.collector.evaluation.token_report import PAPER_CALLS, ROOM, TokenCounter, shortest
from tracejury.collector.judging.llm.prompt_budget import prompt_budget
from tracejury.judges.llm.case import Stage
from tracejury.judges.llm.criteria import load_set
from tracejury.judges.llm.members import llm_judges_of
from tracejury.judges.llm.scripted import ScriptedClient
from tracejury.processors.rebuild import rebuild
from tracejury.processors.transcript.paper import paper_view
from tracejury.processors.transcript.views import raw_view
from tracejury.schemas.trajectory import Trace


def traces_of(folder: Path, limit: int) -> Sequence[Trace]:
    """The rebuilt traces of a folder, the first `limit` of them; 0: all."""
    if (folder / "traces").is_dir():
        return rebuild_folder(folder, limit=limit).traces
    built = [rebuild(spans) for capture in sorted(folder.glob("*/*.zip")) for spans in load(capture).values()]
    return built[: limit or None]


def main() -> None:
    """Print a row a folder and way of judging."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--limit", type=int, default=0)
    given = parser.parse_args()
    count = TokenCounter()
    panel = llm_judges_of(load_set("production"), "scripted")
    for folder in given.folders:
        traces = traces_of(folder, given.limit)
        raw = sum(count(raw_view(trace)) for trace in traces)
        paper = PAPER_CALLS * sum(count(paper_view(trace)) for trace in traces)
        for name, group in (("apart", False), ("together", True)):
            how = Judging(prompt_budget(replace(panel, group=group), ROOM, count, hints=False))
            client = ScriptedClient(shortest)
            for trace in traces:
                asyncio.run(judge_trace(trace, how, client))
            sizes = [(prompt.purpose, sum(count(m.text) for m in prompt.messages)) for prompt in client.prompts]
            plans = [size for purpose, size in sizes if purpose == Stage.PLAN]
            tokens = sum(size for _, size in sizes)
            shares = f"{tokens / raw:.3f} of the raw traces, {tokens / paper:.3f} of seven calls"
            told = f"{len(sizes) / len(traces):.1f} calls ({len(plans)} in all), {tokens:,} tokens ({sum(plans):,})"
            print(f"{folder.name} {name}: {told}: {shares}")


if __name__ == "__main__":
    main()
