"""Conditions on what spans of a trace state of themselves: attributes, metadata, tags, users.

Keys and values that a user typed are bound parameters. Attributes have no index: the spans of all traces in question
are read, seconds a gigabyte.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tracejury.collector.store.client import Store
from tracejury.collector.store.scope import TENANT

from .findings import JOINED

NAMED_USERS: Final = """arrayConcat(arrayMap(key -> {attributes}[key], {{keys:Array(String)}}),
    arrayMap(key -> ResourceAttributes[key], {{keys:Array(String)}}),
    arrayMap(key -> JSONExtract({attributes}['metadata'], key, 'String'), ['user_id', 'userId']))"""
"""The users that a row with `attributes` names. OpenInference has one attribute with JSON for metadata."""

# Langfuse and OpenInference send lists, LangSmith names with commas between them.
_TAGGED: Final = """arrayExists((n, v) -> multiIf(
    n = 'tags' OR endsWith(n, '.tags'), has(JSONExtract(v, 'Array(String)'), {tag:String})
        OR has(arrayMap(one -> trimBoth(one), splitByChar(',', v)), {tag:String}),
    n = 'metadata' OR endsWith(n, '.metadata'), has(JSONExtract(v, 'tags', 'Array(String)'), {tag:String}),
    0), mapKeys(SpanAttributes), mapValues(SpanAttributes))"""


def values_at(key: str) -> str:
    """The array of what a span and its resource state at a key (an expression), also in metadata; "" is nothing.

    As `judges/packs/task_match.py` reads metadata.
    """
    return f"""arrayConcat([SpanAttributes[{key}], ResourceAttributes[{key}]], arrayMap((n, v) -> multiIf(
        endsWith(n, concat('metadata.', {key})) OR endsWith(n, concat('association.properties.', {key})), v,
        n = 'metadata' OR endsWith(n, '.metadata'), JSONExtract(v, {key}, 'String'), ''),
        mapKeys(SpanAttributes), mapValues(SpanAttributes)))"""


def stated(query: Any, store: Store, near: str = "1") -> tuple[list[str], dict[str, Any]]:
    """Conditions on a trace id, one for each of `attributes`, `task`, `tag` and `user` that it asks for, with values.

    Each holds for all traces of a joined run if a span of one of them states it. `near`: a condition on the id that
    spares reading other traces.
    """
    values: dict[str, Any] = {}
    found = []
    for condition, own in _of_spans(query, store):
        values |= own
        states = f"SELECT TraceId FROM spans WHERE {TENANT} AND {near} AND {condition}"
        # With FINAL: of two copies of a span one counts. The inner look finds the few that may be meant.
        states = f"SELECT TraceId FROM spans FINAL WHERE {TENANT} AND {condition} AND TraceId IN ({states})"
        wholes = (
            f"SELECT if(Whole = '', TraceId, Whole) FROM ({states}) AS stating LEFT JOIN ({JOINED}) AS joined "
            "ON stating.TraceId = joined.Part"
        )
        found.append(f"(TraceId IN ({wholes}) OR TraceId IN (SELECT Part FROM ({JOINED}) WHERE Whole IN ({wholes})))")
    return found, values


def _of_spans(query: Any, store: Store) -> Iterator[tuple[str, dict[str, Any]]]:
    for at, (key, value) in enumerate(query.attributes):
        names = f"key_{at}", f"value_{at}"
        yield f"has({values_at(f'{{{names[0]}:String}}')}, {{{names[1]}:String}})", {names[0]: key, names[1]: value}
    if task := getattr(query, "task", ""):
        named = f"arrayExists(key -> has({values_at('key')}, {{task:String}}), {{task_keys:Array(String)}})"
        yield named, {"task": task, "task_keys": list(query.task_keys)}
    if query.tag:
        yield _TAGGED, {"tag": query.tag}
    if query.user:
        users = NAMED_USERS.format(attributes="SpanAttributes")
        yield f"has({users}, {{user:String}})", {"keys": list(store.config.user_attributes), "user": query.user}
