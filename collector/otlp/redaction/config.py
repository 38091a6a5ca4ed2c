"""The configuration section `redaction`: what is never stored."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tracejury.processors.redact.rules import FAILED, Action
from tracejury.schemas.config_base import VARIABLE, Section

SetName = Literal["email", "phone", "card", "iban", "api-keys", "bearer"]
_NAME = r"^[a-z0-9][a-z0-9_-]{0,63}$"


def a_pattern(value: str) -> str:
    """A pattern that RE2 takes, or "". Raises ValueError."""
    from tracejury.processors.redact.patterns import own_pattern

    if value:
        own_pattern(value)
    return value


def a_path(value: str) -> str:
    """A path into JSON, or "". Raises ValueError."""
    from tracejury.processors.redact.paths import parse_path

    if value:
        parse_path(value)
    return value


def a_variable(value: str) -> str:
    """The form `${NAME}`, or "". Raises ValueError, which does not repeat the value."""
    if value and not VARIABLE.fullmatch(value):
        raise ValueError("a key stands in the environment, not in a file: write ${NAME}")
    return value


class RedactionRuleConfig(Section):
    """A rule of your own: all that it names must hold (docs/redaction.md)."""

    name: Annotated[str, Field(pattern=_NAME)]
    """Its name in marks, metrics and `tracejury.redacted`."""
    key: Annotated[str, Field(min_length=1)] = "*"
    """Values of attributes of this key; `*` and `?` stand for any characters. `span.name`, `span.status_message`,
    `event.name`, `log.body` and `scope.name` are the keys of what is no attribute."""
    path: Annotated[str, AfterValidator(a_path)] = ""
    """Only values at this path of JSON, such as `$.messages[*].content`."""
    pattern: Annotated[str, AfterValidator(a_pattern)] = ""
    """Only what this RE2 pattern matches, or its first group; "": whole values."""
    set: SetName | Literal[""] = ""
    """The patterns of a ready-made set instead."""
    action: Action = Action.MASK
    """mask: `[redacted:NAME]` stands in its place; hash: `[NAME:12 hex digits]`, the same for equal values; drop:
    nothing of the value is kept."""

    @model_validator(mode="after")
    def _narrowed(self) -> Self:
        if self.name == FAILED:
            raise ValueError(f"{FAILED} marks values on which a rule failed: choose another name")
        if self.pattern and self.set:
            raise ValueError("name either a pattern or a set")
        if not (self.pattern or self.set or self.path or "key" in self.model_fields_set):
            raise ValueError("name a key, a path, a pattern or a set")
        return self


class RedactionConfig(Section):
    """What is masked, hashed or dropped before it is stored, forwarded or judged; nothing by default."""

    sets: tuple[SetName, ...] = ()
    """Ready-made sets that are masked everywhere: email, phone, card, iban, api-keys, bearer."""
    rules: tuple[RedactionRuleConfig, ...] = ()
    """Rules of your own."""
    hash_key: Annotated[str, AfterValidator(a_variable)] = ""
    """`${NAME}`: the variable with the key of hashes, 16 characters or more."""
    presidio: bool = False
    """Also mask what Microsoft Presidio finds (`pip install 'tracejury[presidio]'`); it takes milliseconds a text."""
    presidio_entities: Annotated[tuple[Annotated[str, Field(pattern=r"^[A-Z_]+$")], ...], Field(min_length=1)] = (
        "PERSON",
        "LOCATION",
    )
    """Entities that Presidio looks for."""
    presidio_language: str = "en"
    """The language of the texts, for Presidio."""
    presidio_score: Annotated[float, Field(ge=0, le=1)] = 0.5
    """The least score of what Presidio finds."""

    @property
    def on(self) -> bool:
        """Whether anything is redacted."""
        return bool(self.sets or self.rules or self.presidio)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        entities = [entity_rule(entity) for entity in self.presidio_entities] if self.presidio else []
        names = [*self.sets, *(rule.name for rule in self.rules), *entities]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"two rules are called {twice[0]}")
        if not self.hash_key and any(rule.action is Action.HASH for rule in self.rules):
            raise ValueError("hashes need a key: set hash_key to ${NAME}")
        return self


def entity_rule(entity: str) -> str:
    """The name of the rule for what Presidio calls so."""
    return entity.lower().replace("_", "-")
