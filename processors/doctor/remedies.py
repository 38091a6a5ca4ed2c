"""Remedies for a gap, looked up in `gaps.yaml` by the instrumentation that wrote its spans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

import yaml

from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.taxonomy import Severity

from .diagnosis import Remedy

_MOST: Final = 3


@dataclass(frozen=True, slots=True)
class Entry:
    """A remedy for spans of a `scope` (an instrumentation scope's name, or its beginning) or of a `convention`.

    With neither it is for all that have no entry of their own.
    """

    remedy: Remedy
    scope: str = ""
    convention: str = ""

    def fits(self, scope: str, convention: str) -> int:
        """Rank of the match: a longer scope before a shorter one, a scope before a convention, -1 for none."""
        if self.scope:
            return 2 + len(self.scope) if scope.startswith(self.scope) else -1
        if self.convention:
            return 1 if convention == self.convention else -1
        return 0


@dataclass(frozen=True, slots=True)
class GapKind:
    """The description of a kind of gap."""

    severity: Severity
    title: str
    lost: str
    entries: tuple[Entry, ...]


@lru_cache(maxsize=1)
def kinds() -> Mapping[str, GapKind]:
    """Every kind of gap, by its name."""
    data: Mapping[str, Any] = yaml.safe_load((files(__package__) / "gaps.yaml").read_text("utf-8"))
    return {name: _kind(fields) for name, fields in data.items()}


def remedies(kind: GapKind, spans: Sequence[NormalizedSpan]) -> tuple[Remedy, ...]:
    """Those that fit best what wrote the spans, the most frequent writer's first."""
    writers = Counter((s.raw.scope_name, s.convention) for s in spans).most_common()
    best = [_best(kind.entries, scope, convention) for (scope, convention), _ in writers or [(("", ""), 0)]]
    specific = [e for e in best if e and (e.scope or e.convention)]
    chosen = specific or [e for e in best if e]
    return tuple(dict.fromkeys(e.remedy for e in chosen))[:_MOST]


def _best(entries: Sequence[Entry], scope: str, convention: str) -> Entry | None:
    fitting = [(e.fits(scope, convention), e) for e in entries]
    score, entry = max(fitting, key=lambda pair: pair[0], default=(-1, None))
    return entry if score >= 0 else None


def _kind(fields: Mapping[str, Any]) -> GapKind:
    entries = tuple(
        Entry(Remedy(_line(e["do"]), e.get("source", "")), e.get("scope", ""), e.get("convention", ""))
        for e in fields["remedies"]
    )
    return GapKind(Severity(fields["severity"]), fields["title"], fields["lost"], entries)


def _line(text: str) -> str:
    return " ".join(text.split())
