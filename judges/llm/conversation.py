"""Prompts and replies without I/O: one answer with at most one repair, and many conversations in step."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from tracejury.schemas.errors import OverBudgetError, PromptTooLongError, RetryableError, TracejuryError

from .answer_types import AnswerError
from .case import Outcomes
from .client import Prompt, Reply
from .prompt import repair

T = TypeVar("T")


class _Read(Protocol):
    @property
    def unscored(self) -> Mapping[str, str]:
        """Those asked that got no answer, with one line why."""


A = TypeVar("A", bound=_Read)

Asking = Generator[Prompt, Reply | TracejuryError, T]
"""One conversation: yields a prompt, takes its outcome."""

CUT_OFF: Final = "length"
"""The finish reason of a reply that reached the limit of its tokens."""

LOOKUP: Final = "lookup"
"""The purpose of a prompt that shows more of the record; the answer before it stands where it is refused."""


@dataclass(frozen=True, slots=True)
class AskResult(Generic[A]):
    """The answer, or why there is none; `replies`: all that were received, `used`: that of the answer.

    `error`: that of the last call, where it was not answered and there is no answer.
    """

    answer: A | None
    failure: str = ""
    replies: tuple[Reply, ...] = ()
    used: Reply | None = None
    error: TracejuryError | None = None


def ask(prompt: Prompt, read: Callable[[str], A], lacks: Callable[[A], str] = lambda _: "") -> Asking[AskResult[A]]:
    """One answer. Where `read` refuses it, or `lacks` names what is missing in it, it may be repaired once.

    Of two answers the second counts, unless it cannot be read or leaves more judges unscored.
    """
    outcome = yield prompt
    if not isinstance(outcome, Reply):
        return AskResult(None, _one_line(outcome), error=outcome)
    first, problem = _read(outcome, read, lacks)
    if not problem:
        return AskResult(first, "", (outcome,), outcome)
    mended = yield repair(prompt, outcome.text, problem)
    if not isinstance(mended, Reply):
        if first is None:
            return AskResult(None, _one_line(mended), (outcome,), error=mended)
        return AskResult(first, "", (outcome,), outcome)
    second, still = _read(mended, read, lacks)
    replies = (outcome, mended)
    if second is None or (first is not None and len(first.unscored) < len(second.unscored)):
        return AskResult(first, "" if first else f"no usable answer: {still}", replies, outcome if first else None)
    return AskResult(second, "", replies, mended)


def _read(reply: Reply, read: Callable[[str], A], lacks: Callable[[A], str]) -> tuple[A | None, str]:
    """The answer if it can be used, and the problem to repair, "" for none."""
    try:
        answer = read(reply.text)
    except AnswerError as error:
        if reply.finish_reason == CUT_OFF:
            return None, f"it was cut off at its limit of {reply.output_tokens} tokens, so keep it shorter"
        return None, str(error)
    return answer, lacks(answer)


def _one_line(error: TracejuryError) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def together(conversations: Iterable[Asking[T]]) -> Generator[Sequence[Prompt], Outcomes, list[T]]:
    """All conversations at once: a batch holds the next prompt of each. Their results, in order.

    Raises:
        OverBudgetError, RetryableError, PromptTooLongError: one of the outcomes is that; the others are lost, or in the
            answer cache. Only a RetryableError ends a second look.
    """
    going = list(conversations)
    results: dict[int, T] = {}
    outcomes: dict[int, Reply | TracejuryError] = {}
    while True:
        batch: dict[int, Prompt] = {}
        for at, conversation in enumerate(going):
            if at in results:
                continue
            try:
                batch[at] = conversation.send(outcomes[at]) if at in outcomes else next(conversation)
            except StopIteration as end:
                results[at] = end.value
        if not batch:
            return [results[at] for at in range(len(going))]
        came = yield tuple(batch.values())
        for prompt, outcome in zip(batch.values(), came, strict=True):
            refused = isinstance(outcome, OverBudgetError | PromptTooLongError) and prompt.purpose != LOOKUP
            if isinstance(outcome, TracejuryError) and (refused or isinstance(outcome, RetryableError)):
                raise outcome
        outcomes = dict(zip(batch, came, strict=True))
