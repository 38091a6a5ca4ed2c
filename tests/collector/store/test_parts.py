"""Names of data parts, and the record of those that were there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracejury.collector.store.parts import PartRecord, missing, partition_of


@pytest.mark.parametrize(
    ("recorded", "present", "gone"),
    [
        ("20261116_1_1_0", ["20261116_1_1_0"], False),
        ("20261116_1_1_0", ["20261116_1_4_1"], False),  # merged
        ("20261116_1_4_1", ["20261116_1_4_1_9"], False),  # mutated
        ("20261116_1_1_0", ["20261116_2_4_1"], True),
        ("20261116_1_4_1", ["20261116_1_3_2"], True),
        ("20261116_1_1_0", ["20261123_1_1_0"], True),  # another week
        ("20261116_1_1_0", [], True),
        ("all_1_1_0", ["all_1_2_1"], False),
        ("no part", ["no part"], False),
    ],
)
def test_missing(recorded: str, present: list[str], *, gone: bool) -> None:
    """A part is there as long as one of its partition holds its blocks."""
    found = missing({"spans": {recorded: 7}}, {"spans": dict.fromkeys(present, 7)})
    assert found == ({"spans": {recorded: 7}} if gone else {})


def test_missing_by_table() -> None:
    """The parts of one table do not stand in for those of another."""
    assert missing({"spans": {"all_1_1_0": 3}}, {"logs": {"all_1_1_0": 3}}) == {"spans": {"all_1_1_0": 3}}


def test_partition() -> None:
    """It may hold anything but the blocks."""
    assert partition_of("0123456789abcdef0123456789abcdef_1_2_3_4") == "0123456789abcdef0123456789abcdef"


def test_record_survives(tmp_path: Path) -> None:
    """What is written is read; nothing remains of a draft."""
    file = tmp_path / "db.parts.json"
    PartRecord(file, {"spans": {"all_1_1_0": 3}}, {"logs": {"all_2_2_0": 4}}).write()
    assert PartRecord.read(file) == PartRecord(file, {"spans": {"all_1_1_0": 3}}, {"logs": {"all_2_2_0": 4}})
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"parts": 3, "missing": {}}', '{"parts": {}}', '{"parts": {"a": 1}}'])
def test_broken_record(tmp_path: Path, text: str) -> None:
    """A record that cannot be read says nothing."""
    file = tmp_path / "db.parts.json"
    file.write_text(text)
    assert PartRecord.read(file) == PartRecord(file)
