"""Tool calls that failed, at the call and at the LLM call that reads the failure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...schemas.findings import Draft
from ...schemas.taxonomy import Dimension, Severity
from ...schemas.trajectory import Trace
from ..base import Context
from ..evidence import quote


@dataclass(frozen=True, slots=True)
class ToolError:
    """A tool call failed."""

    name: str = "tool-error"
    version: int = 1

    def detect(self, trace: Trace, ctx: Context) -> Iterator[Draft]:  # noqa: ARG002 - needs no shared facts
        """One draft for each failed call that has a span of its own."""
        for run in trace.runs:
            for turn in run.turns:
                for call in turn.tool_calls:
                    if call.error is not None and call.span is not None:
                        yield Draft(
                            judge=self.name,
                            span_id=call.span.span_id,
                            category="Tool-related",
                            dimensions=(Dimension.TOOL_CALLING,),
                            severity=Severity.MEDIUM,
                            confidence=0.5,
                            evidence=quote(call.error) or call.span.raw.name,
                            explanation=f"The call of {call.name} failed.",
                            tool_span_id=call.span.span_id,
                        )
