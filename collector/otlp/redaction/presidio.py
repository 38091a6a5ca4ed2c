"""Microsoft Presidio, the one place that imports it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from tracejury.processors.redact.plain_texts import Entity
from tracejury.processors.redact.rules import RedactionRule
from tracejury.schemas.errors import ConfigError

from .config import RedactionConfig, entity_rule


class RecognizerResult(Protocol):
    """A part of Presidio's class of that name."""

    entity_type: str
    start: int
    end: int


class AnalyzerEngine(Protocol):
    """A part of Presidio's class of that name."""

    def analyze(
        self, text: str, language: str, *, entities: list[str], score_threshold: float
    ) -> Sequence[RecognizerResult]:
        """The entities in a text, by places in characters."""


def engine(language: str) -> AnalyzerEngine:
    """Presidio's engine with its default model for the language.

    Raises:
        ConfigError: Presidio or its model is missing.
    """
    try:
        from presidio_analyzer import AnalyzerEngine as Engine
    except ImportError:
        raise ConfigError(
            "redaction.presidio: Presidio is missing: pip install 'tracejury[presidio]', or remove the key"
        ) from None
    try:
        made: AnalyzerEngine = Engine(supported_languages=[language])
    except (OSError, ValueError, SystemExit) as error:  # it exits where its model cannot be downloaded
        raise ConfigError(
            f"redaction.presidio: the model for {language!r} cannot be loaded ({type(error).__name__}): "
            "install it as Presidio's documentation says, such as python -m spacy download en_core_web_lg"
        ) from None
    return made


class PresidioAnalyzer:
    """Masks what Presidio finds."""

    def __init__(self, presidio: AnalyzerEngine, config: RedactionConfig) -> None:
        self._presidio, self._config = presidio, config
        self._by_entity = {entity: RedactionRule(entity_rule(entity)) for entity in config.presidio_entities}
        self.rules = tuple(self._by_entity.values())

    def find(self, text: str) -> Iterator[Entity]:
        """The configured entities in a text."""
        config = self._config
        found = self._presidio.analyze(
            text,
            config.presidio_language,
            entities=list(config.presidio_entities),
            score_threshold=config.presidio_score,
        )
        for one in found:
            if rule := self._by_entity.get(one.entity_type):
                yield Entity(rule, one.start, one.end)
