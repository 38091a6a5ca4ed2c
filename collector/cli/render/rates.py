"""Error rates for people, from the JSON of the API. Names came from spans: plain text, made safe, never markup."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from tracejury.schemas.not_judged import reason_words
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.naming import agent_name
from tracejury.schemas.wire.rates import EstimateJson, RateJson, RatesComparisonJson, RatesJson

from .tables import content, moment, plain_table

SURE: Final = 0.05
"""Below this p-value people speak of a difference."""

_WHOSE: Final = {"detectors": "detectors'", "judges": "LLM judges'", "both": "detectors' and LLM judges'"}
_NAMELESS: Final = {"agent": agent_name(""), "behaviour": "unlabelled"}
_SAMPLED: Final = Text("~ some stand for several: a sample was judged", "dim")


def _of_one(reason: str, count: int) -> str:
    return reason.replace("traces ", "trace ", 1) if count == 1 else reason


def rates_table(page: RatesJson) -> RenderableType:
    """A line a group and point in time, and what is not in them."""
    stepped = page.step_seconds is not None
    named = page.by is not None
    people = any(rate.calibrated for rate in (page.total, *page.items))
    columns = ("with errors", "95 %", *["as people see it"] * people, "errors each", "of")
    table = plain_table(*[page.by or ""] * named, *["from"] * stepped, *columns)
    for row in page.items if named or stepped else ():
        name = [content(row.key or _NAMELESS.get(page.by or "", "-"), 60)] * named
        table.add_row(*name, *[moment(row.at)] * stepped, *_cells(row, page.unit, people=people))
    total = [Text("all", "bold"), Text("")] if named and stepped else [Text("all", "bold")] if named or stepped else []
    table.add_row(*total, *_cells(page.total, page.unit, people=people))
    lines = [_whose(page)]
    if page.by == "behaviour":
        lines.append(Text(f"a {page.unit} counts in each behaviour of its users: rows add up to more than all", "dim"))
    if page.left:
        lines.append(Text(f"{counted(page.left, 'more group')}: narrow with filters, or raise --limit", "dim"))
    if page.unjudged:
        why = ", ".join(f"{count} {_of_one(reason_words(reason), count)}" for reason, count in page.unjudged.items())
        lines.append(Text(f"in no rate: {why}", "dim"))
    if page.traces.not_judged:
        words = ", ".join(f"{count} {reason_words(why)}" for why, count in page.traces.not_judged.items())
        arrived = page.traces.judged + sum(page.traces.not_judged.values())
        lines.append(Text(f"of {counted(arrived, 'trace')} {page.traces.judged} judged; not judged: {words}", "dim"))
    if page.uncalibrated:
        lines.append(Text(f"not corrected by labels: {page.uncalibrated}", "dim"))
    if page.total.sampled:
        lines.append(_SAMPLED)
    return Group(table, *lines)


def judges_by_behaviour(table: RenderableType, judges: Mapping[str, RatesJson]) -> RenderableType:
    """The table, and below it what share has an error that each judge found, by behaviour of the user."""
    hits = Counter({row.key: 0 for page in judges.values() for row in page.items})
    for page in judges.values():
        hits.update({row.key: row.hits for row in page.items})
    named = [judge for judge, count in hits.most_common() if count]
    if not named:
        return table
    below = plain_table("judge", *judges)
    for judge in named:
        found = (next((row.share for row in page.items if row.key == judge), None) for page in judges.values())
        cells = [Text(f"{100 * one.value:.1f} %") if one else Text("-", "dim") for one in found]
        below.add_row(content(judge, 60), *cells)
    return Group(table, Text(), Text("with errors, by judge"), below)


def comparison_table(page: RatesComparisonJson) -> RenderableType:
    """Both rates, and what may be said of their difference."""
    table = plain_table("", "from", "until", "with errors", "95 %", "errors each", "of")
    for name, one in (("these", page.rates), ("to", page.to)):
        table.add_row(Text(name), moment(one.since), moment(one.until), *_cells(one.total, one.unit))
    lines = [
        _said("with errors", page.difference, page.p_value, points=True),
        _said("errors each", page.mean_difference, page.mean_p_value, points=False),
        _whose(page.rates),
        *[_SAMPLED] * any(one.total.sampled for one in (page.rates, page.to)),
    ]
    return Group(table, *lines)


def _whose(page: RatesJson) -> Text:
    simulated = " of simulated sessions" * page.simulated
    return Text(f"{_WHOSE[page.population]} errors, by {page.unit}{simulated}", "dim")


def _said(what: str, difference: EstimateJson | None, p: float | None, *, points: bool) -> Text:
    if difference is None or p is None:
        return Text(f"{what}: nothing to compare, one of both has nothing judged", "dim")
    scale, unit = (100.0, " points") if points else (1.0, "")
    ends = (difference.value, difference.low, difference.high)
    value, low, high = (f"{scale * end:+.{1 if points else 2}f}" for end in ends)
    said = "no difference can be told" if p >= SURE else "worse" if difference.value > 0 else "better"
    style = "" if p >= SURE else "bold red" if difference.value > 0 else "bold green"
    return Text.assemble(f"{what}: {value}{unit} ({low} to {high}), p = {p:.2g}: ", (said, style))


def _cells(rate: RateJson, unit: str, *, people: bool = False) -> list[Text]:
    """`people`: with the share corrected by labels, where there is one."""
    share, mean = rate.share, rate.mean
    mark = "~" if rate.sampled else ""
    if share is None or mean is None:
        return [*[Text("-", "dim")] * (3 + people), Text(f"0 {unit}s", "dim")]
    return [
        Text(f"{mark}{100 * share.value:.1f} %", "bold"),
        Text(_between(share), "dim"),
        *[_corrected(rate.calibrated)] * people,
        Text(f"{mark}{mean.value:.2f}"),
        Text(f"{rate.hits} of {counted(rate.judged, unit)}", "dim"),
    ]


def _corrected(share: EstimateJson | None) -> Text:
    return Text(f"{100 * share.value:.1f} % ({_between(share)})") if share else Text("-", "dim")


def _between(share: EstimateJson) -> str:
    return f"{100 * share.low:.1f} - {100 * share.high:.1f} %"
