"""Last words of judges and how users behaved, the slow and plain way; shares no code with `collector.rates`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from naive_errors import Row, table

from tracejury.collector.store.client import Store

Words = Mapping[tuple[str, str, str, str], Row]
"""The last word by trace, kind and id of the subject, and judge."""


def last_words(rows: Sequence[Row]) -> dict[tuple[str, str, str, str], Row]:
    """The last word of each judge on each subject, as the ledger has it."""
    last: dict[tuple[str, str, str, str], Row] = {}
    order = sorted(rows, key=lambda r: (r["Version"], r["InputHash"]))
    order.sort(key=lambda r: (r["JudgedAt"], r["Outcome"] != "superseded", r["At"]), reverse=True)
    for row in order:
        last.setdefault((row["TraceId"], row["SubjectKind"], row["SubjectId"], row["Judge"]), row)
    return last


def labels_by_trace(store: Store, words: Words) -> dict[str, dict[str, set[str]]]:
    """The labels of the exchanges of each trace that stand."""
    labels: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for v in table(store, "verdicts", "TraceId, SubjectId, Judge, Value, Items.Item, Items.Answer"):
        word = words.get((v["TraceId"], "exchange", v["SubjectId"], "rut-behaviour"), {"Outcome": ""})
        if v["Judge"] == "rut-behaviour" and v["Value"] is not None and word["Outcome"] in ("done", "cached"):
            shown = zip(v["Items.Item"], v["Items.Answer"], strict=True)
            said = {item.partition(":")[0] for item, answer in shown if answer != "absent"}
            labels[v["TraceId"]][v["SubjectId"]] = said or {"ideal"}
    return labels


def behaviours_by_run(trace: Row, labels: dict[str, set[str]]) -> dict[str, set[str]]:
    """How the users of each run's exchanges behaved; of the whole trace under ""."""
    if trace["Simulated"] and trace["Behaviour"]:
        return {run_id: {trace["Behaviour"]} for run_id in ("", *trace["Runs.Id"])}
    found = {"": set().union(*labels.values())}
    for run_id, parent in zip(trace["Runs.Id"], trace["Runs.ParentId"], strict=True):
        mine = [at for at in labels if at.startswith(f"{run_id}:")]
        columns = [trace[f"Exchanges.{name}"] for name in ("Run", "First", "Last", "Runs")]
        began = [f"{run}:{first}-{last}" for run, first, last, runs in zip(*columns, strict=True) if run_id in runs]
        inherited = began or [at for at in labels if parent and at.startswith(f"{parent}:")]
        found[run_id] = set().union(*(labels.get(at, set()) for at in mine or inherited))
    return found
