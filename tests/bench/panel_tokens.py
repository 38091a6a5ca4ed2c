"""Tokens of all judge calls as a share of the raw traces, and calls a trace, with runs judged together and apart.

    python tests/bench/panel_tokens.py DIR [DIR …] [--limit N]

The prompts are those that would be sent: a script answers each with the shortest well-formed answer.
"""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import replace
from pathlib import Path

from tracejury.collector.evaluation.judges_trace import Judging, judge_trace
from tracejury.collector.evaluation.rebuilt import rebuild_folder
from tracejury.collector.evaluation.token_report import PAPER_CALLS, ROOM, TokenCounter, shortest
from tracejury.collector.judging.llm.prompt_budget import prompt_budget
from tracejury.judges.llm.criteria import load_set
from tracejury.judges.llm.members import llm_judges_of
from tracejury.judges.llm.scripted import ScriptedClient
from tracejury.processors.transcript.paper import paper_view
from tracejury.processors.transcript.views import raw_view


def main() -> None:
    """Print a row a folder and way of judging."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--limit", type=int, default=0)
    given = parser.parse_args()
    count = TokenCounter()
    panel = llm_judges_of(load_set("production"), "scripted")
    for folder in given.folders:
        traces = rebuild_folder(folder, limit=given.limit).traces
        raw = sum(count(raw_view(trace)) for trace in traces)
        paper = PAPER_CALLS * sum(count(paper_view(trace)) for trace in traces)
        for name, group in (("apart", False), ("together", True)):
            how = Judging(prompt_budget(replace(panel, group=group), ROOM, count, hints=False))
            client = ScriptedClient(shortest)
            for trace in traces:
                asyncio.run(judge_trace(trace, how, client))
            tokens = sum(count(message.text) for prompt in client.prompts for message in prompt.messages)
            shares = f"{tokens / raw:.3f} of the raw traces, {tokens / paper:.3f} of seven calls"
            print(f"{folder.name} {name}: {len(client.prompts) / len(traces):.1f} calls, {tokens:,} tokens: {shares}")


if __name__ == "__main__":
    main()
