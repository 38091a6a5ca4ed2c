"""The ledger of LLM judges and architectures for people, from the JSON of the API: plain text, made safe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.naming import agent_name
from tracejury.schemas.text.scores import score_words
from tracejury.schemas.text.terminal import safe
from tracejury.schemas.wire.traces import ArchitectureJson, JudgesJson, LedgerJson, LedgerPage, SpendJson, SpentJson

from .tables import content, moment, plain_table, rows_table

OUTCOME_STYLE: Final[Mapping[str, str]] = {
    "done": "green", "cached": "green", "failed": "red", "over-budget": "red", "pending": "yellow",
}  # fmt: skip
WHY: Final = 120
SERVICES: Final = 5
"""Of which the spend is told one by one."""


def ledger_table(page: LedgerPage) -> RenderableType:
    """How many of each outcome, what judging costs, and why a trace has no score; then a line a word of a judge."""
    parts: list[RenderableType] = []
    if page.summary:
        parts.append(Text("outcomes: " + ", ".join(f"{count} {outcome}" for outcome, count in page.summary.items())))
    parts += [*_spend(page.spend), _judges(page.judges)]
    if page.why:
        parts.append(Text.assemble("no score: ", content(page.why)))
    parts.append(Text())
    if page.items:
        table = plain_table("trace", "at", "service / agent", "subject", "judge", "outcome", "score", "why")
        for row in page.items:
            table.add_row(*_cells(row))
        parts.append(table)
    else:
        parts.append(Text("no judge has said anything"))
    return Group(*parts)


def architectures_table(rows: Sequence[ArchitectureJson]) -> RenderableType:
    """A line a description, without its text."""
    return rows_table(
        rows,
        "no architectures",
        {
            "service": lambda r: content(r.service or "unknown service"),
            "version": lambda r: content(r.version),
            "source": lambda r: Text(r.source),
            "at": lambda r: moment(r.at),
            "characters": lambda r: f"{len(r.text):,}",
        },
    )


def architecture_text(row: ArchitectureJson) -> RenderableType:
    """One description as it stands, under a line that says which it is."""
    head = Text.assemble(
        content(row.service or "unknown service", style="bold"),
        f"  {row.source}  version {row.version}  ",
        moment(row.at),
    )
    return Group(head, Text(), Text(safe(row.text)))


def _cells(row: LedgerJson) -> Iterator[Text]:
    subject = row.subject
    yield content(row.trace_id or "-")
    yield moment(row.at)
    agent = agent_name(subject.agent or "") if subject.kind in ("agent-run", "exchange") else "-"
    yield content(f"{row.service or 'unknown service'} / {agent}", 60)
    yield content(subject.kind if subject.kind == "trace" else f"{subject.kind} {subject.session_id or subject.id}", 60)
    yield content(row.judge, 40)
    yield Text(row.outcome, OUTCOME_STYLE.get(row.outcome, ""))
    dropped = " (quote dropped)" if row.quote_dropped else ""
    said = score_words(row.score, row.value)
    yield Text("n/a" if row.not_applicable else f"{said}{dropped}" if said else "-")
    yield content(row.reason, WHY)


def _spend(spend: SpendJson) -> Iterator[Text]:
    yield Text(f"this hour: {_spent(spend.hour)}; today (UTC): {_spent(spend.day)}")
    if spend.purposes:
        kinds = (f"{one.purpose} {one.calls:,} ({counted(one.tokens, 'token')})" for one in spend.purposes)
        yield content("today's calls: " + ", ".join(kinds))
    services = spend.services if len(spend.services) > 1 else ()
    for one in services[:SERVICES]:
        name = content(one.service or "unknown service", 60)
        yield Text.assemble("  ", name, f" ${one.usd:.4f}, {counted(one.tokens, 'token')}")
    if len(services) > SERVICES:
        rest = sum(one.usd for one in services[SERVICES:])
        yield Text(f"  {counted(len(services) - SERVICES, 'more service')} ${rest:.4f}")
    if spend.caps:
        yield content("caps: " + ", ".join(_cap(name, cap, spend.used) for name, cap in spend.caps.items()))


def _cap(name: str, cap: float, used: Mapping[str, float]) -> str:
    return f"{name} {cap:,.12g} ({used.get(name, 0):,.12g} used)"


def _spent(spent: SpentJson) -> str:
    text = f"${spent.usd:.4f}, {counted(spent.tokens, 'token')}, {counted(spent.calls, 'call')}"
    return f"{text} ({counted(spent.unpriced, 'token')} of unknown price)" if spent.unpriced else text


def _judges(judges: JudgesJson) -> Text:
    if judges.trouble:
        return Text.assemble("LLM judges do not work: ", content(judges.trouble))
    if not judges.on:
        return Text("LLM judges: off")
    lacking, failing, stopped = judges.missing_keys, judges.failing, judges.stopped
    return Text.assemble(
        "LLM judges: ",
        content(judges.model, 80),
        f", {judges.pending:,} waiting, {judges.in_flight:,} in flight (agent runs, exchanges, sessions, traces)",
        *("\n", content(lacking)) if lacking else (),
        *("\nthe latest call brought nothing: ", content(failing)) if failing else (),
        *("\na cap stops calls, runs are left over-budget: ", content(stopped)) if stopped else (),
    )
