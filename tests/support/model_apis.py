"""A scripted model on loopback in four providers' notations: it calls the tool `search` once, then answers.

Chat completions and responses (OpenAI), messages (Anthropic), generateContent (Gemini). Nothing streams.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

QUERY: Final = "Alder Bridge"
ANSWER: Final = "The Alder Bridge is 312 metres long."


def reply(path: str, body: dict[str, Any]) -> dict[str, Any]:
    """What the API at `path` answers.

    Raises:
        KeyError: no such API.
    """
    name = path.partition("?")[0].rpartition("/")[2].rpartition(":")[2]
    return {
        "completions": _completions,
        "responses": _responses,
        "messages": _messages,
        "generateContent": _generate_content,
    }[name](body)


def _completions(body: dict[str, Any]) -> dict[str, Any]:
    tools = [tool["function"] for tool in body.get("tools") or ()]
    wanted = _call(tools, done=any(message["role"] == "assistant" for message in body["messages"]))
    message: dict[str, Any] = {"role": "assistant", "content": None if wanted else ANSWER}
    if wanted:
        called = {"name": wanted[0], "arguments": json.dumps(wanted[1])}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": called}]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if wanted else "stop"}
    usage = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [choice],
        "usage": usage,
    }


def _responses(body: dict[str, Any]) -> dict[str, Any]:
    done = any(item.get("type") == "function_call_output" for item in body["input"] if isinstance(item, dict))
    wanted = _call(body.get("tools") or [], done=done)
    item: dict[str, Any]
    if wanted:
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": wanted[0]}
        item |= {"arguments": json.dumps(wanted[1]), "status": "completed"}
    else:
        text = {"type": "output_text", "text": ANSWER, "annotations": []}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 20, "output_tokens": 10, "total_tokens": 30} | details
    top = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": body["model"]}
    top["instructions"] = body.get("instructions")
    choices = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": body.get("tools") or []}
    return top | choices | {"output": [item], "usage": usage}


def _messages(body: dict[str, Any]) -> dict[str, Any]:
    parts = [
        part for message in body["messages"] if isinstance(message["content"], list) for part in message["content"]
    ]
    done = any(part["type"] == "tool_result" for part in parts)
    wanted = _call(body.get("tools") or [], done=done)
    called = {"type": "tool_use", "id": "toolu_1", "name": wanted[0], "input": wanted[1]} if wanted else None
    top = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "stop_sequence": None}
    usage = {"input_tokens": 20, "output_tokens": 10}
    content = [called or {"type": "text", "text": ANSWER}]
    return top | {"content": content, "stop_reason": "tool_use" if wanted else "end_turn", "usage": usage}


def _generate_content(body: dict[str, Any]) -> dict[str, Any]:
    tools = [one for tool in body.get("tools") or () for one in tool.get("functionDeclarations") or ()]
    done = any("functionResponse" in part for content in body["contents"] for part in content["parts"])
    wanted = _call(tools, done=done)
    part = {"functionCall": {"name": wanted[0], "args": wanted[1]}} if wanted else {"text": ANSWER}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 20, "candidatesTokenCount": 10, "totalTokenCount": 30}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}


def _call(tools: list[dict[str, Any]], *, done: bool) -> tuple[str, dict[str, str]] | None:
    """A call of `search`, then of a framework's tool that submits the answer; None: the answer itself."""
    name, arguments = ("final_answer", {"answer": ANSWER}) if done else ("search", {"query": QUERY})
    return (name, arguments) if any(tool["name"] == name for tool in tools) else None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            status, answer = 200, reply(self.path, body)
        except KeyError as error:
            status, answer = 404, {"error": {"message": f"no such API: {error}"}}
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing: failures show in what the clients say."""


@contextmanager
def scripted_model() -> Iterator[str]:
    """The server's address, without a path; stopped at the end."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, name="scripted-model")
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
