"""Generated sessions that do not show the situation that they were written for lose their labels."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tracejury.collector.labels.lines import read_lines
from tracejury.collector.otlp.files import BrokenFileError
from tracejury.judges.llm.conversation import ask, together
from tracejury.judges.measures.session_labels import AgreedLabel
from tracejury.judges.packs.emitted_states import MISSING, emitted
from tracejury.judges.rubrics.learning.training import LabelledSession
from tracejury.judges.rubrics.rubric_set import SessionKey
from tracejury.judges.situations.session_fit import SessionFit, fit_prompt
from tracejury.judges.situations.session_prompts import PromptSettings
from tracejury.judges.situations.situation_types import UNSURE, all_situations, named_situations
from tracejury.schemas.annotations import GENERATOR
from tracejury.schemas.errors import PromptTooLongError, RetryableError
from tracejury.schemas.text.moments import iso_time

from .labelled_sessions import LABELS, labelled_sessions
from .session_model import Progress, SessionModel, untold

STAGE: Final = "sessions"


@dataclass(frozen=True, slots=True)
class FilteredSession:
    """A session with the situation that it was written for. `accepted`: what people say of that; None: nobody labelled.

    `mismatch`: why it does not fit, in one line, "" where it does.
    """

    session: LabelledSession
    situation: str
    accepted: bool | None
    mismatch: str = ""

    @property
    def stands(self) -> bool:
        """Whether the label of the generator does: where people label a session, only their labels count."""
        return not self.mismatch if self.accepted is None else self.accepted


def precision(sessions: Iterable[FilteredSession]) -> tuple[int, int]:
    """How many of the sessions that fit people accept, of those that they labelled."""
    fit = [one.accepted for one in sessions if not one.mismatch and one.accepted is not None]
    return sum(fit), len(fit)


async def filtered(
    folder: Path, model: SessionModel, settings: PromptSettings, progress: Progress = untold
) -> list[FilteredSession]:
    """Asks of each generated session whose label stands, or that people labelled, whether it fits its four texts.

    Situations that are never silver are asked about only where people labelled the session.

    Raises:
        BrokenFileError: the folder lacks traces or labels, or none is of the generator; names the file.
        OverBudgetError, RetryableError: the model cannot be asked now; what it answered is on the cassette.
    """
    planted = _planted(folder / LABELS)
    found = [
        FilteredSession(one, planted[one.key], _accepted(one.label, planted[one.key]))
        for one in labelled_sessions(folder).sessions
        if one.key in planted
    ]

    async def fitted(one: FilteredSession) -> FilteredSession:
        if one.accepted is None and one.situation in UNSURE:
            why = "people alone can tell this situation from others"
            return replace(one, mismatch=why)
        record = one.session.recorded
        states = emitted(span.raw for trace in record.distinct_traces for span in trace.spans.values())
        observed = {
            when: state for when, state in (("before", states.before), ("after", states.after)) if state is not MISSING
        }
        prompt = fit_prompt(one.situation, record.record.transcript, observed, settings)
        try:
            (said,) = await model.run(together([ask(prompt, SessionFit.read)]))
        except PromptTooLongError as error:
            return replace(one, mismatch=str(error))
        if said.error is not None:
            raise RetryableError(f"session {one.session.key[1]}: {said.failure}") from said.error
        return replace(one, mismatch=said.answer.mismatch if said.answer else said.failure)

    return await model.each(STAGE, found, fitted, progress)


def _accepted(label: AgreedLabel, situation: str) -> bool | None:
    if not label.by_people:
        return None
    meant = all_situations()[situation]
    said = (label.good, meant.user == "satisfied" if label.satisfied is None else label.satisfied)
    return said == (meant.good, meant.user == "satisfied") and label.situation in {"", situation}


def withdraw(file: Path, sessions: Iterable[FilteredSession]) -> None:
    """Withdraw the generator's labels of these sessions, and of the errors planted in them; other lines stay.

    Raises:
        BrokenFileError: the file cannot be written.
    """
    gone = {one.session.key for one in sessions}
    traces = {trace.trace_id for one in sessions for trace in one.session.recorded.distinct_traces}
    now = iso_time(time.time_ns())

    def changed(data: bytes) -> bytes:
        line = json.loads(data) if data.strip() else {}
        at = line.get("trace_id") in traces if line.get("kind") == "annotation" else _key(line) in gone
        if line.get("annotator") != GENERATOR or line.get("withdrawn") or not at:
            return data
        return json.dumps({**line, "withdrawn": True, "changed_at": now}, ensure_ascii=False).encode() + b"\n"

    begun = file.with_suffix(".part")
    try:
        begun.write_bytes(b"".join(map(changed, file.read_bytes().splitlines(keepends=True))))
        os.replace(begun, file)  # noqa: PTH105  whoever looks meanwhile sees all of it or nothing
    except OSError as error:
        raise BrokenFileError(f"{file} cannot be written: {error.strerror}") from None


def _planted(file: Path) -> dict[SessionKey, str]:
    """The situations that the generator wrote sessions for, withdrawn or not."""
    names = {situation.name for situation in named_situations()}
    try:
        with file.open("rb") as stream:
            lines = list(read_lines(str(file), stream, ""))
    except OSError as error:
        raise BrokenFileError(f"{file} cannot be read: {error.strerror}") from None
    if broken := next((line for line in lines if line.problem), None):
        raise BrokenFileError(f"{broken.place}: {broken.problem}")
    own = (line.item for line in lines if line.item.get("annotator") == GENERATOR)
    found = {_key(line): str(line.get("situation")) for line in own if line.get("kind") == "session"}
    if not (planted := {key: name for key, name in found.items() if name in names}):
        raise BrokenFileError(f"{file} has no session of the generator: write some with tracejury situations generate")
    return planted


def _key(line: Mapping[str, Any]) -> SessionKey:
    return str(line.get("service")), str(line.get("session_id"))
