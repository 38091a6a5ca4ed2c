"""A sheet on which people say of notes whether they were achieved: sessions and notes, without the judge's answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from tracejury.collector.api.client import ApiClient
from tracejury.judges.checks.check_types import MOST_CATEGORY
from tracejury.judges.llm.data_files import model_of, read_data, yaml_of
from tracejury.judges.packs.cards.task_data import TaskData
from tracejury.schemas.errors import ConfigError, NotFoundError
from tracejury.schemas.shown import shown_line
from tracejury.schemas.text.terminal import one_line, safe
from tracejury.schemas.wire.lists import ExchangeJson, SessionJson
from tracejury.schemas.wire.traces import AgentRunJson, ItemJson

MOST_SESSIONS: Final = 1_000
"""Sessions, latest first, out of which a sample is drawn."""
MOST_BYTES: Final = 256 * 1024 * 1024

_HOW: Final = """\
# Read each session and say of each note below it: `answer: success`, `failure` or `ambiguous`. Leave open what you did
# not look at. Where it failed, name the mistake in a few words as `error`.
"""
_COMPARED: Final = """\
# Of each note with `ours`: does it mean the same mistake as your `error`? Write `same: true` or `same: false`.
"""


class RatedNote(TaskData):
    """A note, what a person says of it, and, on the second sheet, our error and whether it means the same."""

    note: str
    answer: Literal["success", "failure", "ambiguous"] | None = None
    error: str | None = None
    ours: str | None = None
    same: bool | None = None


class RatedSession(TaskData):
    """A session by service and id; `record`: what was said and called, for people."""

    session: str
    service: str
    record: str = ""
    notes: tuple[RatedNote, ...]


class NotesSheet(TaskData):
    """The sheet. `judge`: the check whose items its notes are."""

    judge: str
    sessions: tuple[RatedSession, ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class JudgedNote:
    """What the judge says of a note: whether it is achieved, and its error, "" for none."""

    achieved: bool
    error: str


def draw_sheet(client: ApiClient, judge: str, sample: int, filters: Mapping[str, str]) -> NotesSheet:
    """The notes of so many sessions that the judge answered about, the first by the hash of their ids.

    Raises:
        NotFoundError: there is none.
    """
    rows, _ = client.sessions(filters, MOST_SESSIONS)
    rows.sort(key=lambda row: sha256(json.dumps([row.service, row.session_id]).encode()).digest())
    drawn: list[RatedSession] = []
    for row in rows:
        session = client.session(row.session_id, service=row.service)
        if notes := [RatedNote(note=one_line(item.item)) for item in _items(session, judge)]:
            record = "\n".join(_record(client, session))
            drawn.append(
                RatedSession(session=session.session_id, service=session.service, record=record, notes=tuple(notes))
            )
        if len(drawn) == sample:
            break
    if not drawn:
        raise NotFoundError(f"none of {len(rows)} sessions has answers of {judge}: docs/ted.md says what it needs")
    return NotesSheet(judge=judge, sessions=tuple(drawn))


def judged_notes(client: ApiClient, judge: str, session: RatedSession) -> dict[str, JudgedNote]:
    """What the judge says of the notes of a session, by note; all candidates for errors count, sure or not.

    Raises:
        NotFoundError: there is no such session.
    """
    found = client.session(session.session, service=session.service, profile="0")
    errors = (error for exchange in found.exchanges for error in exchange.errors if judge in error.judges)
    ours = {error.category: one_line(error.explanation) for error in errors}
    return {
        one_line(item.item): JudgedNote(item.best, ours.get(shown_line(item.item, MOST_CATEGORY), ""))
        for item in _items(found, judge)
    }


def read_sheet(file: Path) -> NotesSheet:
    """The sheet in a file. Raises ConfigError: it is none; names the first places."""
    return model_of(read_data(file, most_bytes=MOST_BYTES, holds="a sheet"), NotesSheet, str(file))


def write_sheet(sheet: NotesSheet, file: Path) -> None:
    """Write it to a file that was not there. Raises ConfigError: it cannot be made."""
    compared = any(note.ours for session in sheet.sessions for note in session.notes)
    text = yaml_of(sheet.model_dump(exclude_unset=True) | {"sessions": list(map(_filled, sheet.sessions))})
    try:
        with file.open("x", encoding="utf-8") as made:
            made.write((_COMPARED if compared else _HOW) + text)
    except OSError as error:
        raise ConfigError(f"--sheet: {file} cannot be made: {error.strerror}") from None


def _filled(session: RatedSession) -> dict[str, object]:
    """A session with the keys that a person is to fill in."""
    return session.model_dump(exclude={"notes"}) | {
        "notes": [note.model_dump(exclude=set() if note.ours else {"ours", "same"}) for note in session.notes]
    }


def _items(session: SessionJson, judge: str) -> Sequence[ItemJson]:
    told = [v.items for v in session.verdicts if v.judge == judge and not v.not_applicable and not v.unscored_reason]
    return told[0] if told else ()


def _record(client: ApiClient, session: SessionJson) -> Iterator[str]:
    """What was said and called. All of it is indented: nothing in it can pass for a line of ours."""
    traces = {trace_id: client.trace(trace_id) for trace_id in {one.trace_id for one in session.exchanges}}
    for number, exchange in enumerate(session.exchanges, 1):
        yield f"E{number}"
        yield from _said("user", exchange.goal)
        for run in traces[exchange.trace_id].agent_runs:
            if run.id in exchange.agents:
                yield from _run(run, session.exchanges, exchange)
        yield from _said("answer", exchange.answer)


def _run(run: AgentRunJson, exchanges: Sequence[ExchangeJson], exchange: ExchangeJson) -> Iterator[str]:
    """The steps of a run; of one that holds several exchanges those of this one."""
    turns = run.turns
    if run.id == exchange.agent_run_id:
        begins = (one.first_turn for one in exchanges if one.agent_run_id == run.id)
        end = min((turn for turn in begins if turn > exchange.first_turn), default=None)
        turns = turns[exchange.first_turn : end]
    for turn in turns:
        if turn.text and turn.text != exchange.answer:
            yield from _said(run.name, turn.text)
        for call in turn.tool_calls:
            given = (
                call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)
            )
            yield from _said(f"{run.name} calls {call.name}", given)
            yield from _said(f"{call.name} {'fails' if call.error else 'gives'}", call.error or call.result or "")


def _said(who: str, text: str) -> Iterator[str]:
    first, *more = safe(text).splitlines() or [""]
    yield f"  {one_line(who, 100)}: {first}".rstrip()
    yield from (f"    {line}".rstrip() for line in more)
