"""Labelled sessions, in folders and in memory, and a scripted model that learns rubrics from them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

from check_replies import reply
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from otlp_parts import json_body
from pack_bench import SERVICE, Called, exchange
from pack_service import otlp
from panel_cases import panel
from sessions import Asked, Layout, session

from tracejury.collector.evaluation.session_model import SessionModel
from tracejury.collector.judging.llm.packs.pack_judge import recorded_subject
from tracejury.collector.judging.llm.prompt_budget import PromptBudget
from tracejury.collector.judging.model.cassette import Cassette
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.scripted import Line, ScriptedClient
from tracejury.judges.measures.session_labels import AgreedLabel
from tracejury.judges.rubrics.learning.training import LabelledSession
from tracejury.processors.transcript import session_record

_STEP: Final = re.compile(r"^(E\d+\.S\d+)\b")
_SIGN: Final = re.compile(r"^ (\d+)\. (.*)$", re.MULTILINE)
_ALSO: Final = re.compile(r"(?:: |; )(area \d+|reason): ")
_WORD: Final = re.compile(r"labelled this session: it is (.*?)\. ")


@dataclass(frozen=True)
class Told:
    """A session: what was answered after a look-up, and its label. `satisfied` None: nobody says."""

    answer: str
    good: bool
    satisfied: bool | None = True
    asked: str = "Is my refund on its way?"


GOOD: Final = Told("Your refund was paid on Monday, as the ledger shows.", good=True)
BAD: Final = Told("Your refund was paid, I am quite sure of it.", good=False)


def write_trace(folder: Path, number: int, told: Told, session: str) -> str:
    """The one trace of a session, as a file; its id. Nothing was recorded where nothing was asked."""
    trace_id = f"{number + 1:032x}"
    call = Called("ledger", '{"what": "refund"}', f"refund {number} open", thought="I look into the ledger.")
    spans = exchange("a", told.asked, [call] if told.asked else [], told.answer, session=session, at=number)
    kept = {"openinference.span.kind", "session.id"} if not told.asked else {*chain(*(s.attributes for s in spans))}
    recorded = [
        replace(span, trace_id=trace_id, attributes={k: v for k, v in span.attributes.items() if k in kept})
        for span in spans
    ]
    request = ExportTraceServiceRequest.FromString(otlp(recorded))
    (folder / "traces" / f"{number:02}.json").write_bytes(json_body(request))
    return trace_id


def labelled_folder(folder: Path, sessions: Sequence[Told]) -> Path:
    """`traces/` and `labels.jsonl` of sessions, from chat-00 on."""
    (folder / "traces").mkdir()
    lines = []
    for number, told in enumerate(sessions):
        name = f"chat-{number:02}"
        write_trace(folder, number, told, name)
        label = {"kind": "session", "service": SERVICE, "session_id": name, "annotator": "ada", "good": told.good}
        lines.append(json.dumps(label | {"satisfied": told.satisfied}))
    (folder / "labels.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def labelled(number: int, told: Told) -> LabelledSession:
    """The session without a folder."""
    name = f"chat-{number:02}"
    traces = session([Asked(told.asked, told.answer, [f"refund {number} open"])], Layout.ONE_TRACE)
    label = AgreedLabel(told.good, told.satisfied, "", ("ada",))
    return LabelledSession((SERVICE, name), recorded_subject(session_record(name, traces), traces), label)


def session_model(script: Callable[[Prompt], Line], budget: int = 30_000) -> tuple[SessionModel, ScriptedClient]:
    """A scripted model without a cassette; `budget`: tokens of a record."""
    client = ScriptedClient(script)
    room = PromptBudget(panel(), budget, lambda text: len(text) // 4)
    return SessionModel(client, room, Cassette(None, record=False), 4), client


def learns(prompt: Prompt) -> str:
    """`learner` as a script."""
    return learner(prompt.schema, "\n".join(message.text for message in prompt.messages))


def learner(schema: Mapping[str, Any], prompt: str) -> str:
    """What a model answers that learns soundly: two areas, a reason by each, one rubric for each wording."""
    asked = schema["properties"]
    if "areas" in asked:
        return json.dumps({"areas": [{"name": n, "text": f"How it is with {n}."} for n in ("tool use", "honesty")]})
    if "answers" in asked:
        return reasons(prompt)
    signs = {int(number): text for number, text in _SIGN.findall(prompt)}
    if "weights" in asked:
        return json.dumps(
            {"weights": [{"rubric": n, "weight": 1 + n % 10, "make_or_break": "ledger" in signs[n]} for n in signs]}
        )
    said: dict[str, list[int]] = {}
    for number, text in signs.items():
        said.setdefault(text, []).append(number)
    return json.dumps(
        {
            "rubrics": [
                {
                    "name": "-".join([*re.findall("[a-z]+", text.lower())[:5], str(numbers[0])]),
                    "text": text,
                    "covers": numbers,
                }
                for text, numbers in said.items()
            ]
        }
    )


def reasons(prompt: str, quote: str = "", **change: Any) -> str:
    """A reason in each category that is asked for, quoted from the agent's answer, if it is shown."""
    label = ""
    for line in prompt.split("\n"):
        if found := _STEP.match(line):
            label = found[1]
    word = _WORD.findall(prompt)[-1]
    wanted = dict.fromkeys(_ALSO.findall(prompt.rpartition("Report in `also`")[2]))
    answer = next((line for line in reversed(prompt.split("\n")) if "refund was" in line), "").strip()[:80]
    also = [
        {
            "check": "session-reasons",
            "category": category,
            "reason": f"By {category} the agent's answer made it {word}.",
            "label": label,
            "quote": quote or answer,
        }
        | change
        for category in wanted
        if quote or answer
    ]
    return reply(prompt, also=also)


def rubrics_for(prompt: Prompt, text: str = "Sign {number}.") -> str:
    """As many rubrics as are asked for: line n goes to rubric n modulo their number. Weights of 5."""
    count = prompt.messages[1].text.rpartition("===\n ")[2].count("\n ") + 1
    if "weights" in prompt.schema["properties"]:
        return json.dumps({"weights": [{"rubric": n + 1, "weight": 5, "make_or_break": True} for n in range(count)]})
    most = min(int(prompt.messages[2].text.partition("at most ")[2].split()[0]), count)
    rubrics = [
        {
            "name": f"sign-number-{at}",
            "text": text.format(number=at),
            "covers": [*range(at + 1, count + 1, most)],
        }
        for at in range(most)
    ]
    return json.dumps({"rubrics": rubrics})
