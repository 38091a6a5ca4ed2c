"""Measures for people, from the JSON of the API. Names came from spans: plain text, made safe, never markup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from tracejury.schemas.text.counting import counted
from tracejury.schemas.wire.measures import (
    MeasureGroupJson,
    MeasuresJson,
    PackMeasuresJson,
    TaskMeanJson,
    TaskTrialsJson,
)
from tracejury.schemas.wire.rates import EstimateJson

from .tables import content, moment, plain_table

WORST: Final = 5
"""Sessions, or runs, that are named."""
UNLABELLED: Final = "unlabelled"
JUDGED_BY_HAND: Final = "only {}s judged by hand, which count in no figure, in this time"
NONE_MEASURED: Final = {
    "session": "no session was measured in this time: a session is measured when it closes, "
    "after judges.session_quiet_seconds without a trace; tracejury judge --session ID closes one at once",
    "run": "no run was graded in this time: LLM judges grade runs of closed traces where judges.model names a model; "
    "tracejury ledger says why a run has no grade",
}
"""By the unit of a pack."""


def measures_table(page: MeasuresJson) -> RenderableType:
    """The measures of each pack, its groups, what they are compared to, and its worst sessions."""
    if not page.items:
        return Text("no packs: name some under judges.packs in the configuration", "dim")
    return Group(*(part for pack in page.items for part in _pack(pack, page)))


def _pack(pack: PackMeasuresJson, page: MeasuresJson) -> Iterator[RenderableType]:
    pooled = ", pooled over sessions" if page.pooled and pack.unit == "session" else ""
    yield Text.assemble(
        content(pack.title, 80, "bold"), f"  {counted(pack.total.sessions, pack.unit)}{pooled}", *_counts(pack)
    )
    if not pack.total.sessions:
        by_hand = JUDGED_BY_HAND.format(pack.unit) if pack.worst else NONE_MEASURED[pack.unit]
        simulated = "" if page.simulated or pack.unit != "session" else "; --simulated: those of tracejury talk"
        yield Text("" if pack.total.invalid else f"{by_hand}{simulated}", "dim")
    elif pack.total.trials:
        yield from _trials(pack, pack.total.trials, page)
    else:
        yield _figures(pack)
        if page.by or page.step_seconds:
            yield _groups(pack, page)
    if "behaviour" in _names(page) and pack.items:
        yield Text(f"a {pack.unit} counts in each behaviour of its users: rows add up to more than all", "dim")
    if pack.left:
        yield Text(f"{counted(pack.left, 'more group')}: narrow with filters, or raise --limit", "dim")
    if pack.unread:
        yield Text(f"{counted(pack.unread, f'earlier {pack.unit}')} not read: choose a shorter time", "dim")
    for one in pack.worst[:WORST]:
        values = ", ".join(f"{letter} {_value(value, pack.best)}" for letter, value in one.values.items())
        named = one.session_id if one.trace_id is None else f"trace {one.trace_id}, run {one.run_id}"
        place = Text.assemble(content(one.service or "unknown service", 60), " / ", content(named, 120))
        yield Text.assemble("worst: ", place, f"  {values}")
    yield Text()


def _figures(pack: PackMeasuresJson) -> RenderableType:
    compared = pack.compared
    grades = [f"graded {grade}" for grade in pack.total.measures[0].shares]
    sampled = any(one.sampled is not None and one.sampled < 1 for one in pack.total.measures)
    table = plain_table(
        *("measure", "mean", "95 %"), *["difference"] * bool(compared), *grades,
        *("of", "n/a", "unscored", "ungrounded"), *["asked of"] * sampled,
    )  # fmt: skip
    titles = {measure.letter: measure.title for measure in pack.measures}
    several = sum(measure.averaged for measure in pack.measures) > 1
    left_out = {measure.letter for measure in pack.measures if several and not measure.averaged}
    for one in pack.total.measures:
        told = [_difference(compared.differences.get(one.letter), pack.best)] if compared else []
        told += [Text(_share(one.shares[grade]) if one.shares else "") for grade in pack.total.measures[0].shares]
        counts = (one.n, one.not_applicable, one.unscored, one.ungrounded)
        told += [Text(f"{count:,}", "" if count else "dim") for count in counts]
        told += [Text("-" if one.sampled is None else f"{one.sampled:.0%}", "dim")] * sampled
        beside = ("  not in AVG" if one.letter in left_out else "", "dim")
        title = titles[one.letter] if titles[one.letter] != one.letter else ""
        name = Text.assemble((one.letter, "bold"), "  " if title else "", content(title, 60), beside)
        table.add_row(name, *_estimate(one.estimate, pack.best), *told)
    if several:
        blank = [Text()] * (len(table.columns) - 2)
        table.add_row(Text("AVG  mean of these"), Text(_value(pack.total.average), "bold"), *blank)
    return table


def _groups(pack: PackMeasuresJson, page: MeasuresJson) -> RenderableType:
    letters = [measure.letter for measure in pack.measures]
    average = ["AVG"] * (sum(measure.averaged for measure in pack.measures) > 1)
    counts = ("exchanges", "states") if pack.unit == "session" else ()
    table = plain_table(*_grouped_by(page), *letters, *average, f"{pack.unit}s", *counts)
    for row in pack.items:
        values = [_value(one.estimate.value if one.estimate else None, pack.best) for one in row.measures]
        values += [_value(row.average) for _ in average]
        spreads = [Text(f"{one.mean:.1f}" if one else "-") for one in (row.exchanges, row.states)][: len(counts)]
        table.add_row(*_group(row, page), *map(Text, values), Text(f"{row.sessions:,}"), *spreads)
    return table


def _trials(pack: PackMeasuresJson, total: TaskTrialsJson, page: MeasuresJson) -> Iterator[RenderableType]:
    """Figures of trials: of all, by group, and what they are compared to."""
    if left := pack.total.sessions - total.trials:
        yield Text(f"{counted(left, 'session')} of no named task: no trial", "dim")
    k = page.k
    pairs = [
        (f"{one.letter} {_kind(one, k)}, {_kind(other, k)}", n)
        for n, (one, other) in enumerate(zip(total.figures[::2], total.figures[1::2], strict=True))
        if one.tasks or other.tasks
    ]
    own = list(dict.fromkeys(name for row in (pack.total, *pack.items) for name in row.own))
    table = plain_table(*_grouped_by(page), *(name for name, _ in pairs), "tasks", "trials", "invalid", *own)
    for row in (pack.total, *pack.items):
        if (trials := row.trials) is not None:
            group = _group(row, page) if row is not pack.total else [Text("all")] * bool(_grouped_by(page))
            group += [Text()] * (len(_grouped_by(page)) - len(group))
            parts = [f" of {one.tasks:,}" * (0 < one.tasks < trials.tasks) for one in trials.figures]
            values = [f"{_value(one.value)}{part}" for one, part in zip(trials.figures, parts, strict=True)]
            shown = [Text(f"{values[2 * n]}, {values[2 * n + 1]}") for _, n in pairs]
            counts = [Text(f"{count:,}") for count in (trials.tasks, trials.trials, row.invalid)]
            table.add_row(*group, *shown, *counts, *(_own(row.own.get(name)) for name in own))
    yield table
    if unscored := max((one.unscored for one in pack.total.measures), default=0):
        yield Text(f"{counted(unscored, 'session')} unscored: tracejury ledger says why", "yellow")
    if k > 1 and not any(one.tasks for one in total.figures if one.kind != "mean"):
        yield Text(f"no task has {k} scored trials" + ("" if unscored else ": choose a smaller --k"), "dim")
    if pack.compared:
        differences = plain_table("difference by task", "mean (95 %)", "tasks")
        for one in pack.compared.trials:
            differences.add_row(
                Text(f"{one.letter} {_kind(one, k)}"), _difference(one.estimate), Text(f"{one.tasks:,}")
            )
        yield differences


def _kind(one: TaskMeanJson, k: int) -> str:
    return one.kind.replace("k", str(k))


def _own(value: float | Mapping[str, float] | None) -> Text:
    """A figure of the pack's own. Its names are the pack's."""
    if not isinstance(value, Mapping):
        return Text(_value(value))
    return content(", ".join(f"{name} {100 * share:.0f} %" for name, share in value.items()) or "-", 200)


def _grouped_by(page: MeasuresJson) -> list[str]:
    return [*_names(page), *["from"] * (page.step_seconds is not None)]


def _names(page: MeasuresJson) -> list[str]:
    return page.by.split(",") if page.by else []


def _group(row: MeasureGroupJson, page: MeasuresJson) -> list[Text]:
    pairs = zip(_names(page), row.keys, strict=True)
    names = [content(key or (UNLABELLED if name == "behaviour" else "-"), 60) for name, key in pairs]
    return [*names, *[moment(row.at)] * (page.step_seconds is not None)]


def _counts(pack: PackMeasuresJson) -> Iterator[Text]:
    if pack.waiting:
        yield Text(f", {pack.waiting:,} more {'wait' if pack.waiting > 1 else 'waits'} to be measured", "yellow")
    total = pack.total
    if total.invalid:
        yield Text(f", {counted(total.invalid, 'invalid session')} left out", "yellow")
    for name, spread in (("exchanges a session", total.exchanges), ("states an exchange", total.states)):
        if spread:
            yield Text(f", {spread.mean:.1f} {name} (sd {spread.deviation:.1f})", "dim")


def _estimate(found: EstimateJson | None, best: int) -> tuple[Text, Text]:
    if found is None:
        return Text("-", "dim"), Text("-", "dim")
    value, low, high = (_value(one, best) for one in (found.value, found.low, found.high))
    return Text(value, "bold"), Text(f"{low} - {high}", "dim")


def _difference(found: EstimateJson | None, best: int = 1) -> Text:
    if found is None:
        return Text("-", "dim")
    style = "red" if found.high < 0 else "green" if found.low > 0 else "dim"
    value, low, high = (f"{one:+.{_digits(best)}f}" for one in (found.value, found.low, found.high))
    return Text(f"{value} ({low} to {high})", style)


def _share(found: EstimateJson | None) -> str:
    return "-" if found is None else f"{found.value:.0%} ({found.low:.0%} - {found.high:.0%})"


def _value(value: float | None, best: int = 1) -> str:
    return "-" if value is None else f"{value:.{_digits(best)}f}"


def _digits(best: int) -> int:
    """Decimals of a share, and of a grade."""
    return 3 if best == 1 else 2
