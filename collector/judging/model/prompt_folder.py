"""A folder in the place of a model: prompts are written to it, and replies read from it.

Whoever can read files can so answer a command: KEY.md holds a prompt, KEY.json the reply to it, as it is. Replies
lead to further prompts, so it takes several rounds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from tracejury.judges.llm.client import Prompt, Reply
from tracejury.judges.llm.json_object import MAX_CHARACTERS
from tracejury.schemas.errors import RetryableError, TracejuryError

from .request_key import earlier_key, request_key


class PromptsLeftError(TracejuryError):
    """Prompts wait for replies in a folder."""


@dataclass(frozen=True, slots=True)
class PromptFolder:
    """A client whose model is whoever writes the replies; a prompt that is asked repeatedly has one reply.

    `count` gives the tokens of a text. `left`: keys of prompts that have no reply yet.
    """

    folder: Path
    model: str
    count: Callable[[str], int]
    left: set[str] = field(default_factory=set)

    async def complete(self, prompt: Prompt) -> Reply:
        """The reply in the folder.

        Raises:
            RetryableError: there is none; the prompt is written. What depends on the reply is not asked.
        """
        once = replace(prompt, repeat=0)
        key = request_key(once, self.model)
        text = self._reply(key) or self._reply(earlier_key(once, self.model))
        if not text:
            self._write(key, prompt)
            self.left.add(key)
            raise RetryableError(f"a {prompt.purpose} prompt waits for its reply: {key}.md")
        return Reply(
            text=text,
            model=self.model,
            input_tokens=sum(self.count(message.text) for message in prompt.messages),
            output_tokens=self.count(text),
        )

    def _reply(self, key: str) -> str:
        path = self.folder / f"{key}.json"
        if not path.is_file():
            return ""
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            text = file.read(MAX_CHARACTERS + 1)
        return text if text.strip() else ""  # begun, but not written yet

    def _write(self, key: str, prompt: Prompt) -> None:
        path = self.folder / f"{key}.md"
        begun = path.with_suffix(".part")
        begun.write_text("\n".join(_lines(key, prompt)), encoding="utf-8", errors="replace")
        os.replace(begun, path)  # noqa: PTH105  whoever looks meanwhile sees all of it or nothing


def _lines(key: str, prompt: Prompt) -> Iterator[str]:
    """The prompt for a reader. Nothing that a trace says begins in the first column."""
    yield f"# {prompt.purpose} {key}"
    yield f"Service {prompt.service!r}, trace {prompt.trace_id!r}, run {prompt.run_id!r}."
    yield f"Write the answer to {key}.json, of at most {prompt.max_tokens} tokens, and nothing beside it."
    for number, message in enumerate(prompt.messages, start=1):
        yield f"\n# message {number} of {len(prompt.messages)}: {message.role}\n"
        yield message.text
    if prompt.schema:
        yield "\n# JSON schema of the answer\n"
        yield json.dumps(prompt.schema)
    yield ""
