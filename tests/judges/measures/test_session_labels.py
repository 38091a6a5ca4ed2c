"""What the labels of a session say together."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from tracejury.judges.measures.session_labels import agreed
from tracejury.schemas.annotations import GENERATOR, SessionLabel


def good(annotator: str, **more: Any) -> SessionLabel:
    given: dict[str, Any] = {"service": "shop", "session_id": "one", "good": True}
    return SessionLabel(annotator=annotator, **given | more)


def bad(annotator: str, **more: Any) -> SessionLabel:
    return good(annotator, good=False, **more)


GOOD, BAD = good("ada"), bad("bob")


@pytest.mark.parametrize(
    ("said", "together"),
    [
        ([GOOD], (True, None, "", ("ada",), True)),
        ([GOOD, BAD], None),
        ([GOOD, good("bob"), bad("cem")], None),  # nobody is outvoted
        ([GOOD, bad("bob", withdrawn=True)], (True, None, "", ("ada",), True)),
        ([bad("ada", satisfied=True), BAD], (False, True, "", ("ada", "bob"), True)),
        ([bad("ada", satisfied=True), bad("bob", satisfied=False)], None),
        ([bad("ada", situation="null-response"), BAD], (False, None, "null-response", ("ada", "bob"), True)),
        (
            [bad("ada", situation="null-response"), bad("bob", situation="partial-answer")],
            (False, None, "", ("ada", "bob"), True),
        ),
        (
            [bad(GENERATOR, satisfied=True, situation="null-response")],
            (False, True, "null-response", (GENERATOR,), False),
        ),
        ([bad(GENERATOR, satisfied=True), GOOD], (True, None, "", ("ada",), True)),
        ([good(GENERATOR), GOOD, BAD], None),
        ([good("ada", withdrawn=True)], "nothing"),
    ],
)
def test_labels_of_a_session_are_one_label_or_contested(said: list[SessionLabel], together: Any) -> None:
    """In whatever order they come; another session beside it changes nothing."""
    other = SessionLabel(annotator="ada", service="desk", session_id="one", good=False)
    for ordered in permutations(said):
        found = agreed([other, *ordered])
        assert list(found) == sorted(found)
        theirs = found.pop(("desk", "one"))
        assert theirs is not None
        assert not theirs.good
        if together == "nothing":
            assert found == {}
            continue
        one = found["shop", "one"]
        assert (one and (one.good, one.satisfied, one.situation, one.annotators, one.by_people)) == together
