"""Calls and tokens of judging a session by packs: `python tests/bench/pack_cost.py [--packs pipa rut] [--exchanges 3]`.

Conversations as a shop's agent has them: two calls of a tool in each exchange, each with a thought, 15 policies. The
prompts are those that a model is sent; tokens are counted with litellm's tokenizer for gpt-4o. A prefix cache serves
what a prompt has in common with an earlier one of the session.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence

from check_replies import numbers, reply
from deliberations import rehearse
from prompt_tokens import tokens, uncached
from sessions import Asked, Layout, session

from tracejury.judges.checks.case import AskedCheck, CheckCase
from tracejury.judges.checks.check_types import Check
from tracejury.judges.checks.deliberation import judge_checks
from tracejury.judges.checks.how_asked import HowAsked
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.scripted import ScriptedClient
from tracejury.judges.packs import sources
from tracejury.judges.packs.loader import load_packs
from tracejury.judges.packs.pack_types import Pack
from tracejury.processors.session_states import states
from tracejury.processors.transcript import session_record, upto
from tracejury.schemas.checks import CheckItem
from tracejury.schemas.verdicts import Subject, SubjectKind

POLICIES = 15


def asked(number: int) -> Asked:
    """One exchange; its texts differ from those of the others."""
    row = "; ".join(
        f"order {number}{k}: part {k * 37 + number}, {k + 2} pieces, {number * 7 + k}.50 EUR" for k in range(12)
    )
    return Asked(
        f"And what about order {number}4? I need the parts by the {number + 1}th, and please check the price again.",
        f"Order {number}4 holds part {148 + number}, 6 pieces at {number * 7 + 4}.50 EUR each. "
        "I can't promise a date, but all of them are in stock. Shall I place the order?",
        (f"found 12 rows: {row}", f"stock: {row}"),
        f"The user asks about order {number}4. I look it up, and then its parts in the stock, before I state a price.",
    )


def prompts_of(packs: Sequence[Pack], exchanges: int) -> list[Prompt]:
    """All that is sent for a session: each exchange when it ends, then the session."""
    every = [(pack, check) for pack in packs for check in pack.checks]
    traces = session([asked(number) for number in range(1, exchanges + 1)], Layout.RESENT)
    whole, by_id = session_record("chat", traces), {trace.trace_id: trace for trace in traces}
    formulas = {name: formula for pack in packs for name, formula in pack.formulas.items()}
    how = HowAsked(formulas, dict.fromkeys(formulas, "v"))
    client = ScriptedClient(lambda prompt: _best({check.name: check for _, check in every}, prompt))
    for number in [*range(exchanges), None]:
        record = whole if number is None else upto(whole, number)
        subject = Subject(SubjectKind.SESSION, '["shop", "chat"]', "")
        checks: list[AskedCheck] = []
        for pack, check in every:
            if check.asks and (check.subject == "session") == (number is None):
                items: Iterable[CheckItem] = ()
                if number is not None and check.items is sources.STATES:
                    items = states(record, number, by_id[record.exchanges[number].trace_id])
                elif check.items is sources.POLICIES:
                    items = (CheckItem(f"Rule {n}: never state a price of part {n} unseen.") for n in range(POLICIES))
                elif check.items is sources.CRITERIA:
                    items = (CheckItem(f"{name}: {text}") for name, text in check.criteria_texts().items())
                checks.append(AskedCheck(check, tuple(items), pack.name))
        case = CheckCase(subject, record, by_id, tuple(checks), "shop", number)
        rehearse(judge_checks(case, how), client)
    return client.prompts


def _best(checks: Mapping[str, Check], prompt: Prompt) -> str:
    words = {at: checks[name].answers[0] for name, own in numbers(prompt).items() for at in own}
    return reply(prompt, {at: {"answer": word} for at, word in words.items()})


def main() -> None:
    """Print a row for each number of exchanges."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--exchanges", type=int, nargs="+", default=[3, 10, 30])
    parser.add_argument("--packs", nargs="+", default=["pipa"])
    given = parser.parse_args()
    packs = load_packs(given.packs)
    print("exchanges  calls  input tokens  without what a prefix cache serves")
    for exchanges in given.exchanges:
        prompts = prompts_of(packs, exchanges)
        sent = sum(tokens("".join(message.text for message in prompt.messages)) for prompt in prompts)
        print(f"{exchanges:9}{len(prompts):7}{sent:14,}{uncached(prompts):36,}")


if __name__ == "__main__":
    main()
