"""The ground truth of a captured program, from its `.meta.json`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TrueAgent:
    """An agent, the agent that called it ("" for a manager) and how often it ran."""

    name: str
    parent: str
    runs: int


@dataclass(frozen=True, slots=True)
class TrueCall:
    """One tool call, by run (`run`: position among the agent's runs).

    A delegation is a tool call whose execution the truth does not tell: `executed` None. `error`: text or None.
    """

    agent: str
    run: int
    name: str
    arguments: Any
    executed: bool | None
    error: str | None


@dataclass(frozen=True, slots=True)
class InjectedFailure:
    """A failure that was built in; `texts`: what must stand in an export that shows it (arguments, made-up values)."""

    type: str
    agent: str
    span_ids: frozenset[str]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Truth:
    """Agents in order of definition; calls by agent, then in order; `parallel`: order between sub-agents is free.

    `llm_calls`: replies that the program used; each round of tool calls and each answer takes one. `answers`: to the
    user, of one that is abridged ("(plan) ...answer") the end.
    """

    scenario: str
    agents: tuple[TrueAgent, ...]
    calls: tuple[TrueCall, ...]
    failures: tuple[InjectedFailure, ...]
    llm_calls: int
    answers: tuple[str, ...]
    parallel: bool

    @property
    def killed(self) -> bool:
        """Whether the process was killed in the middle."""
        return any(f.type == "process_killed" for f in self.failures)


def parse(meta: Mapping[str, Any]) -> Truth:
    """The truth in a capture's meta data.

    Raises:
        KeyError, TypeError: it is not laid out as it should be.
    """
    truth = meta["ground_truth"]
    delegations = truth["delegations"]
    turns = max(len(truth.get("user_turns") or ()), truth.get("concurrent_runs") or 1)
    return Truth(
        scenario=meta["scenario"],
        agents=tuple(_agent(a, turns) for a in truth["agents"]),
        calls=tuple(_calls(truth["tool_calls_by_agent"], delegations)),
        failures=tuple(_failure(f) for f in truth.get("injected_failures") or ()),
        llm_calls=_llm_calls(truth),
        answers=tuple(a.rpartition("...")[2] for a in (truth.get("final_answers") or ()) if a),
        parallel=bool(truth.get("parallel")),
    )


def _agent(agent: Mapping[str, Any], turns: int) -> TrueAgent:
    runs = agent.get("invocations")
    return TrueAgent(agent["name"], agent.get("parent") or "", turns if runs is None else runs)


def _calls(by_agent: Mapping[str, Any], delegations: Sequence[Mapping[str, Any]]) -> Iterable[TrueCall]:
    for agent, calls in by_agent.items():
        run_of = [i for i, n in enumerate(_lengths(agent, delegations)) for _ in range(n)]
        for at, call in enumerate(calls):
            run = run_of[at] if at < len(run_of) else 0
            yield TrueCall(agent, run, call["name"], call.get("args"), call.get("executed"), call.get("error"))


def _lengths(agent: str, delegations: Sequence[Mapping[str, Any]]) -> list[int]:
    return [len(d.get("tool_calls") or ()) for d in delegations if d["to"] == agent]


def _failure(failure: Mapping[str, Any]) -> InjectedFailure:
    texts = [*leaves(failure.get("args")), *map(str, failure.get("values") or ())]
    spans = frozenset(s["span_id"] for s in failure.get("spans") or ())
    return InjectedFailure(failure["type"], failure.get("agent") or "", spans, tuple(texts))


def _llm_calls(truth: Mapping[str, Any]) -> int:
    """One call for each round of tool calls, and one for each answer of a run that came to one."""
    delegations = truth["delegations"]
    rounds = sum(len(calls) for calls in truth["tool_calls_by_agent"].values())
    at_once = [d.get("turn") for d in delegations if d.get("parallel")]
    rounds -= len(at_once) - len(set(at_once))
    answered = sum(1 for d in delegations if d.get("answer") and not d.get("aborted"))
    return rounds + answered + sum(1 for a in (truth.get("final_answers") or ()) if a)


def leaves(value: Any) -> Iterable[str]:
    """The texts and numbers in a JSON value, as text."""
    if isinstance(value, Mapping):
        for child in value.values():
            yield from leaves(child)
    elif isinstance(value, list):
        for child in value:
            yield from leaves(child)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
