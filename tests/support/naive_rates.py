"""Rates reckoned the slow and plain way, from the tables of judging alone; shares no code with `collector.rates`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from naive_behaviours import behaviours_by_run, labels_by_trace, last_words
from naive_errors import Row, errors_by_scope, table
from naive_sums import one

from tracejury.collector.store.client import Store
from tracejury.schemas.judged_rows import FINDING_SELECT, finding_from_row
from tracejury.schemas.rates import By, Population, RateQuery, Sums, Unit
from tracejury.schemas.taxonomy import Severity

THRESHOLDS = {"strict": 0.60, "balanced": 0.38, "recall": 0.15}
COLUMN = {By.SERVICE: "service", By.VERSION: "version", By.AGENT: "agent", By.ROLE: "role", By.MODEL: "model"}

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
    detectors: tuple[str, float]
    judges: tuple[str, float]
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
    """Everything of that kind that is stored: runs also for turns, traces also for sessions."""
    traces = table(
        store,
        "traces",
        "TraceId, toUnixTimestamp64Nano(ReceivedAt) AS At, ServiceName, Version, SessionId, Conventions, JoinedTo, "
        "Runs.Id, Runs.Name, Runs.Role, Runs.ParentId, Runs.Turns, Runs.Model, Calls.SpanId, Calls.Tool, Calls.Asked, "
        "Simulated, Behaviour, Exchanges.Run, Exchanges.First, Exchanges.Last, Exchanges.Runs",
    )
    rows = store.rows(f"SELECT {FINDING_SELECT}, JudgedBy FROM findings FINAL WHERE State = 'current'")
    findings = [(finding_from_row(row), row[-1] != "detectors") for row in rows]
    words = last_words(table(
        store, "judgements",
        "TraceId, SubjectKind, SubjectId, Judge, Outcome, Probability, Failures.Judge, TraceState, JudgedAt, "
        "toUnixTimestamp64Nano(ReceivedAt) AS At, Version, InputHash",
    ))  # fmt: skip
    scored = {
        (v["TraceId"], v["SubjectId"], v["Judge"])
        for v in table(store, "verdicts", "TraceId, SubjectKind, SubjectId, Judge, Score, Value")
        if v.get({"agent-run": "Score", "exchange": "Value", "trace": "Value"}.get(v["SubjectKind"], "")) is not None
    }
    labels = labels_by_trace(store, words)
    made: list[Item] = []
    for trace in traces:
        if trace["JoinedTo"]:
            continue
        mine = {trace["TraceId"]} | {t["TraceId"] for t in traces if t["JoinedTo"] == trace["TraceId"]}
        found = errors_by_scope([f for f in findings if f[0].trace_id in mine], trace)
        of_runs = behaviours_by_run(trace, labels.get(trace["TraceId"], {}))
        for item, run_id in zip(of_trace(trace, found, words, scored, unit), [*trace["Runs.Id"], ""], strict=False):
            item.behaviours = of_runs[run_id if unit in (Unit.RUN, Unit.TURN) else ""]
            item.simulated = trace["Simulated"]
            made.append(item)
    return made


def of_trace(
    trace: Row,
    findings: dict[Any, list[Row]],
    words: dict[tuple[str, str, str, str], Row],
    scored: Collection[tuple[str, str, str]],
    unit: Unit,
) -> list[Item]:
    """Its runs, or it."""
    trace_id = trace["TraceId"]
    word = words.get((trace_id, "trace", trace_id, "detectors"))
    opened = word is None or word["TraceState"] == "open"
    detectors = said_by_detectors(word)
    broken = set(word["Failures.Judge"]) if word else set()
    columns = [trace[f"Runs.{c}"] for c in ("Id", "Name", "Role", "ParentId", "Turns", "Model")]
    runs = [
        dict(zip(("id", "agent", "role", "parent", "turns", "model"), r, strict=True))
        for r in zip(*columns, strict=True)
    ]
    common = {"service": trace["ServiceName"], "version": trace["Version"], "session": trace["SessionId"]}
    of_runs = []
    checked: dict[str, dict[str, tuple[str, float]]] = {}
    for run in runs:
        said = {
            judge: verdict_of(w, (trace_id, subject, judge) in scored)
            for (owner, kind, subject, judge), w in words.items()
            if owner == trace_id and kind == "agent-run" and subject == run["id"] and w["Outcome"] != "superseded"
        }
        of_runs.append((run, said))
        checked[run["id"]] = together_by_judge(
            {
                w["Judge"]: verdict_of(w, (trace_id, exchange, w["Judge"]) in scored)
                for (owner, kind, subject, _), w in words.items()
                if (owner, kind, subject) == (trace_id, "exchange", exchange) and w["Outcome"] != "superseded"
            }
            for exchange in {s for owner, kind, s, _ in words if (owner, kind) == (trace_id, "exchange")}
            if exchange.rpartition(":")[0] == run["id"]
        )
    known = any(trace["Conventions"])
    if unit in (Unit.RUN, Unit.TURN):
        return [
            Item(
                common | {k: run[k] for k in ("agent", "role", "model")},
                trace["At"],
                known,
                run["turns"],
                {} if opened else said | checked[run["id"]],
                detectors,
                ("open", 0.0) if opened else all_together(said.values()),
                broken | ({j for j, (w, _) in (said | checked[run["id"]]).items() if w not in HARMLESS}),
                {scope: [f for f in own if f["AgentRunId"] == run["id"]] for scope, own in findings.items()},
            )
            for run, said in of_runs
        ]
    first = next((run for run, _ in of_runs if not run["parent"]), of_runs[0][0] if of_runs else None)
    names = {k: first[k] if first else "" for k in ("agent", "role", "model")}
    # What no judge of the panel looks at, such as a sub-agent, has no word in the ledger.
    tasks = {s for owner, kind, s, _ in words if (owner, kind) == (trace_id, "agent-run")}
    together = [all_together(said.values()) for run, said in of_runs if run["id"] in tasks]
    looked_at = [t for t in together if t[0] not in ("filtered", "not-applicable")]
    if opened:
        judges = ("open", 0.0)
    elif looked_at and all(not why for why, _ in looked_at):
        judges = ("", max(w for _, w in looked_at))
    else:
        judges = (worst(why for why, _ in together if why), 0.0)
    whole = {
        w["Judge"]: verdict_of(w, (trace_id, trace_id, w["Judge"]) in scored)
        for (owner, kind, _, judge), w in words.items()
        if (owner, kind) == (trace_id, "trace") and judge != "detectors" and w["Outcome"] != "superseded"
    }
    merged = together_by_judge([*(said for _, said in of_runs), *checked.values(), whole])
    missing = {j for j, (why, _) in merged.items() if why}
    return [
        Item(
            common | names,
            trace["At"],
            known,
            0,
            {} if opened else merged,
            detectors,
            judges,
            broken | missing,
            findings,
        )
    ]


def together_by_judge(parts: Iterable[dict[str, tuple[str, float]]]) -> dict[str, tuple[str, float]]:
    """Of each judge of several runs or exchanges: why it is missing at one, else its highest weight."""
    merged: dict[str, tuple[str, float]] = {}
    for said in parts:
        for judge, (why, weight) in said.items():
            if why in ("filtered", "not-applicable"):
                continue
            before = merged.get(judge, ("", 0.0))
            merged[judge] = (why or before[0], max(weight, before[1]))
    return {judge: (why, 0.0 if why else weight) for judge, (why, weight) in merged.items()}


def said_by_detectors(word: Row | None) -> tuple[str, float]:
    """Why their word counts in no rate, and its weight."""
    if word is None:
        return "pending", 0.0
    if word["TraceState"] == "open":
        return "open", 0.0
    return (word["Outcome"], 0.0) if word["Outcome"] != "done" else ("", 1 / word["Probability"])


HARMLESS = ("filtered", "not-applicable", "")
ORDER = ("failed", "over-budget", "pending", "by-hand", "sampled-out", "not-asked", "filtered", "not-applicable")


def worst(reasons: Iterable[str]) -> str:
    """The weightiest reason."""
    found = set(reasons)
    return next((r for r in ORDER if r in found), "not-asked")


def verdict_of(word: Row, scored: bool) -> tuple[str, float]:  # noqa: FBT001  two plain facts
    """Why a judge's word gives no score ("" where it does), and its weight."""
    if word["Outcome"] not in ("done", "cached"):
        return word["Outcome"], 0.0
    if not scored:
        return "failed", 0.0
    return ("", 1 / word["Probability"]) if word["Probability"] > 0 else ("by-hand", 0.0)


def all_together(said: Iterable[tuple[str, float]]) -> tuple[str, float]:
    """Of all judges of a run."""
    said = list(said)
    weights = [weight for why, weight in said if not why]
    if weights and all(why in HARMLESS for why, _ in said):
        return "", max(weights)
    return worst(why for why, _ in said if why), 0.0


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
    unjudged = Counter(why for item in chosen if (why := standing(item, population)[0]))
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


def standing(item: Item, population: Population) -> tuple[str, float]:
    """Why it stands in no rate, and its weight."""
    if population is Population.DETECTORS:
        return item.detectors
    if population is Population.BOTH and item.detectors[0]:
        return item.detectors
    return item.judges


def weight_for(item: Item, q: RateQuery, judge: str, rules: Collection[str]) -> tuple[str, float]:
    """The same where one judge is asked about."""
    assert q.population is not None
    if not judge:
        return standing(item, q.population)
    if judge in rules:
        rule = ("failed", 0.0) if judge in item.broken else standing(item, q.population)
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
