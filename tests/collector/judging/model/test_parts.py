"""The small parts: the form of a request, pace, prices, and secrets that are taken out of texts."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import picture
from pydantic import ValidationError

from tracejury.collector.judging.model.config import LlmConfig
from tracejury.collector.judging.model.litellm_client import Pace
from tracejury.collector.judging.model.price import Price, price_of, set_price, tokens_in
from tracejury.collector.judging.model.structured import at_most, messages, response_format, strict
from tracejury.collector.otlp.secrets import secret_values, without
from tracejury.judges.llm.client import Prompt, PromptMessage

CLOSED = {
    "type": "object",
    "properties": {"score": {"type": "integer"}},
    "required": ["score"],
    "additionalProperties": False,
}
ASKED = Prompt((PromptMessage("system", "rules", cache=True), PromptMessage("user", "question")), schema=CLOSED)


def test_forms_from_the_strictest_on() -> None:
    """Each with the schema in one place: beside the messages, or at the end of the last."""
    assert at_most("schema") == ("schema", "json", "none")
    assert at_most("none") == ("none",)
    described = {"name": "answer", "schema": CLOSED, "strict": True}
    assert response_format(ASKED, "schema") == {"type": "json_schema", "json_schema": described}
    assert response_format(ASKED, "json") == {"type": "json_object"}
    assert response_format(ASKED, "none") is None
    assert "schema" not in str(messages(ASKED, "schema", marked=False))
    for form in at_most("json"):
        first, last = messages(ASKED, form, marked=False)
        assert first == {"role": "system", "content": "rules"}
        assert last["content"].startswith("question\n\n")
        assert '"additionalProperties":false' in last["content"]


def test_a_prompt_without_schema_is_sent_as_it_is() -> None:
    """In every form."""
    plain = Prompt((PromptMessage("user", "question"),))
    for form in at_most("schema"):
        assert response_format(plain, form) is None
        assert messages(plain, form, marked=True) == [{"role": "user", "content": "question"}]


def test_neighbours_of_one_role_are_one_message() -> None:
    """Unless the provider is told of prefixes; what came before is a prefix still."""
    said = [PromptMessage("user", "run"), PromptMessage("assistant", "?"), PromptMessage("user", "again")]
    longer = Prompt((*ASKED.messages, *said))
    assert [m["content"] for m in messages(longer, "none", marked=False)] == ["rules", "question\nrun", "?", "again"]
    assert len(messages(longer, "none", marked=True)) == 5


def test_prefixes_are_marked_where_the_provider_must_be_told() -> None:
    """At the messages that say so."""
    first, last = messages(ASKED, "schema", marked=True)
    part = {"type": "text", "text": "rules", "cache_control": {"type": "ephemeral"}}
    assert first["content"] == [part]
    assert last["content"] == "question"


@pytest.mark.parametrize("marked", [False, True])
def test_pictures_stand_after_their_text_each_under_its_name(*, marked: bool) -> None:
    """Between record and question; the prefix ends before them."""
    seen = picture()
    record = PromptMessage("user", "record", cache=True, pictures=(seen,))
    asked = Prompt((PromptMessage("system", "rules"), record, PromptMessage("user", "question")))
    _, *said = messages(asked, "schema", marked=marked)
    parts = [p for m in said for p in (m["content"] if isinstance(m["content"], list) else [text(m["content"])])]
    prefix = text("record") | ({"cache_control": {"type": "ephemeral"}} if marked else {})
    shown = {"type": "image_url", "image_url": {"url": seen.url}}
    assert parts == [prefix, text(f"picture [image/png, sha256 {seen.digest[:12]}]:"), shown, text("question")]
    assert seen.url == f"data:image/png;base64,{base64.b64encode(seen.data).decode()}"


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


def test_pictures_count_as_tokens() -> None:
    """Of the budget's estimate, and of the pace."""
    plain = Prompt((PromptMessage("user", "record"),))
    seen = (picture(1_000, 1_500), picture(10, 10))
    pictured = Prompt((PromptMessage("user", "record", pictures=seen),))
    assert tokens_in(pictured) - tokens_in(plain) == 2_000 + 258


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (CLOSED, True),
        ({"type": "object", "properties": {"a": CLOSED}, "required": ["a"], "additionalProperties": False}, True),
        ({**CLOSED, "required": []}, False),
        ({k: v for k, v in CLOSED.items() if k != "additionalProperties"}, False),
        ({"type": "array", "items": {"type": "object"}}, False),
        ({"anyOf": [CLOSED, {"type": "null"}]}, True),
    ],
)
def test_strict_where_openai_takes_it(schema: Mapping[str, Any], *, expected: bool) -> None:
    """Every object closed, all its properties required."""
    assert strict(schema) is expected


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


async def test_calls_are_spread_over_the_minute() -> None:
    """The first goes at once, each further one a share of the minute later."""
    clock = Clock()
    pace = Pace(60, 0, clock=lambda: clock.now, sleep=clock.sleep)
    for _ in range(4):
        await pace.turn(1000)
    assert clock.slept == pytest.approx([1.0, 2.0, 3.0])
    clock.now += 100
    await pace.turn(1000)
    assert len(clock.slept) == 3


async def test_large_calls_take_more_of_the_minute() -> None:
    """One that is larger than a whole minute's tokens still goes, alone."""
    clock = Clock()
    pace = Pace(0, 6000, clock=lambda: clock.now, sleep=clock.sleep)
    await pace.turn(600)
    await pace.turn(1_000_000)
    await pace.turn(1)
    assert clock.slept == pytest.approx([6.0, 66.0])


async def test_no_limit_no_waiting() -> None:
    """Zero is no limit."""
    clock = Clock()
    pace = Pace(0, 0, clock=lambda: clock.now, sleep=clock.sleep)
    for _ in range(1000):
        await pace.turn(10**9)
    assert not clock.slept


def test_prices() -> None:
    """Cached tokens at their own price; where there is none, at that of the others; nothing known is no price."""
    known = price_of({"input_cost_per_token": 2.0, "output_cost_per_token": 10, "cache_read_input_token_cost": 0.5})
    assert known == Price(2.0, 0.5, 10.0)
    assert known.of(10, 1, cached=4) == 6 * 2 + 4 * 0.5 + 10
    assert price_of({"input_cost_per_token": 2.0, "output_cost_per_token": 10}) == Price(2.0, 2.0, 10.0)
    assert price_of({"input_cost_per_token": 2.0}) is None
    assert set_price(LlmConfig()) is None
    assert set_price(LlmConfig(input_usd_per_million=3, output_usd_per_million=15)) == Price(3e-6, 3e-6, 15e-6)


KEYS = ["sk-proj-abcDEF0123456789", "hunter2hunter2", "AIzaSyA-abcdefghijklmnop", "eyJhbGciOi.eyJzdWIi.SflKx"]


@given(before=st.text(max_size=40), after=st.text(max_size=40), key=st.sampled_from(KEYS))
def test_a_known_secret_never_stays(before: str, after: str, key: str) -> None:
    """Wherever it stands, whatever stands around it."""
    shown = without(before + key + after, {key})
    assert key not in shown
    assert "\n" not in shown
    assert len(shown) <= 300


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abc.def-ghi",
        "basic dXNlcjpwYXNz was refused",
        "Incorrect API key provided: sk-proj-abcDEF0123456789.",
        "http://user:dXNlcjpwYXNz@host/v1 is away",
        "key AIzaSyA-abcdefghijklmnop is wrong",
    ],
)
def test_what_looks_like_a_secret_goes_too(text: str) -> None:
    """Even where we do not know it."""
    shown = without(text, ())
    assert "***" in shown
    for secret in ("abc.def", "dXNlcjpwYXNz", "abcDEF", "AIzaSyA"):
        assert secret not in shown


def test_secrets_are_found_by_their_names() -> None:
    """Those that are named, and all that sound like one; short values would take out ordinary words."""
    environ = {"MINE": "value-one", "X_API_KEY": "value-two", "HOME": "/home/user", "A_TOKEN": "abc"}
    assert secret_values(["MINE", "ABSENT", ""], environ) == {"value-one", "value-two"}


@pytest.mark.parametrize(
    "url", ["http://user:pass-word@host/v1", "https://host/v1?key=pass-word", "ftp://host/pass-word", "pass-word"]
)
def test_a_url_with_a_secret_is_refused_without_repeating_it(url: str) -> None:
    """A configuration file is no place for one, and neither is the error."""
    with pytest.raises(ValidationError) as caught:
        LlmConfig(model="m", api_base=url)
    assert all("pass-word" not in problem["msg"] for problem in caught.value.errors())


def test_the_chain_is_the_model_and_its_fallbacks() -> None:
    """A fallback is a name, or a mapping with a server and a key of its own."""
    config = LlmConfig.model_validate(
        {"model": "a/b", "api_key_env": "K", "fallbacks": ["c/d", {"model": "e", "api_base": "http://h/v1"}]}
    )
    assert [(m.model, m.api_base, m.api_key_env) for m in config.chain] == [
        ("a/b", "", "K"),
        ("c/d", "", ""),
        ("e", "http://h/v1", ""),
    ]
    assert LlmConfig().chain == ()
    assert not LlmConfig().on
