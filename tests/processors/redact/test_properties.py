"""Properties of redaction over arbitrary texts and JSON."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from redacting import KEY, SECRETS, own, ready

from tracejury.processors.redact.rules import Action, RedactionRule
from tracejury.processors.redact.texts import TextRedactor

RULES = [
    *ready("email", "phone", "card", "api-keys", "bearer"),
    *ready("iban", action=Action.HASH),
    own("ticket", r"T-\d{3}", Action.HASH),
    RedactionRule("secret", path=("secret",)),
]
REDACTOR = TextRedactor(RULES, KEY)
PATTERNS = TextRedactor(RULES[:-1], KEY)
words = st.one_of(
    st.text(max_size=12),
    st.sampled_from([*SECRETS.values(), "T-123", "[redacted:email]", "4111", "@", "+1", "\\n", "\u200b", "Bearer "]),
)
texts = st.lists(words, max_size=6).map(" ".join) | st.lists(words, max_size=6).map("".join)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.one_of(texts, st.just("secret")), inner, max_size=4),
    max_leaves=12,
)
json_texts = st.builds(
    lambda value, escaped, indent: json.dumps(value, ensure_ascii=escaped, indent=indent),
    values, st.booleans(), st.sampled_from([None, 2]),
)  # fmt: skip


@given(texts | json_texts)
def test_what_is_redacted_is_not_redacted_again(text: str) -> None:
    """Also where another collector did it before."""
    once = REDACTOR.value("k", text, [])
    found: list[str] = []
    assert once is not None
    assert REDACTOR.value("k", once, found) == once
    assert not found


@given(json_texts)
@example('"BEARER sk-proj-T3stT3stT3stT3stT3stT3st"')  # two rules match the same range
def test_json_stays_json_of_the_same_structure(text: str) -> None:
    """Keys may become marks, integers texts; lists and objects keep their places."""
    new = REDACTOR.value("k", text, [])
    assert new is not None
    assert shape(json.loads(new)) == shape(json.loads(text))


def shape(value: Any) -> Any:
    """The structure, but for what stands under `secret`, which may be a container that is marked."""
    match value:
        case dict():
            return sorted(json.dumps([0 if key == "secret" else shape(inner)]) for key, inner in value.items())
        case list():
            return [shape(inner) for inner in value]
        case _:
            return 0


@given(texts | json_texts)
def test_what_has_no_match_is_the_same_text(text: str) -> None:
    """Byte by byte; and what may not be touched has no match."""
    found: list[str] = []
    new = PATTERNS.value("k", text, found)
    assert bool(found) == (new != text)
    assert not found or text in PATTERNS.candidates([text])


@given(
    st.sampled_from(sorted(SECRETS)),
    st.text("abc .,;:\n{}[]\"'\\é→", max_size=30),
    st.text(" .,;\n{}[]\"'é→", max_size=30),
)
def test_no_surroundings_save_a_secret(name: str, before: str, after: str) -> None:
    """Punctuation, broken JSON and other scripts beside it."""
    secret = SECRETS[name]
    kept = REDACTOR.value("k", f"{before} {secret} {after}", []) or ""
    assert secret not in kept
