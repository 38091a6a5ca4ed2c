"""The pictures of a run that its judges are shown. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracejury.judges.llm.case import Case
from tracejury.judges.llm.picture import Picture, chosen, picture_of
from tracejury.processors.media import media_of
from tracejury.processors.redact.spans import MARK_KEY
from tracejury.schemas.text.media_marks import HASH_LENGTH, marked_hashes

MOST_SOUGHT: Final = 32
"""Marks whose files are looked for, the last ones: files are large, and anybody can write marks."""


def pictures_of(case: Case, most_tokens: int) -> tuple[Picture, ...]:
    """The pictures marked in the head of a case's record and in the steps that it judges, the last ones first.

    They come from the spans of the run alone, wherever else a mark may be copied from, and from none in which something
    was redacted: no rule looks into a picture. They take at most `most_tokens`.
    """
    judged = _judged(case)
    wanted = set(marked_hashes(judged)[-MOST_SOUGHT:])
    return chosen(_found(case, wanted), judged, most_tokens) if wanted else ()


def _judged(case: Case) -> str:
    labels = [step.label for step in case.transcript.steps]
    steps = case.transcript.steps[labels.index(case.first) if case.first in labels else 0 :]
    return "".join((case.transcript.header, *(step.text for step in steps), case.transcript.closing))


def _found(case: Case, wanted: set[str]) -> Iterator[Picture]:
    """Those that may be sent. A late call repeats most of what earlier ones were sent, so that it is read first."""
    for turn in reversed(case.run.turns):
        for span in turn.spans:
            for one in media_of(span.raw) if MARK_KEY not in span.raw.attributes else ():
                mark = one.digest[:HASH_LENGTH]
                if mark in wanted:
                    wanted.discard(mark)
                    if (picture := picture_of(one.data)) is not None:
                        yield picture
        if not wanted:
            return
