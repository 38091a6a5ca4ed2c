"""The labelled sessions of a folder: which count, as what, and what is left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from labelled_folders import BAD, GOOD, Told, labelled_folder, write_trace
from pack_bench import SERVICE

from tracejury.collector.evaluation.labelled_sessions import labelled_sessions
from tracejury.collector.otlp.files import BrokenFileError

EMPTY = Told("", good=True, asked="")


def line(session: str, annotator: str = "ada", **more: Any) -> Mapping[str, Any]:
    return {
        "kind": "session", "service": SERVICE, "session_id": session, "annotator": annotator, "good": True
    } | more  # fmt: skip


def test_what_counts_and_what_is_left_out(tmp_path: Path) -> None:
    """A session without an id is its trace; a service that one session alone has need not be named."""
    folder = labelled_folder(tmp_path, [GOOD, BAD, EMPTY, GOOD, GOOD, GOOD])
    alone = write_trace(folder, 9, GOOD, session="")
    lines = [
        line("chat-00", satisfied=True),
        line("chat-00", "bob", satisfied=None, situation="correct"),
        line("chat-01", service="", good=False, situation="skipped-tool"),
        line("chat-02"),
        line("chat-03"),
        line("chat-03", "bob", good=False),
        line("chat-04", withdrawn=True),
        line("chat-77"),
        line(alone, service="", satisfied=False),
        {"kind": "preference", "service": SERVICE, "session_id": "a", "other_session_id": "b", "better": "first",
         "annotator": "ada"},
    ]  # fmt: skip
    labels = tmp_path / "said.jsonl"
    labels.write_text("".join(json.dumps(one) + "\n" for one in reversed(lines)))
    read = labelled_sessions(folder, labels)
    told = {one.key: (one.label.good, one.label.satisfied, one.label.situation) for one in read.sessions}
    assert told == {
        (SERVICE, alone): (True, False, ""),
        (SERVICE, "chat-00"): (True, True, "correct"),
        (SERVICE, "chat-01"): (False, None, "skipped-tool"),
    }
    assert read.left_out == {"sessions-contested": 1, "sessions-without-content": 1, "labels-without-traces": 1}
    assert read.unlabelled == 2
    case = next(one for one in read.sessions if one.key[1] == "chat-01").case()
    assert (case.service, case.exchange, len(case.steps)) == (SERVICE, None, 3)
    assert BAD.answer in case.steps[-1].text


def test_a_folder_without_traces_or_labels_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BrokenFileError, match="no traces in"):
        labelled_sessions(tmp_path)
    folder = labelled_folder(tmp_path, [GOOD])
    (folder / "labels.jsonl").write_text('{"kind": "session", "session_id": "chat-00", "annotator": "a"}\n')
    with pytest.raises(BrokenFileError, match=r"labels\.jsonl:1: .*good"):
        labelled_sessions(folder)
    (folder / "labels.jsonl").unlink()
    with pytest.raises(BrokenFileError, match=r"labels\.jsonl cannot be read: No such file"):
        labelled_sessions(folder)
