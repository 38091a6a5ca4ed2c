"""Short cuts find what the plain way finds: each is compared with it on texts made of the pieces that matter."""

from __future__ import annotations

import ast
import re
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges import abstention, exit_status, refusals
from tracejury.judges.detectors import entities
from tracejury.judges.detectors.replanning import SAME_PLAN, _nearly_same
from tracejury.judges.echoes import only_prints
from tracejury.judges.figures import _NUMBER, Detail, details
from tracejury.judges.names import _telling, plain
from tracejury.judges.read_runs import opens_with_plan
from tracejury.judges.wording import first_of, holds_any


def of(*pieces: str, most: int = 24) -> st.SearchStrategy[str]:
    """Texts of these pieces."""
    return st.lists(st.sampled_from(pieces), max_size=most).map("".join)


TEXT = of(*" \n\t.,!?;:aAzZb01_-/'9", "\u00e9", "\u0663", "\u3002", "\uff01", "\u00a0", "Ab", "abc, ", "A1-B", "12.5 ")


@pytest.mark.parametrize(
    ("pattern", "plain_pattern"),
    [
        (entities._NAME, r"\b[A-Z][a-z]{4,30}\b"),
        (_NUMBER, r"(?<![\w.,])\d[\d,\u202f\u00a0']{0,20}(?:\.\d{1,10})?(?![\w])"),
        (abstention._NUMBER, r"\d[\d.,]{0,20}\d|\b\d\b"),
        (abstention._NAME, r"(?<=[a-z,] )[A-Z][a-z]{2,30}\b"),
    ],
)
@given(text=TEXT)
def test_patterns_that_look_back_later_match_the_same(pattern: re.Pattern[str], plain_pattern: str, text: str) -> None:
    assert [m.span() for m in pattern.finditer(text)] == [m.span() for m in re.finditer(plain_pattern, text)]


@given(TEXT)
def test_sentences_end_where_they_did(text: str) -> None:
    """Also those after which no space is written."""
    ends = re.compile(r"(?<=[.!?;\u3002\uff01\uff1f])\s+|\n+|(?<=[\u3002\uff01\uff1f])")
    pieces = [piece.strip(" *_-\u2022>\"'\t") for piece in ends.split(abstention._NUMBERING.sub("", text))]
    assert list(abstention._sentences(text)) == [p for p in pieces if p and not abstention._HEADING.match(p)]


@given(TEXT)
def test_identifiers_have_letters_and_digits(text: str) -> None:
    identifier = r"(?<![\w/.-])(?=[A-Z\d_-]{0,30}\d)(?=[\d_-]{0,30}[A-Z])[A-Z\d][A-Z\d_-]{3,30}(?![\w-])"
    named = [Detail(m.group(), m.start()) for m in re.finditer(identifier, text)]
    assert [d for d in details(text) if not _NUMBER.fullmatch(d.text)] == named


@given(of("a", "ab", "b", "ba", " "), st.lists(of("a", "b", " ", most=3), max_size=4).map(tuple))
def test_the_first_needle_is_the_lowest_offset(text: str, needles: tuple[str, ...]) -> None:
    found = [at for needle in needles if (at := text.find(needle)) >= 0]
    assert first_of(text, needles) == min(found, default=-1)
    assert holds_any(text, needles) == bool(found)


@given(of("plan", "plan:", "# ", "* ", "\n", "\u2028", "the ", "pla", " "))
def test_a_plan_opens_a_line(low: str) -> None:
    opening = low[:400]
    lines = any(line.lstrip("#* ").startswith("plan") for line in opening.splitlines())
    assert opens_with_plan(low) == ("plan:" in opening or lines)


@given(
    of("unknown ", "tool ", "function ", "not ", "found ", "no such ", "nosuchtool", "toolnotfound", "\x00", "'", " ")
)
def test_an_unknown_tool_is_told_only_by_what_is_looked_for_first(low: str) -> None:
    assert refusals._UNKNOWN.search(low) is None or any(held in low for held in refusals._UNKNOWN_HELD)


@given(of("Error: x", "Uncaught ", "    at f (a:1)", "at rest", "\n", "\n\n", "\r\n", "\x0b", " ", "node v20", most=40))
def test_a_text_ends_in_frames_under_an_errors_name(text: str) -> None:
    lines = [line for line in text.splitlines() if line.strip()]
    ends = range(len(lines) - 1, max(len(lines) - 8, 0) - 1, -1)
    last = next((i for i in ends if exit_status._FRAME.match(lines[i])), -1)
    named = any(word in text for word in exit_status._UNCAUGHT_WORDS)
    under = bool(exit_status._UNCAUGHT.search("\n".join(lines[: max(last, 0)])))
    assert exit_status._stack_ends(text) == (named and last >= 0 and under)


@given(
    of(
        *(
            "import os",
            "import",
            "from x import y",
            "for a in b:",
            "print('a b c d')",
            "x = 'a b c d'",
            "print(x)",
            "try:",
        ),
        *("# c", "#", "'''", "\n", "\r", "\n ", " ", "\\\n", "\x0c", ";", "\u00a0", "\u0301", "with ", "del x", "pass"),
        most=8,
    )
)
def test_code_that_does_more_need_not_be_parsed(code: str) -> None:
    try:
        nodes = list(ast.walk(ast.parse(code))) if "print" in code else []
    except (SyntaxError, ValueError):
        nodes = []
    printing = any(isinstance(n, ast.Call) for n in nodes) and not any(
        isinstance(n, ast.stmt) and not isinstance(n, ast.Expr | ast.Assign | ast.AnnAssign | ast.Pass) for n in nodes
    )
    assert printing or not only_prints(code)
    assert only_prints(code) == (printing and _prints_words(nodes))


def _prints_words(nodes: list[ast.AST]) -> bool:
    calls = [n.func for n in nodes if isinstance(n, ast.Call)]
    values = [n.value for n in nodes if isinstance(n, ast.Constant)]
    texts = [v for v in values if isinstance(v, str)]
    printed = all(isinstance(f, ast.Name) and f.id == "print" for f in calls)
    return printed and texts == values and any(v.count(" ") >= 3 for v in texts)


@given(of("a ", "b ", "c d ", "\n"), of("a ", "b ", "c d ", "\n"))
def test_plans_are_nearly_the_same_by_their_words(one: str, other: str) -> None:
    matcher = SequenceMatcher(None, one.split(), other.split(), autojunk=False)
    long_enough = min(len(one), len(other)) >= SAME_PLAN * max(len(one), len(other))
    assert _nearly_same(one, other) == (long_enough and matcher.ratio() >= SAME_PLAN)


@given(st.text(max_size=20), st.integers(0, 30))
def test_names_are_known_by_their_letters(name: str, repeated: int) -> None:
    """Long ones, too, which are not kept."""
    name *= repeated
    assert plain(name) == "".join(ch for ch in name.lower() if ch.isalnum())
    words = name.lower().replace("-", "_").replace(".", "_").split("_")
    assert list(_telling(name)) == [name.lower(), *(w for w in words if len(w) >= 6)]
