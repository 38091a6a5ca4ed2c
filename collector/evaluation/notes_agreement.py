"""Agreement of a judge of notes with a person who filled in a sheet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from rich.console import Group, RenderableType
from rich.text import Text

from tracejury.collector.api.client import ApiClient
from tracejury.judges.bootstrap import Interval
from tracejury.judges.measures.kappa import Kappa, cohen_kappa
from tracejury.judges.measures.wilson import wilson
from tracejury.schemas.errors import ConfigError

from .notes_sheet import JudgedNote, NotesSheet, RatedNote, RatedSession, judged_notes
from .plain import plain
from .tables import listed

SUCCESS, FAILURE, AMBIGUOUS = "success", "failure", "ambiguous"


@dataclass(frozen=True, slots=True)
class NotesAgreement:
    """What a person and the judge say of the same notes.

    `notes`: that the person rated; `ambiguous` of them. `unjudged`: rated ones without an answer of the judge, which
    count nowhere. `kappa` takes an ambiguous note as agreement, `kappa_without` leaves it out. `errors`: of ours, on
    notes that failed for the person, too, whose meaning was compared; `differing` of them.
    """

    judge: str
    sessions: int
    notes: int
    ambiguous: int
    unjudged: int
    kappa: Kappa
    kappa_without: Kappa
    errors: int
    differing: int

    @property
    def share_differing(self) -> float | None:
        """The share of errors that mean something else than the person's."""
        return self.differing / self.errors if self.errors else None

    @property
    def interval(self) -> Interval | None:
        """Of the share, 95 %, by Wilson."""
        return wilson(self.differing, self.errors) if self.errors else None


def compare_notes(client: ApiClient, sheet: NotesSheet) -> tuple[NotesAgreement, NotesSheet]:
    """The agreement, and the sheet with our error on each note that failed for the person.

    Raises:
        ConfigError: nothing is filled in. NotFoundError: a session is not stored.
    """
    rated = [one for one in sheet.sessions if any(note.answer for note in one.notes)]
    if not rated:
        raise ConfigError("the sheet is not filled in: each note wants `answer: success`, `failure` or `ambiguous`")
    judged = {id(session): judged_notes(client, sheet.judge, session) for session in rated}
    given = [(note, judged[id(session)].get(note.note)) for session in rated for note in session.notes if note.answer]
    compared = [note.same for note, ours in given if ours and ours.error and note.answer == FAILURE]
    said = [same for same in compared if same is not None]
    agreement = NotesAgreement(
        judge=sheet.judge,
        sessions=len(rated),
        notes=len(given),
        ambiguous=sum(note.answer == AMBIGUOUS for note, _ in given),
        unjudged=sum(ours is None for _, ours in given),
        kappa=_kappa(_pairs(given, ambiguous=True)),
        kappa_without=_kappa(_pairs(given, ambiguous=False)),
        errors=len(said),
        differing=said.count(False),
    )
    with_ours = tuple(_with_errors(session, judged.get(id(session), {})) for session in sheet.sessions)
    return agreement, sheet.model_copy(update={"sessions": with_ours})


def _kappa(pairs: Iterable[tuple[str, str]]) -> Kappa:
    """Cohen's kappa; also none where one of both gave one answer throughout: it is 0 however often they agree."""
    found = cohen_kappa(pairs)
    person, judge = ({pair[side] for pair in found.table} for side in (0, 1))
    if found.kappa is None or min(len(person), len(judge)) > 1:
        return found
    reason = f"the {'person' if len(person) == 1 else 'judge'} gave one and the same answer throughout"
    return replace(found, kappa=None, interval=None, reason=reason)


def _pairs(given: list[tuple[RatedNote, JudgedNote | None]], *, ambiguous: bool) -> Iterator[tuple[str, str]]:
    """The person's and the judge's answer to each note."""
    for note, ours in given:
        if ours and (ambiguous or note.answer != AMBIGUOUS):
            judge = SUCCESS if ours.achieved else FAILURE
            yield judge if note.answer == AMBIGUOUS else str(note.answer), judge


def _with_errors(session: RatedSession, judged: dict[str, JudgedNote]) -> RatedSession:
    def compared(note: RatedNote) -> RatedNote:
        ours = judged.get(note.note)
        failed = ours and ours.error and note.answer == FAILURE
        return note.model_copy(update={"ours": ours.error}) if ours and failed else note

    return session.model_copy(update={"notes": tuple(map(compared, session.notes))})


def agreement_json(found: NotesAgreement) -> object:
    """For programs."""
    return plain(found)


def agreement_tables(found: NotesAgreement) -> RenderableType:
    """For people."""
    open_notes = f", {found.unjudged} without an answer of {found.judge}" if found.unjudged else ""
    head = f"{found.judge} and a person: {found.notes} notes of {found.sessions} sessions, "
    rows = (("ambiguous as agreement", found.kappa), ("without ambiguous", found.kappa_without))
    columns = ("n", "kappa", ("95%", "interval"), ("agree", "observed"), "reason")
    first = Text(f"{head}{found.ambiguous} ambiguous{open_notes}")
    if (share := found.share_differing) is not None and found.interval is not None:
        low, high = found.interval
        told = f"{found.differing} of {found.errors} errors mean another mistake: {share:.3f} ({low:.3f} to {high:.3f})"
    else:
        told = "no error was compared: --sheet writes a sheet with ours beside the person's, for `same`"
    return Group(first, listed("notes", columns, rows), Text(told))
