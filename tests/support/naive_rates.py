"""Rates by a plain scan of the facts; shares no code with `collector.rates`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from naive_errors import Row, table
from naive_sums import one

from tracejury.collector.store.client import Store
from tracejury.collector.store.derived.facts import SCOPE, ErrorScope
from tracejury.schemas.rates import By, Population, RateQuery, Sums, Unit
from tracejury.schemas.taxonomy import Severity

THRESHOLDS = {"strict": 0.60, "balanced": 0.38, "recall": 0.15}
COLUMN = {By.SERVICE: "service", By.VERSION: "version", By.AGENT: "agent", By.ROLE: "role", By.MODEL: "model"}

COLUMNS = (
    "Unit", "At", "Service", "Version", "Session", "Agent", "Role", "Model", "Known", "Turns", "Detectors", "Judges",
    "Both", "DetectorsWhy", "JudgesWhy", "BothWhy", "Scored.Judge", "Scored.Weight", "Missed", "Errors.Judge",
    "Errors.Llm", "Errors.Scopes", "Errors.Dimensions", "Errors.Taxonomy", "Errors.Category", "Errors.Low",
    "Errors.Medium", "Errors.High", "Errors.Tool", "Errors.Turn", "Behaviours",
)  # fmt: skip

SHOWN = (None, *COLUMN, By.SESSION, By.BEHAVIOUR)
"""Groups that show whether they have errors or not."""


@dataclass
class Item:
    """Something that is counted: a run, a trace, or a session made of traces."""

    about: dict[str, str]
    at: int
    known: bool
    turns: int
    words: dict[str, tuple[str, float]]  # of each LLM judge: what became of it, its weight
    standings: dict[Population, tuple[str, float]]
    broken: set[str]  # detectors that raised
    findings: dict[Any, list[Row]] = field(default_factory=dict)  # errors by population, or by judge and its kind
    behaviours: set[str] = field(default_factory=set)
    simulated: bool = False


@dataclass
class Answer:
    """What is expected."""

    total: Sums
    rows: dict[tuple[str, int], Sums]
    unjudged: Counter[str]


def items(store: Store, unit: Unit) -> list[Item]:
    """All facts of that kind: of runs also for turns, of traces also for sessions."""
    kind = "run" if unit in (Unit.RUN, Unit.TURN) else "trace"
    return [item_of(row) for row in table(store, "run_facts", ", ".join(COLUMNS)) if row["Unit"].endswith(kind)]


def item_of(row: Row) -> Item:
    """One fact."""
    about = {name.lower(): row[name] for name in ("Service", "Version", "Session", "Agent", "Role", "Model")}
    findings: dict[Any, list[Row]] = defaultdict(list)
    columns = [row[name] for name in COLUMNS if name.startswith("Errors.")]
    for judge, llm, scopes, dimensions, taxonomy, category, low, medium, high, tool, turn in zip(*columns, strict=True):
        said = zip(Severity, (low, medium, high), strict=True)
        error = {"Turn": turn, "Judge": judge, "Dimensions": dimensions, "Taxonomy": taxonomy, "Category": category}
        error |= {"tool": tool, "said": [(severity, sure) for severity, sure in said if sure >= 0]}
        for scope in Population:
            if scopes & SCOPE[scope]:
                findings[scope].append(error)
        if scopes & ErrorScope.ITS_JUDGE:
            findings[judge, bool(llm)].append(error)
        if scopes & ErrorScope.ITS_PACK:
            findings[f"pack {taxonomy}"].append(error)
    return Item(
        about,
        row["At"],
        row["Known"],
        row["Turns"],
        {judge: ("", weight) for judge, weight in zip(row["Scored.Judge"], row["Scored.Weight"], strict=True)},
        {p: (row[f"{p.title()}Why"], row[p.title()]) for p in Population},
        set(row["Missed"]),
        findings,
        set(row["Behaviours"]),
        row["Unit"].startswith("simulated"),
    )


HARMLESS = ("filtered", "not-applicable", "no-calls", "")


def expected(store: Store, query: RateQuery, rules: Collection[str], packs: Collection[str] = ()) -> Answer:
    """The answer to a query that names its population."""
    assert query.population is not None
    q, population = query, query.population
    taxonomy = q.taxonomy or q.category.partition("/")[0]
    if taxonomy in packs and not q.judge:
        q = replace(q, judge=f"pack {taxonomy}")
    filters = {"service": q.service, "version": q.version, "agent": q.agent, "role": q.role, "model": q.model}
    filters["session"] = q.session
    chosen = [
        item
        for item in items(store, q.unit)
        if q.since <= item.at < q.until
        and all(item.about[k] == v for k, v in filters.items() if v)
        and item.simulated == q.simulated
        and (not q.behaviour or q.behaviour in item.behaviours)
    ]
    unjudged = Counter(why for item in chosen if (why := item.standings[population][0]))
    keys = {
        key
        for key, sums in groups(q, chosen, chosen, rules).items()
        if sums.n and (sums.errors or q.by in SHOWN or (q.by is By.JUDGE and (q.judge or key not in rules)))
    }
    rows: dict[tuple[str, int], Sums] = {}
    for at in sorted({moment(q, item) for item in chosen}):
        found = groups(q, chosen, [i for i in chosen if moment(q, i) == at], rules)
        rows |= {(key, at): s for key, s in found.items() if s.n and key in keys}
    return Answer(counted(q, chosen, q.judge, rules, lambda _: True), rows, unjudged)


def moment(q: RateQuery, item: Item) -> int:
    """The point in time that it counts for."""
    return item.at // q.step * q.step if q.step else q.since


def groups(q: RateQuery, everything: list[Item], chosen: list[Item], rules: Collection[str]) -> dict[str, Sums]:
    """Sums of `chosen` by the groups that there are in `everything`."""
    if q.by is None:
        return {"": counted(q, chosen, q.judge, rules, lambda _: True)}
    if q.by in COLUMN or q.by is By.SESSION:
        name = COLUMN.get(q.by, "session")
        return {
            key: counted(q, [i for i in chosen if i.about[name] == key], q.judge, rules, lambda _: True)
            for key in {i.about[name] for i in everything}
        }
    if q.by is By.BEHAVIOUR:
        return {
            key: counted(q, [i for i in chosen if key in (i.behaviours or {""})], q.judge, rules, lambda _: True)
            for key in {one for i in everything for one in i.behaviours or {""}}
        }
    if q.by is By.JUDGE:
        names = {j for i in everything for j in i.words} | {
            s[0] for i in everything for s, own in i.findings.items() if own and isinstance(s, tuple)
        }
        if q.judge.startswith("pack "):
            names = {n for n in names if n.startswith(q.judge.removeprefix("pack ") + "-")}
        elif q.judge:
            names = {q.judge}
        return {n: counted(q, chosen, n, rules, lambda _: True) for n in names}
    keys = {key for i in everything for own in i.findings.values() for f in own for key in keys_of(q, i, f)}
    return {key: counted(q, chosen, q.judge, rules, lambda f, k=key: k in f["keys"]) for key in keys}


def least_of(q: RateQuery, item: Item) -> float:
    """The least confidence that counts."""
    profile = q.profile or ("balanced" if item.known else "strict")
    return THRESHOLDS.get(profile) or float(profile)


def severity_of(q: RateQuery, item: Item, finding: Row) -> Severity:
    """The worst severity that anything says of an error that is sure enough."""
    sure = [severity for severity, confidence in finding["said"] if confidence >= least_of(q, item)]
    return max(sure, key=lambda severity: severity.rank, default=Severity.LOW)


def keys_of(q: RateQuery, item: Item, finding: Row) -> list[str]:
    """The groups that an error counts in."""
    match q.by:
        case By.DIMENSION:
            return list(finding["Dimensions"])
        case By.TAXONOMY:
            return [finding["Taxonomy"]]
        case By.CATEGORY:
            return [f"{finding['Taxonomy']}/{finding['Category']}"]
        case By.SEVERITY:
            return [severity_of(q, item, finding)]
        case By.TOOL:
            return [finding["tool"]] if finding["tool"] else []
    return []


def weight_for(item: Item, q: RateQuery, judge: str, rules: Collection[str]) -> tuple[str, float]:
    """The same where one judge is asked about."""
    assert q.population is not None
    if not judge:
        return item.standings[q.population]
    if judge in rules:
        rule = ("failed", 0.0) if judge in item.broken else item.standings[q.population]
        return ("not-asked", 0.0) if q.population is Population.JUDGES else rule
    if q.population is Population.DETECTORS:
        return "not-asked", 0.0
    if judge.startswith("pack "):
        return weight_for_pack(item, judge.removeprefix("pack "))
    return item.words.get(judge, ("failed" if judge in item.broken else "filtered", 0.0))


def weight_for_pack(item: Item, pack: str) -> tuple[str, float]:
    """The same where all checks of a pack are asked about."""
    if any(judge.startswith(f"{pack}-") for judge in item.broken):
        return "failed", 0.0
    weights = [w for judge, (why, w) in item.words.items() if judge.startswith(f"{pack}-") and not why]
    return ("", max(weights)) if weights else ("filtered", 0.0)


def counted(q: RateQuery, chosen: list[Item], judge: str, rules: Collection[str], of_group: Any) -> Sums:
    """Sums of one group."""
    clusters: list[tuple[float, int, int, int]] = []
    if q.unit is Unit.SESSION:
        sessions: dict[str, list[Item]] = defaultdict(list)
        for item in chosen:
            if item.about["session"]:
                sessions[item.about["session"]].append(item)
        for members in sessions.values():
            stand = [weight_for(m, q, judge, rules) for m in members]
            if any(why not in HARMLESS for why, _ in stand) or not any(w for _, w in stand):
                continue
            y = sum(len(errors(m, q, judge, rules, of_group)) for m in members)
            clusters.append((max(w for _, w in stand), 1, int(y > 0), y))
    else:
        for item in chosen:
            _, weight = weight_for(item, q, judge, rules)
            found = errors(item, q, judge, rules, of_group)
            if not weight:
                continue
            if q.unit is Unit.TURN:
                if item.turns:
                    inside = [f for f in found if f["Turn"] >= 0]
                    bad = min(len({f["Turn"] for f in inside}), item.turns)
                    clusters.append((weight, item.turns, bad, len(inside)))
            else:
                clusters.append((weight, 1, int(bool(found)), len(found)))
    return sum((one(*c) for c in clusters), Sums())


def errors(item: Item, q: RateQuery, judge: str, rules: Collection[str], of_group: Any) -> list[Row]:
    """The findings that count."""
    kept: list[Row] = []
    whole = not judge or judge.startswith("pack ")
    if not whole and judge not in rules and item.words.get(judge, ("failed", 0.0))[0]:
        return []
    for f in item.findings.get((judge or q.population) if whole else (judge, judge not in rules), ()):
        if judge and whole and item.words.get(f["Judge"], ("failed", 0.0))[0]:
            continue
        category = q.category if "/" in q.category else f"{q.taxonomy or 'trail'}/{q.category}"
        if (
            max(confidence for _, confidence in f["said"]) >= least_of(q, item)
            and (not q.severity or severity_of(q, item, f).rank >= Severity(q.severity.upper()).rank)
            and (not q.dimension or q.dimension in f["Dimensions"])
            and (not q.taxonomy or q.taxonomy == f["Taxonomy"])
            and (not q.category or category == f"{f['Taxonomy']}/{f['Category']}")
            and (not q.tool or q.tool == f["tool"])
            and of_group(f | {"keys": keys_of(q, item, f)})
        ):
            kept.append(f)
    return kept
