"""Parts of messages that are no text: pictures and files as named placeholders, calls that the provider ran itself.

Sources: the message schemas of OpenTelemetry's GenAI conventions (`blob`, `file`, `uri`, `server_tool_call`,
`server_tool_call_response`), OpenAI's Responses API (`web_search_call` and the like), Anthropic's content blocks
(`server_tool_use`, `…_tool_result`), Gemini's parts (`inlineData`, `executableCode`), Bedrock's (`image`, `document`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracejury.processors.media import first_media
from tracejury.schemas.text.media_marks import size_and_hash

from .values import text_of

_MEDIA: Final = {
    "blob": "blob", "uri": "file", "file": "file", "input_file": "file", "document": "document", "media": "file",
    "image": "image", "image_url": "image", "input_image": "image", "audio": "audio", "input_audio": "audio",
    "video": "video", "video_url": "video", "inlineData": "file", "inline_data": "file", "fileData": "file",
    "file_data": "file",
}  # fmt: skip
"""Types (or the only key) of parts that hold or name what is no text, and what it is unless the part says more."""

_MODALITIES: Final = frozenset({"image", "audio", "video"})
_SILENT: Final = frozenset({"text", "step-start", "input_text", "output_text", "refusal", "cachePoint"})
_DETAILS: Final = ("mime_type", "mimeType", "media_type", "mediaType", "format", "filename", "name")
_PLACES: Final = ("uri", "fileUri", "file_uri", "url", "file_id", "image_url")
_LONGEST: Final = 200  # characters of a detail

_BY_CLIENT: Final = frozenset({"tool_call", "function_call", "custom_tool_call", "computer_call", "local_shell_call",
                               "shell_call", "apply_patch_call"})  # fmt: skip
"""Calls of the Responses API that the caller carries out."""

_ARGUMENTS: Final = ("arguments", "input", "action", "queries", "code", "executableCode", "executable_code")
_RESULTS: Final = ("output", "outputs", "results", "result")
_TEXTS: Final = ("text", "content", "result", "response", "output")
NOT_RECORDED: Final = "[result not recorded]"


def placeholder(part: Mapping[str, Any]) -> str:
    """What stands for a part that is not read, such as "[image: image/png]"; "" for a part that says nothing.

    One that holds a file has its size and hash: "[image: image/png, 12.3 kB, sha256 0a1b2c3d4e5f]".
    """
    kind = text_of(part.get("type"))
    key = kind if kind in _MEDIA else next((k for k in _MEDIA if isinstance(part.get(k), dict)), "")
    if not key:
        return f"[{kind[:_LONGEST]}]" if kind and kind not in _SILENT else ""
    inner = part.get(key)
    bodies = [part, *(b for b in (inner, part.get("source")) if isinstance(b, dict))]
    detail = next((d for k in _DETAILS for b in bodies if (d := text_of(b.get(k)))), "")
    place = next((p for k in _PLACES for b in bodies if (p := text_of(b.get(k)))), "")
    if place.startswith("data:"):
        place = place[len("data:") : _LONGEST].partition(";")[0]
    detail = " ".join((detail or place)[:_LONGEST].split())
    modality = text_of(part.get("modality")) or detail.partition("/")[0]
    name = modality if modality in _MODALITIES else _MEDIA[key]
    sent = first_media(part)
    held = f", {size_and_hash(sent.size, sent.digest)}" if sent and sent.kind else ""
    return f"[{name}: {detail or (sent.kind if sent else '')}{held}]" if detail or held else f"[{name}]"


def provider_call(part: Mapping[str, Any]) -> dict[str, Any] | None:
    """A tool that the provider ran as a call `{id, name, arguments}`, else None; `response` is there if it is told."""
    kind = text_of(part.get("type"))
    if kind == "server_tool_call":
        body = part.get(kind)
        arguments = part.get("arguments", _without_type(body))
        name = text_of(part.get("name")) or (text_of(body.get("type")) if isinstance(body, dict) else "")
        return {"id": part.get("id"), "name": name, "arguments": arguments}
    if kind in ("server_tool_use", "mcp_tool_use"):
        return {"id": part.get("id"), "name": part.get("name"), "arguments": part.get("input")}
    code = part.get("executableCode", part.get("executable_code"))
    if isinstance(code, dict):
        return {"id": code.get("id"), "name": "code_execution", "arguments": dict(code)}
    return _item_call(kind, part) if kind.endswith("_call") and kind not in _BY_CLIENT else None


def _item_call(kind: str, part: Mapping[str, Any]) -> dict[str, Any]:
    """A call that the Responses API lists as an item, with what it says of the outcome."""
    key = next((k for k in _ARGUMENTS if part.get(k) is not None), "")
    given = part.get(key)
    call = {
        "id": part.get("call_id") or part.get("id"),
        "name": text_of(part.get("name")) or kind.removesuffix("_call"),
        "arguments": given if key in ("arguments", "input", "action") or not key else {key: given},
    }
    if part.get("error"):
        return call | {"response": f"Error: {part['error']}"}
    if text_of(part.get("status")) in ("failed", "incomplete"):
        return call | {"response": f"Error: {part['status']}"}
    result = next((part[k] for k in _RESULTS if part.get(k)), NOT_RECORDED)
    return call | {"response": "[image]" if kind == "image_generation_call" else result}


def client_call(part: Mapping[str, Any]) -> dict[str, Any] | None:
    """A call of the Responses API other than a function's that the caller carries out, else None."""
    kind = text_of(part.get("type"))
    if kind not in _BY_CLIENT or kind in ("tool_call", "function_call"):
        return None
    given = next((part[k] for k in ("input", "action", "operation") if k in part), None)
    return {"id": part.get("call_id"), "name": part.get("name") or kind.removesuffix("_call"), "arguments": given}


def provider_response(part: Mapping[str, Any]) -> dict[str, Any] | None:
    """The response of a tool that the provider or the Responses API's caller ran, as `{id, response}`, else None."""
    kind = text_of(part.get("type"))
    if kind == "server_tool_call_response":
        body = part.get(kind, part.get("response", part.get("result")))
        return {"id": part.get("id"), "response": _told(body)}
    if kind.endswith("_tool_result"):
        content = part.get("content")
        if isinstance(content, dict) and text_of(content.get("type")).endswith("_error"):
            content = f"Error: {content.get('error_code') or content['type']}"
        return {"id": part.get("tool_use_id"), "response": content}
    if kind.endswith("_call_output"):
        return {"id": part.get("call_id"), "response": part.get("output")}
    ran = part.get("codeExecutionResult", part.get("code_execution_result"))
    return (
        {"id": ran.get("id"), "name": "code_execution", "response": ran.get("output")}
        if isinstance(ran, dict)
        else None
    )


def _without_type(body: Any) -> Any:
    """A tagged value without its tag."""
    return {k: v for k, v in body.items() if k != "type"} if isinstance(body, dict) else body


def _told(body: Any) -> Any:
    """The text of a response that has nothing else beside its tag, else all of it."""
    rest = _without_type(body)
    texts = [v for k, v in rest.items() if k in _TEXTS and isinstance(v, str)] if isinstance(rest, dict) else []
    return texts[0] if len(texts) == len(rest) == 1 else rest
