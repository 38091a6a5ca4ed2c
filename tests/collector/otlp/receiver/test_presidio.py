"""Presidio as an extra, by an engine of the same interface; the package itself is half a gigabyte with its model."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from tracejury.collector.otlp.redaction.build import build_redactor
from tracejury.collector.otlp.redaction.config import RedactionConfig
from tracejury.collector.otlp.redaction.presidio import PresidioAnalyzer, RecognizerResult
from tracejury.processors.redact.spans import Redacted, Redactor
from tracejury.processors.redact.texts import TextRedactor
from tracejury.schemas.batch import Batch
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.spans import Span

CONFIG = RedactionConfig(presidio=True, presidio_entities=("PERSON", "US_SSN"), presidio_score=0.75)


class ScriptedEngine:
    """Finds one name, and an entity that nobody asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[str, ...], float]] = []

    def analyze(
        self, text: str, language: str, *, entities: list[str], score_threshold: float
    ) -> list[RecognizerResult]:
        """As Presidio's."""
        self.asked.append((language, tuple(entities), score_threshold))
        at = text.find("Ada")
        kinds = ("PERSON", "NRP") if at >= 0 else ()
        return [SimpleNamespace(entity_type=kind, start=at, end=at + 3) for kind in kinds]


def test_what_it_finds_is_masked_and_counted() -> None:
    """In free text of any attribute, with the settings that were asked for."""
    engine, redacted = ScriptedEngine(), Redacted()
    redactor = Redactor(TextRedactor([], analyzer=PresidioAnalyzer(engine, CONFIG)))
    span = Span("1" * 32, "2" * 16, "", "Ada", 1, 2, {"input.value": '{"role": "Ada", "content": "é: Ada Lovelace"}'})
    (after,) = redactor.batch(Batch([span]), redacted).spans
    assert after.attributes["input.value"] == '{"role": "Ada", "content": "é: [redacted:person] Lovelace"}'
    assert (after.name, after.attributes["tracejury.redacted"]) == ("Ada", '["person"]')
    assert redacted.counts == {("person", "input.value"): 1}
    assert set(engine.asked) == {("en", ("PERSON", "US_SSN"), 0.75)}


def test_without_the_package_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how to install it."""
    monkeypatch.setitem(sys.modules, "presidio_analyzer", None)
    with pytest.raises(ConfigError, match=r"^redaction\.presidio: .*pip install 'tracejury\[presidio\]'.*$"):
        build_redactor(CONFIG)


def test_without_its_model_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Presidio ends the process where it cannot download one."""

    def fail(**_: object) -> None:
        raise SystemExit(1)

    monkeypatch.setitem(sys.modules, "presidio_analyzer", SimpleNamespace(AnalyzerEngine=fail))
    with pytest.raises(ConfigError, match=r"^redaction\.presidio: the model for 'en' cannot be loaded.*$"):
        build_redactor(CONFIG)


@pytest.mark.parametrize(("environ", "why"), [({}, "is not set"), ({"K": "short"}, "is shorter than 16 characters")])
def test_a_key_that_is_none_is_one_line(environ: dict[str, str], why: str) -> None:
    """It names the variable, never its value."""
    config = RedactionConfig(sets=("email",), hash_key="${K}")
    with pytest.raises(ConfigError) as caught:
        build_redactor(config, environ)
    assert str(caught.value) == f"redaction.hash_key: the environment variable K {why}"
