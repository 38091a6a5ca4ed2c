"""Our own CPU time of judging one long run: `python tests/bench/panel_cost.py [--turns 50] [--length 800]`.

From the rebuilt trace to what is stored: transcript, plans, prompts, parsing, the evidence gate, the ledger's rows. The
model's client is not in it (docs/benchmarks.md has the cost of a call through litellm).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

from deliberations import rehearse
from panel_requests import request

from tracejury.collector.judging.llm.judge_queue import JudgeTask
from tracejury.collector.judging.llm.judge_request import JudgeRequest, judge_requests
from tracejury.collector.judging.llm.outcome import StoredJudgements, closing
from tracejury.collector.judging.llm.prompt_budget import PromptBudget
from tracejury.collector.otlp.codec.decode import decode
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.judges.llm.case import NO_DESCRIPTION, Stage
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.criteria import load_set
from tracejury.judges.llm.deliberation import deliberate
from tracejury.judges.llm.members import llm_judges_of
from tracejury.judges.llm.schedule import content_hash
from tracejury.judges.llm.scripted import ScriptedClient, answer, finding
from tracejury.processors.normalize import normalize
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.trajectory import Trace


def timed(repeat: int, work: Callable[[], object]) -> float:
    """Median CPU milliseconds."""
    spent = []
    for _ in range(repeat):
        began = time.process_time()
        work()
        spent.append((time.process_time() - began) * 1000)
    return statistics.median(spent)


def built(turns: int, length: int) -> Trace:
    """The run that is judged."""
    body = request(1, turns, length).SerializeToString()
    batch = decode(Signal.TRACES, Encoding.PROTOBUF, body, received_at=1).batch
    return rebuild([normalize(span) for span in batch.spans])


def main() -> None:
    """Print the cost of each part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--length", type=int, default=800)
    parser.add_argument("--repeat", type=int, default=30)
    options = parser.parse_args()
    trace = built(options.turns, options.length)
    (run,) = trace.runs
    panel = llm_judges_of(load_set("production"), "scripted")
    how = PromptBudget(panel, 100_000, lambda text: len(text) // 4)
    judges = tuple(judge.name for judge in panel.of_run(run.role))
    entry = JudgeTask(("", trace.trace_id), run.id, Stage.CLOSING, judges, content_hash(trace, run), 1.0)
    versions = {name: panel.version(name) for name in judges}

    def script(prompt: Prompt) -> str:
        claims = [
            finding(f"S{2 * turn + 1}", f"Turn {turn}: the hens of yard 1") for turn in range(0, options.turns, 5)
        ]
        return answer(prompt, claims)

    def judged() -> int:
        (hearing,) = requests()
        said = rehearse(deliberate(hearing.case, panel, hearing.chapters), ScriptedClient(script))
        return len(closing(entry, hearing.case, said, StoredJudgements(), versions, 1).changed)

    def requests() -> list[JudgeRequest]:
        return judge_requests(entry, trace, run, how, (), (), NO_DESCRIPTION)

    (hearing,) = requests()
    characters = hearing.case.transcript.characters
    print(f"{options.turns} turns, transcript of {characters} characters (about {characters // 4} tokens)")
    print(f"findings that passed the gate: {judged()}")
    print(f"content hash      {timed(options.repeat, lambda: content_hash(trace, run)):6.2f} ms")
    print(f"transcript, plans {timed(options.repeat, requests):6.2f} ms")
    print(f"all of it         {timed(options.repeat, judged):6.2f} ms")


if __name__ == "__main__":
    main()
