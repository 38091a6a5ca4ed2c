"""A very small agent framework: plan, then call tools until the model answers. The model is a script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from opentelemetry.trace import Tracer

from .almanac import DemoTool
from .spans import ChatMessage, ToolCallRequest, agent_span, llm_span, record_output, record_reply, tool_span

MODEL = "scripted-model"
PLAN = "Write a short plan for this task, step by step, naming the tools that you will use.\n\nTask: "


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """The next answer of the scripted model: words, and the tools that it asks for (name, arguments)."""

    text: str = ""
    calls: Sequence[tuple[str, Mapping[str, object]]] = ()


@dataclass(slots=True)
class ScriptedModel:
    """A model that gives the replies of a script, one a call, and numbers its tool calls."""

    replies: Iterator[ScriptedReply]
    prefix: str
    _calls: int = field(default=0)

    def reply(self) -> ChatMessage:
        """The next reply of the script."""
        said = next(self.replies)
        calls = tuple(ToolCallRequest(name, arguments, self._next_id()) for name, arguments in said.calls)
        return ChatMessage("assistant", said.text, calls)

    def _next_id(self) -> str:
        self._calls += 1
        return f"{self.prefix}_{self._calls}"


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent: who it is, what it may use, and the model that drives it."""

    name: str
    system_prompt: str
    tools: Sequence[DemoTool]
    model: ScriptedModel
    tracer: Tracer

    def run(self, task: str) -> str:
        """Plan, act and answer; every step is a span."""
        with agent_span(self.tracer, self.name, task, self.system_prompt) as span:
            answer = self._loop(task)
            record_output(span, answer)
            return answer

    def _loop(self, task: str) -> str:
        system = ChatMessage("system", self.system_prompt)
        plan = self._ask([system, ChatMessage("user", PLAN + task)], ())
        messages = [system, ChatMessage("user", task), ChatMessage("assistant", plan.content)]
        while True:
            reply = self._ask(messages, self.tools)
            if not reply.calls:
                return reply.content
            messages.append(reply)
            messages += [ChatMessage("tool", self._call(call), call_id=call.id) for call in reply.calls]

    def _ask(self, messages: Sequence[ChatMessage], tools: Sequence[DemoTool]) -> ChatMessage:
        with llm_span(self.tracer, MODEL, messages, [tool.schema for tool in tools]) as span:
            reply = self.model.reply()
            record_reply(span, reply)
            return reply

    def _call(self, call: ToolCallRequest) -> str:
        tool = next(tool for tool in self.tools if tool.name == call.name)
        try:
            with tool_span(self.tracer, call, tool.schema) as span:
                result = _run(tool.run, call)
                record_output(span, result)
                return result
        except Exception as error:  # noqa: BLE001  an agent reads what its tools raise, whatever it is
            return f"Error: {error}"


def _run(function: Callable[..., str], call: ToolCallRequest) -> str:
    return function(**call.arguments)
