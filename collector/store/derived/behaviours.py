"""How the users of a trace's runs behaved: labels of `rut-behaviour`, or what a simulated user was to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tracejury.judges.packs.rut.measures import LABELLER
from tracejury.schemas.behaviours import Behaviour
from tracejury.schemas.verdicts import Outcome

from .base import BaseTrace

_LAST = frozenset({Outcome.DONE, Outcome.CACHED})


def behaviours_of(trace: BaseTrace) -> Mapping[str, tuple[str, ...]]:
    """The behaviours by run, and under "" those of the trace as a whole; of what nobody labelled there are none.

    A run has those of its exchanges, a sub-agent those of the exchange in which it began. The user of an exchange
    without a label is ideal.
    """
    if trace.simulated and trace.behaviour:
        return dict.fromkeys(("", *(run.id for run in trace.runs)), (trace.behaviour,))
    if not trace.behaviours:
        return {}
    stands = {w.subject_id for w in trace.exchange_words if w.judge == LABELLER and w.outcome in _LAST}
    labels = {at: tuple(said) or (Behaviour.IDEAL.value,) for at, said in trace.behaviours.items() if at in stands}
    found: dict[str, tuple[str, ...]] = {"": _together(labels.values())}
    for run in trace.runs:  # managers before their sub-agents
        own = [said for at, said in labels.items() if at.rpartition(":")[0] == run.id]
        began = trace.began.get(run.id)
        caused = labels.get(began, ()) if began else found.get(run.parent_id, ()) if run.parent_id else ()
        found[run.id] = _together(own) if own else caused
    return found


def _together(labels: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(sorted({label for said in labels for label in said}))
