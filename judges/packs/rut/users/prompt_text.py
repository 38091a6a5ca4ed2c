"""Fixed texts of the prompts by which users are written and verified."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracejury.judges.packs.cards.user_turns import Behaviour
from tracejury.judges.writing.prompts import DATA_RULE

_TASK: Final = f"""\
# Data
{DATA_RULE} `task` holds:
- `instruction`: what the user wants.
- `kind`: `execute`: the agent can do it at once. `clarify_then_execute`: the agent must ask the user something before \
its first call that writes. `refuse_or_scope`: the agent must refuse, or do only the part that is allowed.
- `calls`: the calls of tools that the agent should make, in this order: tool, arguments as JSON, and whether the call \
reads or writes. A line `or` is a call that serves as well as the one above it. `free`: arguments whose value does not \
matter.
- `forbidden`: calls that the agent must not make.
The user knows the instruction only: neither tools nor calls.

# Arguments
An argument of a call follows from what the user says if the turns state its value, in any words or form; or it can be \
worked out from them ("cancel it": status cancelled); or the result of a call that reads and stands above can give it; \
or it is free. Of a call with a line `or`, the arguments of one of the calls are enough."""

WRITER: Final = f"""\
You write the messages of a simulated user, with which an AI agent is tested.

{_TASK}

# Rules
- A turn is one message of the user to the agent, in everyday words and in the language of the instruction (without an \
instruction: English).
- Turns are written before the agent answers: none answers a question of the agent, or relies on what it said, found \
or did.
- Each turn serves the task, none repeats what another one says, and together they ask for all that the task needs.
- Each argument of a call follows from the turn that asks for the call, or from the turn before it, unless the \
question below says otherwise.
- No turn has the name of a tool, the key of an argument, or an identifier (of a record, an account, a product) that \
the instruction does not show. Everyday words are fine, also where such a name is made of them: "refund my order". \
Where an argument could only follow by such an identifier, leave it out.
- Complaints of a check, where there are any, say what was wrong with earlier turns. Mend that; they change no rule."""

CHECKER: Final = f"""\
You check the messages of a simulated user before an AI agent is tested with them. They were all written beforehand: \
none answers what the agent says.

{_TASK}

# Checks
- `intent`: each turn serves the task, no turn repeats what another one says, and together they ask for all that the \
task needs. The user may be difficult on purpose: what the description of the user says is no fault, as long as each \
turn serves the task besides. That the agent must ask or refuse is no fault either. A detail that is missing is a \
matter of `infer` alone.
- `infer`: each argument of each call follows from what the user has said when the agent is asked for the call: from \
the turn that asks for it, or from the turn before. What another turn says does not count, unless the question below \
says otherwise. Go through the arguments one by one. An argument that the turns contradict does not follow; one that \
they state does, also beside a further condition that cannot hold with it. Without calls it holds. Which turn asks for \
which calls, and whether arguments may be missing, is said with the turns.
- `leak`: no turn has the name of a tool, the key of an argument, or an identifier (of a record, an account, a \
product) that the instruction does not show. Everyday words are fine, also where such a name is made of them \
("refund my order"), and so are names of options that do not exist.

# Answer
One JSON object, nothing else, with `intent`, `infer` and `leak`, each with:
- `reason`: why, in a sentence or two. With `fail` it names the turn and what must change, as the writer of the turns \
is told this reason alone.
- `answer`: `pass`: it holds. `warning`: it holds on a sensible reading, though not on every one. `fail`: it does not \
hold."""

MAY_MISS: Final = "Arguments may be missing or come late, so that the agent has to ask; a wrong value is still a fault."
NONE_MISSES: Final = "No argument may be missing."

PARTS: Final = "Each turn asks for a part of the calls: {parts}."
TOGETHER: Final = (
    "Which turn asks for which calls is not known: for `infer` all turns count together. It fails where the last of "
    "them alone states what the calls need."
)

DRAFT: Final = """\
# Question
Write {count} of a clear, complete, consistent and cooperative user. {parts}Each turn states what the user has to say \
for its calls and has not said before.{kind}
Answer with one JSON object, nothing else: `turns`, a list of exactly {number} text(s), in order."""

DRAFT_KINDS: Final[Mapping[str, str]] = {
    "execute": "",
    "clarify_then_execute": " The first turn leaves one argument of a call that writes open, for which the agent must "
    "ask; the next turn, if there is one, states it.",
    "refuse_or_scope": " The user asks for all that the instruction says, also for what the agent must refuse; "
    "an argument may be missing.",
}

BEHAVIOURS: Final[Mapping[Behaviour, str]] = {
    Behaviour.IDEAL: "A clear, complete, consistent and cooperative user.",
    Behaviour.UNDERSPECIFICATION: "A user who leaves out, or keeps vague, some details that the agent needs (a time, a "
    "place, whom or what it is about), so that the agent has to ask or to find them out. What is wanted stays clear in "
    "each turn, and nothing wrong is said.",
    Behaviour.INFORMATION_OVERLOAD: "A user who buries the request in side topics and in redundant or nested detail. "
    "All details of the task are still said.",
    Behaviour.FABRICATED_PARAMETERS: "A user who takes options, parameters or abilities for granted that do not exist, "
    "and asks for them along with the task. All details of the task are still said, and the made-up options replace "
    "none of them.",
    Behaviour.GOAL_SWITCHING: "A user who interrupts the task for a side goal, or turns aside and comes back. The task "
    "is not given up, and all its details are said.",
    Behaviour.CONTRADICTORY_CONSTRAINTS: "A user who sets at least two conditions that cannot hold together. All "
    "details of the task are still said; a condition may be at odds with them, but replaces none.",
    Behaviour.IMPATIENCE_AND_HOSTILITY: "A user who presses, blames or is rude, without slurs or threats of violence. "
    "The goal and all details of the task stay as they are.",
}

MATERIAL_OF: Final[Mapping[Behaviour, str]] = {
    Behaviour.INFORMATION_OVERLOAD: "side_information",
    Behaviour.FABRICATED_PARAMETERS: "pseudo_parameters",
    Behaviour.GOAL_SWITCHING: "side_goals",
    Behaviour.CONTRADICTORY_CONSTRAINTS: "conflicting_conditions",
}
"""The material that these users weave in."""

MATERIAL: Final = """\
# Question
Make up what four difficult users would add to this task, from what its tools are for: two to four entries each, \
every entry one sentence in the user's everyday words. No entry changes what the task needs, and none has the name of \
a tool, the key of an argument or an identifier of the task.
- `side_information`: what lies near the task and has no bearing on it: how it came about, other people, other records.
- `pseudo_parameters`: options, settings or abilities that a user could expect of these tools and that the calls do \
not show.
- `side_goals`: small questions or wishes in the field of these tools that the user drops again, or that need no call \
that writes.
- `conflicting_conditions`: two conditions on how the task is done that cannot hold together.
Answer with one JSON object, nothing else, with these four keys, each a list of texts."""

REWRITE: Final = """\
# Question
`ideal turns` are what an ideal user says. Write them as this user says them:
{behaviour}{material}
Only the words change: turn by turn the same task, {count}, in the same order.{parts}{missing}
Answer with one JSON object, nothing else: `turns`, a list of exactly {number} text(s), in order."""

WEAVE: Final = "\nWeave in at least one entry of `material`; between them, the turns may use all."

AGAIN: Final = "`earlier turns` were checked; `complaints` say what is wrong with them. Write all turns anew, mended."

CHECK: Final = """\
# Question
Check the turns of this user: {behaviour}{parts}
{missing}"""
