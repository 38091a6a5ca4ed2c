"""A diagnosis for people, from the JSON of the API. What came from spans is plain text, made safe, never markup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.naming import agent_name
from tracejury.schemas.wire.doctor import AgentSeenJson, ContentsJson, DiagnosisJson, GapJson

from .tables import SEVERITY_STYLE, content, plain_table

_NAME: Final = 60
_WHAT: Final = 240
_MOST: Final = 12


def services_table(found: Sequence[DiagnosisJson]) -> RenderableType:
    """A line a service with its worst gap; as in the log at its first trace, mere remarks are none."""
    if not found:
        return Text("no traces of the last day")
    table = plain_table("service", "traces", "convention", "agents", "worst gap", "more", "remarks")
    for one in found:
        gaps = _real(one.gaps)
        table.add_row(
            _services(one),
            str(len(one.trace_ids)),
            _conventions(one),
            content(", ".join(_names(one.agents)) or "none", _NAME),
            _headline(gaps[0]) if gaps else Text("nothing missing", "green"),
            str(len(gaps) - 1) if len(gaps) > 1 else "",
            str(len(one.gaps) - len(gaps)) if len(one.gaps) > len(gaps) else "",
        )
    return table


def diagnosis_text(found: DiagnosisJson) -> RenderableType:
    """The recognised conventions and agents, then every gap with its remedies."""
    traces = len(found.trace_ids)
    what = f"trace {found.trace_ids[0]}" if traces == 1 else f"{traces} traces"
    still = f", {found.open} of them open" if found.open and traces > 1 else ", open" if found.open else ""
    parts: list[RenderableType] = [
        Text.assemble("service ", _services(found), "  ", content(what), f"{still}, {counted(found.spans, 'span')}"),
        Text.assemble("convention  ", _conventions(found)),
        Text.assemble("written by  ", _scopes(found)),
    ]
    parts += _agents(found.agents)
    parts.append(Text.assemble("LLM calls   ", _calls(found.contents)))
    parts += _tools(found)
    if not _real(found.gaps):
        parts.append(Text("nothing missing but for remarks" if found.gaps else "nothing missing", "green"))
    for gap in found.gaps:
        parts += _gap(gap)
    return Group(*parts)


def _real(gaps: Sequence[GapJson]) -> Sequence[GapJson]:
    return [gap for gap in gaps if gap.severity != Severity.LOW]


def _services(found: DiagnosisJson) -> Text:
    return content(", ".join(name or "unknown service" for name in found.services), _NAME, "bold")


def _conventions(found: DiagnosisJson) -> Text:
    named = [f"{c.name} ({counted(c.spans, 'span')})" for c in found.conventions if c.name]
    none = [f"{counted(c.spans, 'span')} in none" for c in found.conventions if not c.name]
    return content(", ".join(named + none) or "none", 2 * _NAME)


def _scopes(found: DiagnosisJson) -> Text:
    names = [f"{s.name or 'no scope'} {s.version}".strip() + f" ({s.spans})" for s in found.scopes]
    return _cut(names, 4 * _NAME)


def _agents(agents: Sequence[AgentSeenJson]) -> Iterator[Text]:
    for at, agent in enumerate(agents[:_MOST]):
        yield Text.assemble(
            "agents      " if not at else "            ",
            content(agent_name(agent.name), _NAME, "bold"),
            *((" under ", content(agent.parent, _NAME)) if agent.parent else ()),
            f": {counted(agent.runs, 'run')}, {counted(agent.llm_calls, 'LLM call')}, "
            f"{counted(agent.tool_calls, 'tool call')}",
        )
    if not agents:
        yield Text("agents      none")
    elif len(agents) > _MOST:
        yield Text(f"            {len(agents) - _MOST} more")


def _calls(told: ContentsJson) -> Text:
    if not told.llm_calls:
        return Text("none")
    return Text(
        f"{told.llm_calls}: {told.inputs} with what was sent, {told.outputs} with what was written, "
        f"{told.tools} with tool definitions, {told.tokens} with token counts"
    )


def _tools(found: DiagnosisJson) -> Iterator[Text]:
    for at, tool in enumerate(found.tools[:_MOST]):
        yield Text.assemble(
            "tools       " if not at else "            ",
            content(tool.name or "unnamed", _NAME, "bold"),
            f": {counted(tool.calls, 'call')}, {tool.arguments} with arguments, {tool.results} with results, "
            f"{tool.failed} failed, {tool.spans} with a span",
        )
    if not found.tools:
        yield Text("tools       none")
    elif len(found.tools) > _MOST:
        yield Text(f"            {len(found.tools) - _MOST} more")


def _headline(gap: GapJson) -> Text:
    return Text.assemble(Text(gap.severity, SEVERITY_STYLE.get(gap.severity, "")), " ", content(gap.title))


def _gap(gap: GapJson) -> Iterator[RenderableType]:
    span = Text.assemble("  span ", content(gap.span_ids[0])) if gap.span_ids else Text()
    yield Text()
    yield Text.assemble(_headline(gap), ": ", content(gap.what, _WHAT), span)
    yield _indented(Text.assemble("lost: ", content(gap.lost)))
    for remedy in gap.remedies:
        read_in = Text(f"  [{remedy.source}]", "dim") if remedy.source else Text()
        yield _indented(Text.assemble("do: ", content(remedy.do), read_in))


def _indented(line: Text) -> Padding:
    return Padding(line, (0, 0, 0, 2), expand=False)


def _names(agents: Iterable[AgentSeenJson]) -> list[str]:
    return list(dict.fromkeys(agent_name(agent.name) for agent in agents))


def _cut(names: Sequence[str], limit: int) -> Text:
    more = f", {len(names) - _MOST} more" if len(names) > _MOST else ""
    return content(", ".join(names[:_MOST]) + more or "-", limit)
