"""The description of a service that judges are shown: none, derived from the folder's traces, or a file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tracejury.judges.llm.case import ServiceDescription
from tracejury.processors.architecture import DerivedArchitecture as Derived
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.trajectory import Trace

from .judges_options import DERIVED, NO_ARCHITECTURE

MOST_CHARACTERS: Final = 20_000
"""A longer description would take the room that is kept beside a transcript."""


@dataclass(frozen=True, slots=True)
class ServiceDescriptions:
    """One text for all services, or one a service."""

    written: str = ""
    derived: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, chosen: str, traces: Iterable[Trace]) -> ServiceDescriptions:
        """`chosen`: "none", "derived", or the path of a file.

        Raises:
            ConfigError: the file cannot be read, or is no short text.
        """
        if chosen == NO_ARCHITECTURE:
            return cls()
        if chosen != DERIVED:
            return cls(written=_read(Path(chosen)))
        services: defaultdict[str, Derived] = defaultdict(Derived)
        for trace in traces:
            services[trace.service] = services[trace.service].add(trace)
        return cls(derived={service: derived.text for service, derived in services.items()})

    @property
    def shown(self) -> bool:
        """Whether any service has a description."""
        return bool(self.written) or any(self.derived.values())

    def of_service(self, trace: Trace) -> ServiceDescription:
        """The description of the trace's service."""
        if self.written:
            return ServiceDescription(self.written, by_operator=True)
        return ServiceDescription(self.derived.get(trace.service, ""))


def _read(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise ConfigError(f"cannot read the architecture {path}: {why}") from None
    if not text or len(text) > MOST_CHARACTERS:
        raise ConfigError(f"{path} is no architecture: expected a text of at most {MOST_CHARACTERS} characters")
    return text
