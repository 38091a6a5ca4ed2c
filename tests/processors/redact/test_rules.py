"""Rules: what they narrow, what they do, and who wins."""

from __future__ import annotations

import itertools
import json

import pytest
from redacting import KEY, own, ready, redacted

from tracejury.processors.redact.paths import covers, parse_path
from tracejury.processors.redact.plain_texts import Analyzer, Entity
from tracejury.processors.redact.ready import READY
from tracejury.processors.redact.rules import Action, RedactionRule
from tracejury.processors.redact.texts import TextRedactor

CHAT = '{"messages": [{"role": "user", "content": "hi"}, {"content": [1, {"a": 2}]}, {"content": null}], "n": 1e5}'


def test_a_path_takes_values_of_any_kind_and_nothing_else() -> None:
    """Texts and containers are marked, null has nothing, all other bytes stay."""
    rules = [RedactionRule("prompt", path=parse_path("$.messages[*].content"))]
    assert redacted(CHAT, rules) == (
        '{"messages": [{"role": "user", "content": "[redacted:prompt]"}, {"content": "[redacted:prompt]"}, '
        '{"content": null}], "n": 1e5}'
    )


def test_a_path_goes_on_in_a_string_of_json() -> None:
    """As `input.value` often holds a request as text."""
    rules = [RedactionRule("b", Action.DROP, path=parse_path("a.b"))]
    assert redacted('{"a": "{\\"b\\": \\"x\\", \\"c\\": 1}"}', rules) == '{"a": "{\\"b\\": null, \\"c\\": 1}"}'


def test_a_pattern_may_be_narrowed_to_a_path_and_a_key() -> None:
    """All that a rule names must hold."""
    rules = [RedactionRule("mail", key="input.*", path=parse_path("a"), patterns=READY["email"])]
    text = '{"a": ["ada@example.org"], "b": "ada@example.org"}'
    assert redacted(text, rules) == '{"a": ["[redacted:mail]"], "b": "ada@example.org"}'
    assert redacted(text, rules, key="output.value") == text


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("$.messages[*].content", ("messages", "*", "content")),
        ("messages.*.content", ("messages", "*", "content")),
        ("$[0]['a.b'][\"c\"]", ("0", "a.b", "c")),
    ],
)
def test_paths(path: str, steps: tuple[str, ...]) -> None:
    """Names, indexes and any."""
    assert parse_path(path) == steps


@pytest.mark.parametrize("path", ["$", "", "$..a", "a[?(@.b)]", "a[1:2]", "a["])
def test_paths_that_are_refused(path: str) -> None:
    """The rest of RFC 9535."""
    with pytest.raises(ValueError, match=r"path"):
        parse_path(path)


def test_covers() -> None:
    """The value itself and what stands in it."""
    assert covers(("a", "*"), ("a", "0", "b"))
    assert not covers(("a", "*"), ("a",))
    assert not covers(("a",), ("b",))


def test_hashes_tell_equal_values() -> None:
    """Under one key; under another they are others."""
    rules = [own("user", r"u-\d+", Action.HASH)]
    text = redacted("u-1 u-2 u-1", rules)
    assert text
    first, second, third = text.split()
    assert first == third != second
    assert TextRedactor(rules, b"another key").value("k", "u-1", []) != first


def test_drop() -> None:
    """An attribute by key; the text that holds a match; a text in JSON."""
    assert redacted("x", [RedactionRule("d", Action.DROP, "input.value")]) is None
    assert redacted("a u-1", [own("d", r"u-\d", Action.DROP)]) is None
    assert redacted('{"a": "a u-1", "b": 2}', [own("d", r"u-\d", Action.DROP)]) == '{"a": "", "b": 2}'


def test_a_rule_for_all_keys_leaves_names() -> None:
    """Only a rule that names `span.name` takes it whole."""
    assert redacted("chat", [RedactionRule("all", key="*")], key="span.name") == "chat"
    assert redacted("chat", [RedactionRule("all", key="span.name")], key="span.name") == "[redacted:all]"
    assert redacted("chat", [RedactionRule("all", key="*")]) == "[redacted:all]"


def test_the_order_of_rules_means_nothing() -> None:
    """Drop wins over mask, mask over hash; overlapping matches go together."""
    rules = [
        own("a", "abc", Action.HASH),
        own("b", "cd+", Action.HASH),
        own("m", "de", Action.MASK),
        RedactionRule("p", Action.HASH, path=("x",)),
        RedactionRule("q", path=("x",)),
    ]
    cases = {"abcde": "[redacted:m]", '{"x": 1}': '{"x": "[redacted:q]"}'}
    for text, expected in cases.items():
        assert {redacted(text, list(order)) for order in itertools.permutations(rules)} == {expected}


class Names:
    """An analyser that knows one name."""

    rules = (RedactionRule("person"),)

    def find(self, text: str) -> list[Entity]:
        """Every place of the name; it breaks on another."""
        if "Charles" in text:
            raise RuntimeError("no model for him")
        at = text.find("Ada")
        return [Entity(self.rules[0], at, at + 3)] if at >= 0 else []


def test_an_analyser_sees_free_text_alone() -> None:
    """In JSON too; single words are names of tools and roles. Where it breaks the value is dropped."""
    analyzer: Analyzer = Names()
    redactor = TextRedactor(ready("email"), KEY, analyzer=analyzer)
    assert "é Ada wrote" in redactor.candidates(["é Ada wrote"])
    assert redactor.value("k", "é Ada wrote to ada@example.org", []) == "é [redacted:person] wrote to [redacted:email]"
    chat = json.dumps({"name": "Ada", "t": "for Ada"})
    assert redactor.value("k", chat, []) == '{"name": "Ada", "t": "for [redacted:person]"}'
    assert redactor.value("k", "Charles and Ada", []) == "[redacted:failed]"
