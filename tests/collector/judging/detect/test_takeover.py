"""Which traces a process judges of whose rows others stored."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import sized

from tracejury.collector.judging.detect.takeover import Takeover, TraceShare
from tracejury.collector.store.changes import NewChanges, StoredChange
from tracejury.processors.assemble import SECOND, AssemblerConfig, TraceKey

CONFIG = AssemblerConfig()
AFTER = 60 * SECOND
ALL = TraceShare()
KEY = ("", "a" * 32)
NOON = 1_700_000_000 * SECOND
SKEW = 300 * SECOND
"""The clock of whoever received the rows, ahead or behind, says nothing about when anything is due."""


def changed(at: int, *, by: str = "all-1", received: int = 0, final: bool = True, key: TraceKey = KEY) -> StoredChange:
    return StoredChange(key, by, at, received or at, is_final=final, has_findings=False)


def watching(*open_here: TraceKey, share: TraceShare = ALL) -> Takeover:
    return Takeover(CONFIG, AFTER, share, lambda key: key in open_here)


def test_at_once() -> None:
    """What a process without judging received, and whatever is open here; of the first one's share alone."""
    row = changed(NOON, by="receive-1")
    asked = [watching(share=TraceShare(index, 3)).note(NewChanges([row]), NOON) for index in range(3)]
    assert sorted(map(len, asked)) == [0, 0, 1]
    assert watching().note(NewChanges([row, row]), NOON) == [KEY]
    assert watching().note(NewChanges([row], [changed(NOON + 1, received=NOON)]), NOON) == []
    for too_little in (changed(NOON + 1, received=NOON - 1), changed(NOON + 1, received=NOON, final=False)):
        assert watching().note(NewChanges([row], [too_little]), NOON) == [KEY]
    assert watching(KEY).note(NewChanges([changed(NOON)]), NOON) == [KEY]
    assert watching().note(NewChanges([changed(NOON)]), NOON) == []


def test_after_nobody_judged_it() -> None:
    """Whether it is another's share or another judging process received it, and whatever its clock says."""
    for by in ("all-1", "work-1", "receive-1"):
        for skew in (-SKEW, 0, SKEW):
            takeover = watching(
                share=TraceShare(1 - TraceShare(1, 2).has(KEY), 2) if by == "receive-1" else TraceShare()
            )
            assert takeover.note(NewChanges([changed(NOON, by=by, received=NOON + skew)]), NOON) == []
            assert takeover.left(NOON + AFTER - 1) == []
            assert takeover.left(NOON + AFTER) == [KEY]
            takeover.forget([KEY])
            assert takeover.left(NOON + AFTER) == []


def test_a_judgement_of_all_of_it() -> None:
    """Ends it where the trace is complete; one that is open has the time in which it settles, with or without root."""
    row, later = changed(NOON), changed(NOON + SECOND)
    for is_final, wait in ((True, None), (False, CONFIG.quiet)):
        takeover = watching()
        takeover.note(NewChanges([row], [changed(NOON + 1, received=NOON, final=is_final)]), NOON)
        assert len(takeover) == (wait is not None)
        if wait is not None:
            assert takeover.left(NOON + AFTER + wait - 1) == []
            assert takeover.left(NOON + AFTER + wait) == [KEY]
    takeover = watching()
    takeover.note(NewChanges([changed(NOON, final=False)], [changed(NOON + 1, received=NOON, final=False)]), NOON)
    assert takeover.left(NOON + AFTER + CONFIG.rootless - 1) == []
    takeover.note(NewChanges([later], [changed(NOON + 2, received=NOON)]), NOON + SECOND)  # it has not seen the later
    assert takeover.left(NOON + SECOND + AFTER) == [KEY]
    takeover.note(NewChanges(judged=[changed(NOON + SECOND + 1, received=NOON - SKEW)]), NOON + SECOND)
    assert len(takeover) == 1  # as of another clock: it is not sure that it has seen the later row
    takeover.note(NewChanges(judged=[changed(NOON + SECOND + 1, received=NOON + SECOND)]), NOON + SECOND)
    assert len(takeover) == 0


@settings(max_examples=sized(100, 2000), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=40), st.integers(0, 39))
def test_nothing_is_left_for_good(steps: list[tuple[int, bool]], dies_at: int) -> None:
    """Rows come and are judged until their owner dies at any moment: then it is due, and not long before."""
    takeover, now, unjudged, noticed = watching(), NOON, False, NOON
    for number, (seconds, is_judged) in enumerate(steps):
        now += seconds * SECOND
        alive = number < dies_at
        row = changed(now)
        judged = [changed(now + 1, received=now)] if is_judged and alive else []
        takeover.note(NewChanges([row], judged), now)
        noticed = now if judged or not unjudged else noticed
        unjudged = not judged
        assert not takeover.left(noticed + AFTER - 1)
    assert takeover.left(now + AFTER) == ([KEY] if unjudged else [])
