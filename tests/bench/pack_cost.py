"""Calls and tokens of judging a session by packs: `python tests/bench/pack_cost.py [--packs pipa rut] [--exchanges 3]`.

Conversations as a shop's agent has them: two calls of a tool in each exchange, each with a thought, 15 policies. The
prompts are those that a model is sent; tokens are counted with litellm's tokenizer for gpt-4o. A prefix cache serves
what a prompt has in common with an earlier one of the session.
With TED also naming clusters of errors; what its users take prints user_cost.py.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from check_replies import numbers, reply
from deliberations import rehearse
from naming_models import named_by
from planted_errors import planted
from prompt_tokens import tokens, uncached
from scope_sets import set_file, set_of
from sessions import Layout, session, shop_exchange

from tracejury.judges.checks.case import AskedCheck, CheckCase
from tracejury.judges.checks.check_types import Check
from tracejury.judges.checks.deliberation import judge_checks
from tracejury.judges.checks.how_asked import HowAsked
from tracejury.judges.checks.item_source import ItemCase, RecordedSubject
from tracejury.judges.clusters.error_group import by_text
from tracejury.judges.clusters.naming import name_types
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.scripted import ScriptedClient
from tracejury.judges.packs import sources
from tracejury.judges.packs.cards.task_cards import SessionTerms
from tracejury.judges.packs.loader import load_packs
from tracejury.judges.packs.pack_types import Pack
from tracejury.processors.session_states import states
from tracejury.processors.transcript import session_record, upto
from tracejury.schemas.checks import CheckItem
from tracejury.schemas.verdicts import Subject, SubjectKind

POLICIES = 15
NEVER = "never did"
_NEVER_ACHIEVED = re.compile(rf"^(\d+)\n Note \d+: the agent {NEVER} so\.$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Cards:
    """The notes of the task: so many are `never` achieved, the others in the first exchange."""

    notes: int = 3
    never: int = 1

    def open_at(self, exchange: int) -> tuple[CheckItem, ...]:
        """Those that are asked about at the end of an exchange, from 0."""
        first = self.notes - self.never if exchange else 0
        return tuple(
            CheckItem(f"Note {n}: the agent {NEVER if n >= self.notes - self.never else 'did'} so.")
            for n in range(first, self.notes)
        )


def prompts_of(packs: Sequence[Pack], exchanges: int, cards: Cards = Cards()) -> list[Prompt]:
    """All that is sent for a session: each exchange when it ends, then the session."""
    every = {check.name: (pack, check) for pack in packs for check in pack.checks if check.asks}
    traces = session([shop_exchange(number) for number in range(1, exchanges + 1)], Layout.RESENT)
    whole, by_id = session_record("chat", traces), {trace.trace_id: trace for trace in traces}
    formulas = {name: formula for pack in packs for name, formula in pack.formulas.items()}
    client = ScriptedClient(lambda prompt: _answered({name: check for name, (_, check) in every.items()}, prompt))
    for number in [*range(exchanges), None]:
        record = whole if number is None else upto(whole, number)
        subject = Subject(SubjectKind.SESSION, '["shop", "chat"]', "")
        last = len(record.exchanges) - 1
        ended = by_id[record.exchanges[last].trace_id]
        seen = RecordedSubject(record, by_id, partial(states, record, last, ended), unseen=str, number=number)
        ways: defaultdict[tuple[int, bool, bool], list[AskedCheck]] = defaultdict(list)
        for pack, check in every.values():
            if check.at_exchanges if number is not None else check.items.early or not check.at_exchanges:
                items: Iterable[CheckItem] = check.items.find(ItemCase(check, seen, no_terms)).asked
                if number is not None and check.items.needs == "notes":
                    items = cards.open_at(number)
                elif check.items is sources.POLICIES:
                    items = (CheckItem(f"Rule {n}: never state a price of part {n} unseen.") for n in range(POLICIES))
                way = (check.runs, pack.settings.early_stop, check.settles == "best")
                ways[way].append(AskedCheck(check, tuple(items), pack.name))
        for (_, early_stop, so_far), checks in ways.items():
            case = CheckCase(subject, record, by_id, tuple(checks), "shop", None if so_far else number)
            how = HowAsked(formulas, dict.fromkeys(formulas, "v"), early_stop=early_stop)
            rehearse(judge_checks(case, how), client)
    return client.prompts


def no_terms() -> SessionTerms:
    """No card of a task."""
    return SessionTerms(None, None, "")


def _answered(checks: Mapping[str, Check], prompt: Prompt) -> str:
    """The best answer, but for the notes that are never achieved."""
    never = {int(number) for number in _NEVER_ACHIEVED.findall(prompt.messages[-1].text)}
    said = {at: checks[name].answers[-1 if at in never else 0] for name, own in numbers(prompt).items() for at in own}
    return reply(prompt, {at: {"answer": word} for at, word in said.items()})


def naming(texts: int) -> list[Prompt]:
    """What is sent to name so many texts of errors that have 25 types: labels, then the merge."""
    groups = by_text(planted(texts)[0])
    client = ScriptedClient(lambda prompt: answer("".join(message.text for message in prompt.messages)))
    answer = named_by(lambda _, text: text.partition(": ")[2][:60], lambda _, label: label.split()[0])
    rehearse(name_types(groups, (), max_tokens=8192), client)
    return client.prompts


def costs(prompts: Sequence[Prompt]) -> str:
    """Calls, tokens, and those that a prefix cache does not serve."""
    sent = sum(tokens("".join(message.text for message in prompt.messages)) for prompt in prompts)
    return f"{len(prompts):7}{sent:14,}{uncached(prompts):36,}"


def main() -> None:
    """Print a row for each number of exchanges."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--exchanges", type=int, nargs="+", default=[3, 10, 30])
    parser.add_argument("--packs", nargs="+", default=["pipa"])
    parser.add_argument("--notes", type=int, default=3)
    parser.add_argument("--never", type=int, default=1, help="notes that are never achieved; the others are at once")
    parser.add_argument("--runs", type=int, help="how often each question is asked")
    parser.add_argument("--early-stop", action="store_true")
    parser.add_argument("--rubrics", type=int, default=12, help="of SCOPE, of each label; 0 for none")
    parser.add_argument("--live", action="store_true", help="SCOPE asks of bad rubrics at each exchange, too")
    given = parser.parse_args()
    asking = {"early_stop": given.early_stop} | ({"runs": given.runs} if given.runs else {})
    settings: dict[str, dict[str, Any]] = {name: dict(asking) for name in given.packs}
    with TemporaryDirectory() as folder:
        if "scope" in settings and given.rubrics:
            file = set_file(Path(folder), set_of([5] * given.rubrics, [5] * given.rubrics))
            settings["scope"] |= {"rubrics": str(file), "live": given.live}
        packs = load_packs(given.packs, settings)
    print("exchanges  calls  input tokens  without what a prefix cache serves")
    for exchanges in given.exchanges:
        prompts = prompts_of(packs, exchanges, Cards(given.notes, given.never))
        print(f"{exchanges:9}{costs(prompts)}")
    if "ted" in given.packs:
        print("texts of errors that are named; the merge of their labels alone")
        for texts in (50, 150, 200):
            asked_for = naming(texts)
            print(f"{texts:9}{costs(asked_for)}\n    merge{costs(asked_for[-1:])}")


if __name__ == "__main__":
    main()
