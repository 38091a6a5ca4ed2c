"""The key of a pattern: what two errors have in common that are one thing to fix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tracejury.schemas.agent_errors import AgentError
from tracejury.schemas.findings import Finding, digest

NAME: Final = 256
"""Characters by which names are distinguished."""

_DIGITS: Final = 16


@dataclass(frozen=True, slots=True, order=True)
class PatternKey:
    """Errors of one service with one key are a pattern.

    `cause`: their class (`judges/causes.py`); `kind`: the title of the rule, or taxonomy and category of a judge whose
    wording varies; `about`: the tool, else the agent; `template`: of the rule's words, "" where they vary freely;
    `name`: of the cluster that these are in. Those of a named cluster have its taxonomy for kind, no cause, no agent.
    """

    cause: str
    kind: str
    about: str
    template: str
    name: str = ""

    def id(self, tenant: str, service: str) -> str:
        """The id of the pattern: 16 hex digits."""
        named = (self.name,) if self.name else ()
        return digest((tenant, service, self.cause, self.kind, self.about, self.template, *named))[:_DIGITS]


def pattern_key(error: AgentError, tool: str, agent: str, name: str = "") -> PatternKey:
    """The key of an error; `tool`: that it is about, "" for none; `name`: of its cluster, "" for none.

    The words of a rule tell more of the fault than those of a model, which are others each time: where its lead has no
    template, the surest of its findings that has one decides.
    """
    stated = [finding for finding in error.deciding if finding.template]
    if stated:
        lead = error.lead if error.lead.template else min(stated, key=lambda f: (-f.confidence, f.judge, f.id))
        return PatternKey(error.cause, _named(lead.shown_title), _named(tool or agent), lead.template)
    if name:
        return PatternKey("", _named(error.lead.taxonomy), _named(tool), "", _named(name))
    return PatternKey(error.cause, _named(_category(error.lead)), _named(tool or agent), "")


def _category(finding: Finding) -> str:
    return f"{finding.taxonomy}/{finding.category}"


def _named(name: str) -> str:
    return name[:NAME]
