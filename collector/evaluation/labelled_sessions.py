"""The labelled sessions of a folder, as checks of packs see them: `traces/`, and `labels.jsonl` or other labels."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tracejury.collector.judging.detect.direct import by_session
from tracejury.collector.judging.llm.packs.pack_judge import recorded_subject
from tracejury.collector.store.session_traces import MOST_TRACES
from tracejury.judges.checks.deliberation import has_content
from tracejury.judges.measures.session_labels import AgreedLabel, agreed
from tracejury.judges.rubrics.learning.training import LabelledSession
from tracejury.judges.rubrics.rubric_set import SessionKey
from tracejury.processors.transcript import session_record
from tracejury.schemas.annotations import SessionLabel
from tracejury.schemas.trajectory import Trace

from .folder import load
from .people import Source, read_session_labels

LABELS: Final = "labels.jsonl"


@dataclass(frozen=True, slots=True)
class LabelledFolder:
    """Sessions that people agree on, by service and session id, and how many labels or sessions count nowhere, by why.

    `unlabelled`: sessions of the folder that nobody labelled.
    """

    sessions: tuple[LabelledSession, ...]
    left_out: Mapping[str, int]
    unlabelled: int


def labelled_sessions(folder: Path, labels: Source | None = None) -> LabelledFolder:
    """Read a folder. `labels`: a file, or a collector's address.

    Raises:
        BrokenFileError: there are no traces or no labels, or a file is not what it should be; names the file.
        TracejuryError: the collector cannot be asked.
    """
    traces = by_session(load(folder).received.traces())
    services: defaultdict[str, list[str]] = defaultdict(list)
    for service, session_id in traces:
        services[session_id].append(service)

    def owned(label: SessionLabel) -> SessionLabel:
        """With its service, where it names none and one alone has the session."""
        of = services[label.session_id]
        return label if label.service or len(of) != 1 else replace(label, service=of[0])

    said = agreed(map(owned, read_session_labels(labels or folder / LABELS)))
    found: list[LabelledSession] = []
    left_out: Counter[str] = Counter()
    for key, label in said.items():
        if key not in traces:
            left_out["labels-without-traces"] += 1
        elif label is None:
            left_out["sessions-contested"] += 1
        elif (session := _session(key, traces[key], label)) is not None:
            found.append(session)
        else:
            left_out["sessions-without-content"] += 1
    return LabelledFolder(tuple(found), dict(left_out), len(traces.keys() - said.keys()))


def _session(key: SessionKey, traces: Sequence[Trace], label: AgreedLabel) -> LabelledSession | None:
    """The session as it is at its close; None where nothing that was said or done in it was recorded."""
    latest = traces[-MOST_TRACES:]
    record = session_record(key[1], latest)
    if not record.exchanges:
        return None
    session = LabelledSession(key, recorded_subject(record, latest, None, len(traces) - len(latest)), label)
    return session if has_content(session.case()) else None
