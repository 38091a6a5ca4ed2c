"""Calls and tokens of writing the users of a task: `python tests/bench/user_cost.py [--steps 2 6 12]`.

Tasks as a shop has them: half of the steps read, half write, three arguments each. The prompts and answers are those of
a run in which nothing fails, with turns and reasons of usual length; tokens are counted with litellm's tokenizer for
gpt-4o. A prefix cache serves what a prompt has in common with an earlier one of the task.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from deliberations import rehearse
from prompt_tokens import tokens, uncached
from user_scripts import scripted, text_of

from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.scripted import ScriptedClient
from tracejury.judges.packs.cards.oracle import Oracle
from tracejury.judges.packs.cards.user_turns import Behaviour
from tracejury.judges.packs.rut.users.answers import Material
from tracejury.judges.packs.rut.users.parts import default_turns
from tracejury.judges.packs.rut.users.prompts import UserTask
from tracejury.judges.packs.rut.users.writing import TurnsWriting, draft, rewrite
from tracejury.judges.writing.persona_messages import UserBrief, UserMessage, next_message
from tracejury.judges.writing.units import WrittenText
from tracejury.schemas.behaviours import Persona

TURN = "Hello, I bought six pumps with order {n} last week, and I need two of them sent to Ulm by Friday, please. "
REASON = "Each argument is stated in turn 1 or can be looked up with the order, as turn 2 says which pumps are meant."


def task(steps: int) -> UserTask:
    """Half of the steps read, half write."""
    calls: list[dict[str, Any]] = [
        {
            "id": f"s{n:02}",
            "tool": f"{'get' if n % 2 else 'update'}_order_{n}",
            "arguments": {"order": 1000 + n, "part": f"pump {n}", "day": "Friday"},
            "write": n % 2 == 0,
        }
        for n in range(1, steps + 1)
    ]
    told = " ".join(f"They want order {1000 + n} with pump {n} changed for Friday." for n in range(2, steps + 1, 2))
    return UserTask(f"The customer runs a workshop. {told}", Oracle.model_validate({"steps": calls}))


def answer(prompt: Prompt, user: Behaviour) -> str:
    """An answer of usual length."""
    asked = prompt.schema["properties"]
    if "turns" in asked:
        count = int(text_of(prompt).rpartition("exactly ")[2].split()[0])
        longer = 3 if user is Behaviour.INFORMATION_OVERLOAD else 1
        return json.dumps({"turns": [f"{TURN.format(n=n) * longer}({user})" for n in range(count)]})
    if "intent" in asked:
        return json.dumps({name: {"reason": REASON, "answer": "pass"} for name in asked})
    return json.dumps({kind: [TURN.format(n=n) for n in range(3)] for kind in Material.model_fields})


def cost(writing: TurnsWriting) -> tuple[list[WrittenText], str]:
    """What was written, and calls, tokens read (without those of a prefix cache) and tokens written."""
    replies: list[str] = []
    play: Callable[[Prompt], str] = scripted(answer)

    def script(prompt: Prompt) -> str:
        replies.append(play(prompt))
        return replies[-1]

    client = ScriptedClient(script)
    made = rehearse(writing, client)
    read = sum(tokens("".join(message.text for message in prompt.messages)) for prompt in client.prompts)
    wrote = sum(map(tokens, replies))
    return made, f"{len(client.prompts):7}{read:14,}{uncached(client.prompts):10,}{wrote:15,}"


def talked(messages: int) -> str:
    """What a user with a persona takes for so many messages, the last call without one."""
    brief = UserBrief(Persona.NON_EXPERT, task(6).instruction, "The agent refuses.", "The clerk of a shop.")
    said = [UserMessage(reflection=REASON, message=TURN.format(n=n), done=False) for n in range(messages)]
    prompts = [next(next_message(brief, said[:n], [TURN] * n, trial=1, max_tokens=4096)) for n in range(messages + 1)]
    read = sum(tokens("".join(message.text for message in prompt.messages)) for prompt in prompts)
    wrote = sum(tokens(one.model_dump_json()) for one in said)
    return f"{len(prompts):7}{read:14,}{uncached(prompts):10,}{wrote:15,}"


def main() -> None:
    """Print two rows for each number of steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, nargs="+", default=[2, 6, 12])
    print("steps  what      calls  input tokens  uncached  output tokens")
    for steps in parser.parse_args().steps:
        made, drafted = cost(draft(task(steps).dealt(default_turns(steps))))
        dealt, difficult = task(steps).dealt(len(made[0].texts)), [b for b in Behaviour if b is not Behaviour.IDEAL]
        _, rewritten = cost(rewrite(dealt, made[0].texts, difficult))
        print(f"{steps:5}  draft  {drafted}\n{steps:5}  rewrite{rewritten}")
    print("messages of a user with a persona")
    for messages in (1, 5, 15):
        print(f"{messages:5}         {talked(messages)}")


if __name__ == "__main__":
    main()
