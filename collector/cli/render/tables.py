"""Tables for people, from the JSON of the API. What came from spans is plain text, made safe, never markup."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tracejury.schemas.annotations import ErrorLabel
from tracejury.schemas.findings import FindingState, verification_told
from tracejury.schemas.taxonomy import DIMENSION_NAMES, with_group
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.naming import agent_name
from tracejury.schemas.text.terminal import one_line
from tracejury.schemas.wire.errors import ErrorDetailJson, ErrorJson, FindingJson, SpanErrorJson, WorstErrorJson
from tracejury.schemas.wire.traces import JudgedJson

SEVERITY_STYLE: Final[Mapping[str, str]] = {"HIGH": "bold red", "MEDIUM": "yellow", "LOW": "cyan"}
_STATUS_STYLE: Final[Mapping[str, str]] = {"ok": "green", "failed": "red", "running": "yellow", "incomplete": "red"}
Shown = TypeVar("Shown")

QUOTE = 160
WHY = 240
TITLE = 160
SHORT = 8
"""Digits of an error's id, a hash: `tracejury error` and `/errors/ID` take the beginning of one."""
PEOPLE: Final[Mapping[str, str]] = {
    ErrorLabel.RIGHT: "people say that it is right",
    ErrorLabel.WRONG: "people say that it is no error",
    ErrorLabel.CONTESTED: "contested: people contradict each other",
}
BELOW: Final = "below the profile"
REPEATS = 5
"""Spans that repeat an error that are named."""


def content(text: str | None, limit: int = 0, style: str = "") -> Text:
    """Text of a span on one line, safe to print, cut at `limit` characters (0: whole)."""
    return Text(one_line(text or "", limit), style=style)


def status_text(status: str) -> Text:
    """How a trace or session stands, in words."""
    return Text(status.replace("-", " "), _STATUS_STYLE.get(status, ""))


def errors_table(rows: Sequence[ErrorJson]) -> RenderableType:
    """A block an error: what it is and its ids on top, then where it is, the quote and the reason."""
    if not rows:
        return Text("no errors")
    return Group(*(error_block(row) for row in rows))


def error_block(row: ErrorJson) -> RenderableType:
    """One error outside its trace: what and at which span; where, and its id; quote; reason; its other spans."""
    head = Text.assemble(*headline(row), "  trace ", content(row.trace_id, style="bold"))
    agent = agent_name(row.agent or "") if row.agent_run_id else "no agent run"
    place = content(f"{row.service or 'unknown service'} / {agent}", 90)
    if row.turn is not None:
        place.append(f" / turn {row.turn}")
    if isinstance(row, SpanErrorJson):
        place = Text.assemble((row.role.replace(" at", " here"), "bold"), ": ", place)
    place = Text.assemble(place, "  ", moment(row.first_seen), "  error ", content(row.id[:SHORT]))
    return Group(head, _indented(place), *error_details(row), Text())


def error_view(row: ErrorDetailJson) -> RenderableType:
    """One error with its findings: which of them is the lead, and which are below the profile."""
    why = " ".join(dict.fromkeys(one.withdrawn for one in row.findings if one.withdrawn))
    said = f"this error is {row.state}" + (
        f": {one_line(why, 400)}" if why and row.state == FindingState.RETRACTED else ""
    )
    state = [Text(said, "dim")] if row.state != "current" else []
    below = sum(finding.confidence < row.least_confidence for finding in row.findings)
    counts = Text(f"{counted(len(row.findings), 'finding')}, the lead first", "bold")
    if below:
        counts.append(f"; {below} below the profile, that is a confidence of {row.least_confidence:g}")
    findings = [line for number, one in enumerate(row.findings) for line in _finding(one, row, number)]
    return Group(*state, error_block(row), counts, *findings)


def _finding(row: FindingJson, error: ErrorDetailJson, number: int) -> Iterable[RenderableType]:
    marks = ["lead"] * (number == 0) + [BELOW] * (row.confidence < error.least_confidence)
    mark = Text(f"  [{', '.join(marks)}]" if marks else "", "dim" if number else "bold")
    yield Text.assemble(*headline(row), mark)
    yield from details(row)


def headline(row: ErrorJson | FindingJson) -> tuple[Text | str, ...]:
    """Severity, title, dimensions and category, span id: the parts of the first line of an error or a finding."""
    dimensions = ", ".join(DIMENSION_NAMES.get(one, one_line(one)) for one in row.dimensions)
    return (
        Text(row.severity, style=SEVERITY_STYLE.get(row.severity, "")),
        " ",
        content(row.title or with_group(row.taxonomy, row.category), TITLE, "bold"),
        " (",
        *((Text(dimensions, style="magenta"), "; ") if dimensions else ()),
        content(with_group(row.taxonomy, row.category), 60),
        ")  span ",
        content(row.span_id, style="bold"),
    )


def details(row: FindingJson) -> Iterable[RenderableType]:
    """The lines under a finding's first: the quote, and why it is an error, by whom and how surely."""
    return _said(row, row.judge)


def error_details(row: ErrorJson) -> Iterable[RenderableType]:
    """The same of an error, by all who saw it; and the further spans that it names."""
    yield from _said(row, ", ".join(row.judges))
    if said := PEOPLE.get(row.human_label or ""):
        yield _indented(Text(said, "bold" if row.human_label == ErrorLabel.CONTESTED else ""))
    if row.decisive:
        yield _indented(decisive_told(row))
    named = (("shown at", [row.shown_at or ""]), ("read at", [row.read_at or ""]), ("also at", row.repeated_at))
    parts = [f"{role} {', '.join(map(one_line, ids[:REPEATS]))}" for role, ids in named if any(ids)]
    if parts:
        more = f" and {len(row.repeated_at) - REPEATS} more" if len(row.repeated_at) > REPEATS else ""
        yield _indented(Text("; ".join(parts) + more))


def decisive_told(row: ErrorJson) -> Text:
    """Why the error decided the outcome of its trace, and what should have been done."""
    told = Text.assemble(("decided the outcome: ", "bold"), content(row.decided_why or "", WHY))
    return Text.assemble(told, ("  instead: ", "bold"), content(row.instead, WHY)) if row.instead else told


def _said(row: ErrorJson | FindingJson, judges: str) -> Iterable[RenderableType]:
    by = Text(f"  ({one_line(judges, 120)} {row.confidence:.2f})", "dim")
    yield _indented(Text.assemble("“", content(row.evidence, QUOTE, "italic"), "”"))
    yield _indented(Text.assemble(content(row.explanation, WHY), by))
    if told := verification_told(row.verification or "", row.verified_by or "", row.verification_reason or ""):
        yield _indented(content(told, WHY))


def _indented(line: Text) -> Padding:
    return Padding(line, (0, 0, 0, 2), expand=False)


def judged_table(rows: Sequence[JudgedJson]) -> RenderableType:
    """A line a trace that was judged again."""
    if not rows:
        return Text("no traces to judge")
    table = plain_table("trace", "errors", "failures")
    for row in rows:
        table.add_row(content(row.trace_id), str(row.shown), content("; ".join(row.failures), 200))
    summary = Text(f"{counted(len(rows), 'trace')} judged, {counted(sum(row.shown for row in rows), 'error')}")
    waiting = sum(row.pending_judges for row in rows)
    if waiting:
        summary.append(f"; {waiting} waiting for LLM judges (agent runs, exchanges, sessions: see tracejury ledger)")
    return Group(table, summary)


def counts(errors: Mapping[str, int]) -> Text:
    """Errors by severity, the worst first: "2 HIGH 1 LOW"."""
    parts = [Text(f"{errors[s]} {s}", style) for s, style in SEVERITY_STYLE.items() if errors.get(s)]
    return Text(" ").join(parts) if parts else Text("-", style="dim")


def worst(error: WorstErrorJson | None) -> Text:
    """The title of a row's worst error, and the beginning of its id."""
    return Text.assemble(content(error.title, TITLE), (f" {error.id[:SHORT]}", "dim")) if error else Text("-", "dim")


def moment(iso: str | None) -> Text:
    """A time to the second, as in the JSON."""
    return Text(f"{iso[:10]} {iso[11:19]}Z" if iso else "-", style="dim")


def rows_table(
    rows: Sequence[Shown], nothing: str, columns: Mapping[str, Callable[[Shown], Text | str]]
) -> RenderableType:
    """A line a row with the cells of the named columns; the text `nothing` without any row."""
    if not rows:
        return Text(nothing)
    table = plain_table(*columns)
    for row in rows:
        table.add_row(*(cell(row) for cell in columns.values()))
    return table


def plain_table(*columns: str) -> Table:
    """An empty table without lines; where its cells would have to be folded, it is a block a row."""
    table = FittingTable(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


class FittingTable(Table):
    """A table that is a line a row where that fits, else a block a row.

    A block has the first cell on a line of its own, and below it with their names those that say something, the long
    ones apart.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table, or its blocks."""
        if Measurement.get(console, options.update(max_width=_ANY), self).maximum <= options.max_width:
            yield from super().__rich_console__(console, options)
            return
        for first, *others in zip(*(column.cells for column in self.columns), strict=True):
            yield Text.assemble(_as_text(first), style="bold")
            named = [
                Text.assemble((f"{column.header} " if column.header else "", "dim"), _as_text(cell))
                for column, cell in zip(self.columns[1:], others, strict=True)
                if cell
            ]
            short = Text("  ").join(text for text in named if len(text) <= _SHORT)
            for line in (short, *(text for text in named if len(text) > _SHORT)):
                if line:
                    yield _indented(line)


def _as_text(cell: RenderableType) -> Text:
    return cell if isinstance(cell, Text) else Text(str(cell))


_SHORT: Final = 32
"""Characters of a name and its value that share a line of a block with others."""
_ANY: Final = 10_000
"""Wider than any table."""
