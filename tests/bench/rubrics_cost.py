"""Calls and tokens of learning rubrics: `python tests/bench/rubrics_cost.py [--good 73] [--bad 133] [--exchanges 3]`.

Sessions as a shop's agent has them: two calls of a tool in each exchange, each with a thought. The model names five
areas and gives one reason an area (SPUR: three a session), of usual length, and as many rubrics as are asked for.
With `--evaluate` the calls of `tracejury evaluate rubrics` by arm, for the paper's 516 sessions with `--good 182 --bad
334`: the switches, veto and gate take none. Prompts are those that a model is sent; tokens are counted with litellm's
tokenizer for gpt-4o.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from labelled_folders import rubrics_for, session_model
from pack_bench import FairChecker
from prompt_tokens import tokens
from sessions import Layout, session, shop_exchange

from tracejury.collector.evaluation.learn_rubrics import learn_rubrics
from tracejury.collector.evaluation.rubrics_run import judge_sessions
from tracejury.collector.judging.llm.packs.pack_judge import recorded_subject
from tracejury.collector.judging.model.cassette import CassetteClient
from tracejury.judges.llm.client import Prompt
from tracejury.judges.measures.session_labels import AgreedLabel
from tracejury.judges.rubrics.evaluation.arms import LEARNERS, SCOPE
from tracejury.judges.rubrics.evaluation.splits import splits
from tracejury.judges.rubrics.learning.training import LabelledSession, Learning
from tracejury.processors.transcript import session_record

AREAS = ("task completion", "clarity", "error handling", "tool use", "honesty")
ABOUT = "Whether the agent did what the user asked for with the right tools, and said truly what came of it."
REASON = (
    "The agent looked up the order before it named a price and said openly that it cannot promise a date, so that the "
    "user could decide on facts; case {number}."
)


def made(number: int, exchanges: int, *, good: bool) -> LabelledSession:
    """A session; its texts differ from those of the others."""
    traces = session([shop_exchange(number * exchanges + at) for at in range(exchanges)], Layout.ONE_TRACE)
    label = AgreedLabel(good, good, "", ("ada",))
    name = f"chat-{number}"
    return LabelledSession(("shop", name), recorded_subject(session_record(name, traces), traces), label)


class UsualModel:
    """A script, with what it wrote. A reason quotes the answer, which no two sessions have alike.

    `split`: begins areas and rubrics, which no two splits have alike.
    """

    def __init__(self, reasons: int) -> None:
        self.calls: Counter[str] = Counter()
        self.wrote = 0
        self.split = ""
        self._reasons = reasons

    def __call__(self, prompt: Prompt) -> str:
        """The reply."""
        judges = "# scope-" in prompt.messages[-1].text
        kind = "judged" if judges else next(iter(prompt.schema["properties"]))
        self.calls[kind] += 1
        said = self._said(kind, prompt)
        self.wrote += tokens(said)
        return said

    def _said(self, kind: str, prompt: Prompt) -> str:
        if kind == "areas":
            return json.dumps({"areas": [{"name": name, "text": self.split + ABOUT} for name in AREAS]})
        if kind == "judged":
            return FairChecker().reply(prompt.messages[-1].text).replace("It is so.", ABOUT)
        if kind != "answers":
            return rubrics_for(prompt, self.split + REASON)
        text = prompt.messages[-1].text
        items = range(
            1, 1 + (int(re.findall(r"^Items 1 to (\d+)\.$", text, re.MULTILINE)[0]) if "Items 1" in text else 1)
        )
        quotes = re.findall(r"Order \d+ holds part \d+", text)
        label = re.findall(r"^(E\d+\.S\d+)\b", text, re.MULTILINE)[-1]
        empty = {"mention": None, "label": None, "quote": None}
        reason = {"check": "session-reasons", "reason": REASON.format(number=self.calls[kind]), "label": label}
        also = [
            reason
            | {"category": f"area {n + 1}" if len(items) > 1 else "reason", "quote": quotes[-1 - n % len(quotes)]}
            for n in range(self._reasons)
        ]
        answers = [
            {"check": "session-reasons", "item": item, "reason": ABOUT, "answer": "yes", **empty} for item in items
        ]
        return json.dumps({"answers": answers, "also": also, "summary": None})


def main() -> None:
    """Print a row for each way to learn, or for each arm of an evaluation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--good", type=int, default=73)
    parser.add_argument("--bad", type=int, default=133)
    parser.add_argument("--exchanges", type=int, default=3)
    parser.add_argument("--evaluate", action="store_true", help="learn and judge in five splits, by arm")
    chosen = parser.parse_args()
    sessions = [made(n, chosen.exchanges, good=n < chosen.good) for n in range(chosen.good + chosen.bad)]
    if chosen.evaluate:
        print("arm                  calls  to learn  to judge  input tokens  output tokens")
        for name, how in LEARNERS.items():
            evaluated(sessions, name, how)
        return
    print("learned         calls  areas  sessions  summaries  weights  input tokens  output tokens")
    for name, how, reasons in (
        ("scope", Learning(), len(AREAS)),
        ("scope, no areas", Learning(areas=False), 1),
        ("spur", Learning("spur"), 3),
    ):
        usual = UsualModel(reasons)
        model, client = session_model(usual)
        asyncio.run(learn_rubrics(sessions, how, model))
        kinds = [usual.calls[kind] for kind in ("areas", "answers", "rubrics", "weights")]
        print(
            f"{name:15}{len(client.prompts):6}{kinds[0]:7}{kinds[1]:10}{kinds[2]:11}{kinds[3]:9}"
            f"{read_by(client.prompts):14,}{usual.wrote:15,}"
        )


def evaluated(sessions: Sequence[LabelledSession], name: str, how: Learning) -> None:
    """Print the row of an arm. What is asked twice is answered by the cassette, as a command has it."""
    usual = UsualModel(3 if how.method == "spur" else len(AREAS) if how.areas else 1)
    scripted, client = session_model(usual)
    model = replace(scripted, client=CassetteClient(scripted.cassette, client, client.model))

    async def run() -> None:
        for split in splits(sessions, 5):
            usual.split = f"{split.name}: "
            rubrics = await learn_rubrics(split.learned, how, model)
            await judge_sessions(split.tested, rubrics, model, how.max_tokens, situation=name == SCOPE)

    asyncio.run(run())
    judged, calls = usual.calls["judged"], len(client.prompts)
    print(f"{name:20}{calls:6,}{calls - judged:10,}{judged:10,}{read_by(client.prompts):14,}{usual.wrote:15,}")


def read_by(prompts: Iterable[Prompt]) -> int:
    """Input tokens."""
    return sum(tokens("".join(message.text for message in prompt.messages)) for prompt in prompts)


if __name__ == "__main__":
    main()
