"""The record and the settings of a detector on one service, beside the explanation of the detector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tracejury.judges.registry import priors
from tracejury.judges.rule_settings import RuleSettings
from tracejury.schemas.errors import ConfigError, NotFoundError
from tracejury.schemas.queries.glossary import Term, TermSection
from tracejury.schemas.rule_calibrations import RuleCalibration
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.moments import iso_time

from .explain.glossary import explain
from .stored_reader import StoredReader


def explain_on_service(reader: StoredReader, settings: RuleSettings, name: str, service: str) -> Term:
    """The term of a detector, with what the settings and the labels of a service say of it there. Blocks.

    Raises:
        NotFoundError: there is no such term, or nothing is stored of such a service. ConfigError: it is no detector
        that is built in. RetryableError, StoreError: the store failed.
    """
    term = explain(name)
    if term.kind != "detector" or term.key not in priors():
        raise ConfigError(f"{term.key!r} is no built-in detector: only these have a record on a service")
    for others in reader.unknown_names({"service": service}).values():
        known = f"; known are: {', '.join(others)}" if others else ""
        raise NotFoundError(f"nothing is stored of a service {service[:64]!r}{known}")
    history = reader.calibrations.history(service, term.key)
    section = TermSection(
        f"On the service {service}", (*_set(settings.bound(term.key, service)), *_lines(term.key, history))
    )
    return replace(term, sections=(*term.sections, section))


def _set(bound: float | None) -> Iterator[str]:
    """What the configuration says of a rule whose findings have at most this confidence."""
    if bound is None:
        yield "switched off on this service by detectors.rules in the configuration: it reports nothing there"
    elif bound < 1:
        yield f"at most {bound:.2f} on this service by detectors.rules in the configuration, whatever its record"


def _lines(rule: str, history: Sequence[RuleCalibration]) -> Iterator[str]:
    general = priors()[rule].mean
    if not history or not history[-1].holds:
        yield f"unproven on this service, since nobody has labelled what it found there: {general:.2f}, as in general"
    else:
        yield f"confidence {history[-1].confidence:.2f}, in general {general:.2f}"
    for number, one in enumerate(history):
        was = f"from {history[number - 1].confidence:.2f} " if number else ""
        found = f"right in {one.right} of {counted(one.right + one.wrong, 'labelled error')}"
        if one.confirmed + one.refuted:
            found += f"; LLM judges confirmed {counted(one.confirmed, 'other error')} and refuted {one.refuted}"
        yield f"version {one.version}, {iso_time(one.at)}: {was}to {one.confidence:.2f}, {found}"
