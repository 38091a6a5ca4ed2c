"""Alert rules in the store: what each knows, saw and told. All of it blocks."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, replace
from typing import Any, Final

from tracejury.schemas.alert_records import (
    LONGEST_HELD,
    AlertDelivery,
    AlertFigure,
    AlertLook,
    AlertOutcome,
    AlertRecord,
    AlertsAnswer,
    MessageName,
    RuleStatus,
    ToldAlert,
)
from tracejury.schemas.alerts import Alert, AlertState
from tracejury.schemas.columns import Row
from tracejury.schemas.taxonomy import Severity

from .inserting import store_rows
from .scope import TENANT, TenantRows

SHOWN: Final = 100
"""Keys of a rule that are shown."""
STALE: Final = 2 * 3600 * 10**9
"""Nanos after its last look from which a rule is taken to look no longer: slow ones rest for an hour or so."""
_STALE: Final = "it looks no longer: the configuration has no such rule any more, or no process evaluates it"

_COLUMNS: Final = (
    "tenant", "Rule", "Key", "Number", "Channel", "State", "Since", "CalmSince", "Changes", "ToldAt", "Message",
)  # fmt: skip
_LOOK_COLUMNS: Final = ("tenant", "Rule", "Kind", "Channels", "Figures", "Problem", "LookedAt", "NextAt")

_ROWS: Final = (
    "SELECT Rule, Key, State, Since, CalmSince, Changes, Number, Message, ToldAt FROM alerts FINAL "
    f"WHERE {TENANT} AND Channel = ''"
)
_OF_RULE: Final = f"{_ROWS} AND Rule = {{rule:String}}"
_NEWEST: Final = "ORDER BY Rule, Key, Number DESC LIMIT 1 BY Rule, Key"
_TOLD: Final = f"{_OF_RULE} AND ToldAt >= {{since:UInt64}} AND Message != '' ORDER BY ToldAt, Key, Number"
_SHOWN: Final = (
    f"SELECT * FROM ({_ROWS} {_NEWEST}) WHERE Number > 0 OR State = 'firing' "
    f"ORDER BY State, ToldAt DESC, Key LIMIT {SHOWN} BY Rule"
)
_LOOKS: Final = (
    "SELECT Rule, Kind, Channels, Figures, Problem, LookedAt, NextAt FROM alert_rules FINAL "
    f"WHERE {TENANT} ORDER BY Rule"
)
_HISTORY: Final = f"""
SELECT Rule, Key, Number, Message FROM alerts FINAL WHERE {TENANT} AND Channel = '' AND Message != ''
ORDER BY ToldAt DESC, Rule, Key LIMIT {{limit:UInt64}}
"""
_DELIVERED: Final = f"""
SELECT Rule, Key, Number, Channel, State, ToldAt, Message FROM alerts FINAL WHERE {TENANT} AND Channel != ''
AND (Rule, Key, Number) IN {{told:Array(Tuple(String, String, UInt32))}} ORDER BY Channel
"""


class StoredAlerts(TenantRows):
    """The alert rules of one tenant. Methods raise RetryableError for what may pass, StoreError for the rest."""

    def looked(self, rule: str) -> bool:
        """Whether a rule has ever looked."""
        sql = f"SELECT 1 FROM alert_rules FINAL WHERE {TENANT} AND Rule = {{rule:String}} LIMIT 1"
        return bool(self._scope.select(sql, rule=rule))

    def records(self, rule: str) -> list[AlertRecord]:
        """What a rule knows, by key."""
        return [_record(row) for row in self._scope.select(f"{_OF_RULE} {_NEWEST}", rule=rule)]

    def told(self, rule: str, since: int) -> list[AlertRecord]:
        """The records with messages of a rule from `since` (unix nanos) on, earlier ones of a key, too, in order."""
        return [_record(row) for row in self._scope.select(_TOLD, rule=rule, since=since)]

    def save(self, records: Sequence[AlertRecord]) -> None:
        """Keep what a rule knows by now; the same again changes nothing."""
        rows = [
            (
                self._scope.tenant, r.rule, r.key, r.number, "", r.state.value, r.since, r.calm_since,
                list(r.changes), r.told_at, _json(r.told) if r.told else "",
            )
            for r in records
        ]  # fmt: skip
        store_rows(self._store, "alerts", "alerts", _COLUMNS, rows)

    def settle(self, deliveries: Sequence[AlertDelivery]) -> None:
        """Keep what became of messages."""
        rows: list[Row] = [
            (self._scope.tenant, d.rule, d.key, d.number, d.channel, d.outcome.value, 0, 0, [], d.at, d.why)
            for d in deliveries
        ]
        store_rows(self._store, "what became of alerts", "alerts", _COLUMNS, rows)

    def settled(self, names: Sequence[MessageName]) -> Mapping[MessageName, Mapping[str, AlertDelivery]]:
        """What became of messages, by channel."""
        found: dict[MessageName, dict[str, AlertDelivery]] = {name: {} for name in names}
        for rule, key, number, channel, outcome, at, why in self._scope.select(_DELIVERED, told=names) if names else ():
            said = AlertDelivery(rule, key, number, channel, AlertOutcome(outcome), at, why)
            found[rule, key, number][channel] = said
        return found

    def channels(self, rule: str) -> set[str]:
        """The channels that a message of the rule was ever settled on."""
        sql = f"SELECT DISTINCT Channel FROM alerts FINAL WHERE {TENANT} AND Rule = {{rule:String}} AND Channel != ''"
        return {row[0] for row in self._scope.select(sql, rule=rule)}

    def save_look(self, look: AlertLook) -> None:
        """Keep what a rule saw."""
        figures = json.dumps([astuple(figure) for figure in look.figures[:SHOWN]])
        row = (
            self._scope.tenant, look.rule, look.kind, list(look.channels), figures, look.problem, look.at, look.next_at,
        )  # fmt: skip
        store_rows(self._store, "what alert rules saw", "alert_rules", _LOOK_COLUMNS, [row])

    def answer(self, limit: int, now: int) -> AlertsAnswer:
        """All rules at `now` (unix nanos), and up to `limit` messages of the past."""
        known: defaultdict[str, list[AlertRecord]] = defaultdict(list)
        for row in self._scope.select(_SHOWN):
            known[row[0]].append(_record(row))
        looks = [
            AlertLook(rule, kind, channels, [AlertFigure(*one) for one in json.loads(figures)], *rest)
            for rule, kind, channels, figures, *rest in self._scope.select(_LOOKS)
        ]
        looks = [replace(look, problem=_STALE) if now - look.at > STALE else look for look in looks]
        return AlertsAnswer([RuleStatus(look, known[look.rule]) for look in looks], self._history(limit, now))

    def _history(self, limit: int, now: int) -> list[ToldAlert]:
        rows = self._scope.select(_HISTORY, limit=limit)
        settled = self.settled([(rule, key, number) for rule, key, number, _ in rows])
        found, newer = [], set[tuple[str, str]]()
        for rule, key, number, message in rows:
            alert, outcomes = _alert(message), settled[rule, key, number]
            waits = not outcomes and (rule, alert.key) not in newer and now - alert.at < LONGEST_HELD
            newer.add((rule, alert.key))
            found.append(ToldAlert(alert, list(outcomes.values()), waits))
        return found


def _record(row: Sequence[Any]) -> AlertRecord:
    rule, key, state, since, calm_since, changes, number, message, told_at = row
    told = _alert(message) if message else None
    return AlertRecord(rule, key, AlertState(state), since, calm_since, tuple(changes), number, told, told_at)


def _json(alert: Alert) -> str:
    return json.dumps(asdict(alert))


def _alert(text: str) -> Alert:
    said = json.loads(text)
    said |= {"state": AlertState(said["state"]), "severity": Severity(said["severity"])}
    return Alert(**said | {"facts": tuple((name, value) for name, value in said["facts"])})
