"""Why a call was turned down before, or instead of, doing its work.

Structure decides where it is recorded: the tools that the model was given, and arguments that are no JSON. The wording
of the error is the second source, read by the phrases of many frameworks, with a placeholder for the tool's name.
What a tool that changes something answers to say that it did not is a refusal, too; a failing service is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from tracejury.schemas.normalized import Json
from tracejury.schemas.trajectory import AgentRun, ToolCall, Turn

from .failure_text import FailureKind, StepFailure
from .names import Role, plain, reads, role_of
from .tool_schema import parameters_of, reason_of_refusal, violation

_READ: Final = 600
_NAME: Final = "\x00"
_UNKNOWN: Final = re.compile(
    r"\b(?:unknown|no such|unavailable|invalid|non-?existent|undefined|unrecogni[sz]ed) (?:tool|function|action)"
    r"(?: (?:name|call|available))?:? {0,2}['\"`]?\x00"
    r"|\b(?:tool|function|action)\b[^.\n\x00]{0,20}\x00['\"`]?,? {0,2}(?:\w{1,5} )?(?:not|no|\w{1,5}n't)\b[^.\n]{0,30}"
    r"\b(?:found|exist|available|registered|recogni[sz]ed|defined|known|valid|part of)"
    r"|^(?:error:? )?['\"`]?\x00['\"`]? is not (?:a )?(?:valid|known|available)"
    r"|\b(?:tool|function|action) (?:was )?not found\b[^\n\x00]{0,40}\x00|\b(?:nosuchtool|toolnotfound)"
    r"|\b(?:requested|called|chosen|selected|given|specified|such a) (?:tool|function|action)s? "
    r"(?:does not exist|doesn't exist|is not available|was not found|could not be found|is unknown)\b"
)
_UNKNOWN_HELD: Final = (_NAME, "nosuchtool", "toolnotfound", "exist", "available", "not found", "be found", "unknown")
"""Of these `_UNKNOWN` needs one."""
_MALFORMED: Final = re.compile(
    r"\binvalid json\b|\bnot (?:a )?valid json\b|\bjson(?:decodeerror| ?pars\w{1,5}| decod\w{1,5})\b|\bmalformed\b"
    r"|\b(?:expecting|unterminated|extra data|expected|unexpected)\b[^\n]{0,60}(?:line \d+ column \d+|\bjson\b)"
    r"|\b(?:unable|fail\w{0,3}|could not|cannot) (?:to )?(?:decode|parse) (?:\w+ ){0,3}(?:arguments|input)\b"
    r"|\bmust be (?:in |valid )?json\b|\beof while parsing\b|\bnot a valid key, value dictionary\b"
)
_OF_ARGUMENTS: Final = re.compile(r"\b(?:arguments?|args|input|parameters|function call|tool call)\b")
_POLICY: Final = re.compile(
    r"\bnot (?:been )?(?:approved|permitted|authori[sz]ed|eligible|allowed)\b|\bpolic(?:y|ies)\b|\bguardrail"
    r"|\b(?:was|were|been|is) (?:denied|rejected|declined|blocked|disallowed|cancel?led by)\b"
    r"|\b(?:denied|rejected|blocked|declined|forbidden) by\b|\b(?:user|human|operator) (?:denied|rejected|declined)\b"
    r"|\b(?:requires?|needs?|awaiting|without) (?:\w+ )?(?:approval|confirmation|consent|permission)\b"
    r"|\bpermission (?:was )?denied (?:for|to use|by)\b"
)
_GUESSED: Final = re.compile(r"\b(?:may|might|could) be (?:due to|because of|caused by)\b[^.\n]*")
"""What an error gives as a possible reason: no rule is said to have turned the call down."""
_DECLINED: Final = re.compile(
    r"\W{0,4}(?:(?:the|this|your) )?(?:tool|function|call|action|command|execution|request|permission|user|operator)\b"
    r"[^.\n:]{0,60}\b(?:(?:was|were|has been|is) (?:not (?:been )?(?:approved|permitted|allowed)|denied|rejected"
    r"|declined|blocked)|requires? (?:\w+ )?(?:approval|confirmation|permission)"
    r"|(?:denied|rejected|declined) (?:the|this|your))\b"
)
_LIMITED: Final = re.compile(
    r"\W{0,4}(?:error: )?(?:(?:the|this|your) )?(?:maximum |max )?(?:number of )?(?:tool|function|model)?[ _-]?"
    r"(?:calls?|usage|steps?|turns?|iterations?)[ _-](?:limit|budget)?[ _-]?(?:was |has been |is |already )?"
    r"(?:reached|exceeded|exhausted|used up|hit)\b"
    r"|\W{0,4}(?:(?:the|this|your) )?(?:tool|function|call)\b[^.\n:]{0,60}\bnot (?:been )?executed\b"
    r"|\W{0,4}not executed\b"
)
"""How a harness answers in place of a tool since the run is at a limit."""
_OUTAGES: Final = frozenset({FailureKind.AUTH, FailureKind.RATE, FailureKind.SERVICE, FailureKind.TIMEOUT})
_UNEXPLAINED: Final = frozenset({FailureKind.SCHEMA, FailureKind.CODE, FailureKind.PARSE, FailureKind.OTHER})
"""Failures that wrong arguments may be the reason of."""

_VAGUE: Final = frozenset(
    {FailureKind.OTHER, FailureKind.CODE, FailureKind.SCHEMA, FailureKind.PARSE, FailureKind.UNKNOWN_TOOL}
)
_RAISED: Final = re.compile(r"[A-Za-z_.]{1,60}(?:Error|Exception)\b(?=[:(])")


def declined(name: str, result: str) -> StepFailure | None:
    """The refusal with which a framework answers in place of the tool `name`; only how a result opens counts."""
    opening = result[:_DECLINES].lstrip().lower()
    if _DECLINED.match(opening):
        return StepFailure(FailureKind.POLICY, result)
    if _LIMITED.match(opening):
        return StepFailure(FailureKind.CALL_LIMIT, result)
    unknown = _UNKNOWN.match(opening.replace(name.lower(), _NAME)) if name else None
    return StepFailure(FailureKind.UNKNOWN_TOOL, result) if unknown else None


_DECLINES: Final = 200


def refusal_of(call: ToolCall, failure: StepFailure | None, turn: Turn, run: AgentRun) -> FailureKind | None:
    """The kind of refusal of a call of a turn, None where it was carried out or failed on the way.

    Of a call without an outcome only structure tells; of one with which the run ends, nothing: it may be how the
    framework hands over the answer.
    """
    if failure is None and call.executed is None and turn.index == run.turns[-1].index:
        return None
    has_outcome = (call.result is not None or call.executed is True) and not _made_whole(call, turn)
    if call.closing or call.sub_run_id or role_of(call.name) is not Role.ACCESS or (failure is None and has_outcome):
        return None
    low = failure.text[:_READ].lower() if failure else ""
    case = _Case(call, failure, run, _given(turn, run), low)
    return next((kind for kind, holds in _KINDS if holds(case)), None)


@dataclass(frozen=True, slots=True)
class _Case:
    """A call that did not succeed. `low`: the opening of its error, lower case."""

    call: ToolCall
    failure: StepFailure | None
    run: AgentRun
    given: Collection[str]
    low: str

    @property
    def vague(self) -> bool:
        """Whether the error, if there is one, tells of nothing that only a tool that ran can meet."""
        return self.failure is None or self.failure.kind in _VAGUE or self.call.executed is False

    def is_unknown(self) -> bool:
        """A tool that the model was not given; where nobody knows what it was given, the error has to say so."""
        if not self.given:
            return self.says_unknown()
        key = plain(self.call.name)
        known = any(key.endswith(one) or one.endswith(key) for one in self.given)
        return bool(key) and not known and self.call.requested is not False and (self.vague or self.says_unknown())

    def says_unknown(self) -> bool:
        """Whether the error says that there is no such tool."""
        name = self.call.name.lower()
        low = self.low.replace(name, _NAME) if name else ""
        # Nearly all errors hold none of these, and the pattern would walk through all of each.
        return any(held in low for held in _UNKNOWN_HELD) and _UNKNOWN.search(low) is not None

    def is_malformed(self) -> bool:
        """Arguments that were meant as JSON and are none, or of which the error says so."""
        if is_text(self.call.arguments):
            return self.vague
        told = _MALFORMED.search(self.low) is not None and _OF_ARGUMENTS.search(self.low) is not None
        return told and not _is_whole(self.call.arguments)

    def breaks_schema(self) -> bool:
        """Arguments that the tool does not take.

        Some frameworks list every property as required, so that a missing one explains a failure only where the error
        says so or the call never ran.
        """
        never_ran = self.call.executed is False
        found = violation(self.call.arguments, parameters_of(self.call, self.run.tools))
        if self.failure is None or self.failure.kind not in _UNEXPLAINED:
            return self.failure is None and never_ran and bool(found)
        if self.failure.kind is FailureKind.SCHEMA or found.startswith("takes"):
            return True
        return never_ran and bool(reason_of_refusal(self.call.arguments, parameters_of(self.call, self.run.tools)))

    def is_limited(self) -> bool:
        """The harness lets the run call nothing more."""
        return self.call.executed is not True and _LIMITED.match(self.low) is not None

    def is_policy(self) -> bool:
        """A rule or a person did not allow it, or a tool that changes something answers that it did not."""
        failure = self.failure
        if failure is None or failure.page or failure.kind in _OUTAGES:
            return False
        if _POLICY.search(_GUESSED.sub("", self.low)):
            return True
        answered = self.call.error is None and not _RAISED.match(failure.text.lstrip())
        return answered and failure.kind is FailureKind.OTHER and reads(self.call.name) is False


_KINDS: Final[tuple[tuple[FailureKind, Callable[[_Case], bool]], ...]] = (
    (FailureKind.UNKNOWN_TOOL, _Case.is_unknown),
    (FailureKind.MALFORMED, _Case.is_malformed),
    (FailureKind.CALL_LIMIT, _Case.is_limited),
    (FailureKind.SCHEMA, _Case.breaks_schema),
    (FailureKind.POLICY, _Case.is_policy),
)
"""In this order: the first that holds explains the others."""


def _given(turn: Turn, run: AgentRun) -> Collection[str]:
    """Keys of the names of all tools that the model was given in a turn, none where they are not known for sure."""
    llm, own = turn.llm, run.span
    listed = [t.name for t in llm.tools] if llm is not None else []
    if llm is not None and (llm.raw.dropped_attributes or llm.raw.cut):
        return ()
    if not listed and own is not None:
        listed = [*(t.name for t in own.tools), *own.tool_names]
    return {plain(name) for name in (*listed, *(t.name for t in run.tools), *run.managed_agents)} if listed else ()


def is_text(arguments: Json) -> bool:
    """Whether arguments were meant as a JSON object or list and are none."""
    return isinstance(arguments, str) and arguments.lstrip()[:1] in ("{", "[")


def _made_whole(call: ToolCall, turn: Turn) -> bool:
    """Whether a tool was handed an object although the model wrote text that is none."""
    given = call.span.tool_arguments if call.span is not None else None
    recorded_whole = turn.llm is not None and not turn.llm.raw.cut
    return recorded_whole and is_text(call.arguments) and isinstance(given, Mapping)


def _is_whole(arguments: Json) -> bool:
    """Whether arguments are an object with something in it: frameworks put an empty one for what they cannot parse."""
    return isinstance(arguments, Mapping) and bool(arguments)
