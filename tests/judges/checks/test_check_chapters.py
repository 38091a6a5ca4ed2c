"""Records that are too long for one call: who is asked about what with which part."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from check_cases import OBSERVATIONS, POLICIES, STATES, asked_of, check, check_case, how, only, policies
from check_replies import entry, numbers, reply
from sessions import Asked

from tracejury.judges.checks.case import AskedCheck, CheckCase
from tracejury.judges.checks.deliberation import judge_checks
from tracejury.judges.llm.client import Prompt, Reply
from tracejury.processors.transcript import split
from tracejury.schemas.checks import CheckItem
from tracejury.schemas.transcript import Chapter

CHAT = [
    Asked(f"CheckQuestion {n}?", f"Answer {n}.", [f"result {n} {k} " + "x" * 400 for k in range(3)], f"I think of {n}.")
    for n in range(6)
]


def chapters(case: CheckCase, most: int = 2200) -> Sequence[Chapter]:
    made = split(case.record.transcript, most, len)
    assert len(made) > 2
    return made


def shown(prompt: Prompt) -> set[str]:
    """The labels of the steps that a prompt shows."""
    lines = "".join(m.text for m in prompt.messages[1:]).partition("=== items ")[0].split("\n")
    return {line.split()[0] for line in lines if line.startswith("E") and line.split()[1] == "llm"}


def asked_at(prompt: Prompt) -> list[str]:
    """The labels of the items asked about."""
    fence = prompt.messages[-1].text.partition("=== items ")[2].partition("\n=== end")[0].partition("\n")[2]
    return [line.split()[1] for line in fence.split("\n") if line[:1].isdecimal() and " " in line]


def test_an_item_is_asked_about_with_a_chapter_that_shows_it() -> None:
    """Once; chapters without any item are not read."""
    case = check_case(5, STATES, chat=CHAT)
    parts = chapters(case)
    said, client = asked_of(case, chapters=parts)
    places = [label for prompt in client.prompts for label in asked_at(prompt)]
    assert places == [item.label for item in case.checks[0].items]
    assert all(set(asked_at(prompt)) <= shown(prompt) for prompt in client.prompts)
    assert len(client.prompts) < len(parts)
    assert len(only(said).items) == len(places)


def test_what_stands_nowhere_is_asked_about_with_every_chapter() -> None:
    """One after the other, each with the notes on those before; the worst answer counts."""
    case = check_case(None, policies("Promise nothing.", "Greet."), chat=CHAT)
    parts = chapters(case)
    broken = {"answer": "no", "reason": "There.", "label": "E2.S4", "quote": "Answer 1."}

    def script(prompt: Prompt) -> str:
        here = "E2.S4" in shown(prompt)
        return reply(prompt, {1: broken} if here else {}, summary=f"seen by call {len(shown(prompt))}")

    said, client = asked_of(case, script, chapters=parts)
    assert len(client.prompts) == len(parts)
    verdict = only(said)
    assert (verdict.value, [i.best for i in verdict.items]) == (0.5, [False, True])
    assert [f.evidence for f in said.findings] == ["Answer 1."]
    texts = ["".join(m.text for m in p.messages) for p in client.prompts]
    for at, text in enumerate(texts):
        assert f"This is part {at + 1} of {len(parts)} of the record" in text
        assert ("notes of the judge of the part before:\n seen by call" in text) == (at > 0)
        assert ("In `summary`, note" in text) == (at + 1 < len(texts))


@pytest.mark.parametrize(("first", "then"), [("made up", "Answer 1."), ("Answer 1.", "made up")])
def test_of_two_equally_bad_answers_the_proven_one_counts(first: str, then: str) -> None:
    """Whichever came first."""
    case = check_case(None, policies("Promise nothing."), chat=CHAT)
    quotes = iter([first, then])

    def script(prompt: Prompt) -> str:
        return reply(prompt, {1: {"answer": "no", "reason": "There.", "quote": next(quotes, "made up")}})

    verdict = only(asked_of(case, script, chapters=chapters(case))[0])
    assert (verdict.value, verdict.items[0].quote) == (0, "Answer 1.")


@pytest.mark.parametrize(
    ("said", "answer", "quote"),
    [
        ([("10", "made up"), ("8", "Answer 1.")], "8", "Answer 1."),
        ([("8", "Answer 1."), ("10", "made up")], "8", "Answer 1."),
        ([("10", "made up")], "10", ""),
        ([("8", "Answer 1."), ("10", "Answer 3.")], "10", "Answer 3."),
    ],
)
def test_what_no_quote_proves_outdoes_nothing_where_it_counts_as_the_best(
    said: list[tuple[str, str]], answer: str, quote: str
) -> None:
    made = check(POLICIES.items, unproven="best", scale={"0": "no", "8": "much", "10": "all"})
    case = check_case(None, AskedCheck(made, (CheckItem("It is rude."),), "pack"), chat=CHAT)
    given = iter(said)

    def script(prompt: Prompt) -> str:
        word, words = next(given, ("0", ""))
        return reply(prompt, {1: {"answer": word, "reason": "There.", "quote": words}})

    (item,) = only(asked_of(case, script, chapters=chapters(case))[0]).items
    assert (item.answer, item.quote, item.grounded) == (answer, quote, bool(quote))


@pytest.mark.parametrize(
    ("said", "answer", "quote"),
    [
        ([("silent", "Answer 1."), ("loud", "Answer 3.")], "silent", "Answer 1."),
        ([("loud", "Answer 1."), ("silent", "Answer 3.")], "loud", "Answer 1."),
        ([("other", "Answer 1."), ("silent", "Answer 3.")], "silent", "Answer 3."),
        ([("silent", "made up"), ("other", "Answer 3.")], "other", "Answer 3."),
        ([("right", ""), ("other", "made up")], "other", ""),
    ],
)
def test_of_answers_without_an_order_the_proven_then_the_named_then_the_first_counts(
    said: list[tuple[str, str]], answer: str, quote: str
) -> None:
    ranks = {"silent": 2, "loud": 2, "other": 1}
    scale = {"right": "Fine."} | {word: {"meaning": word, "rank": rank} for word, rank in ranks.items()}
    made = check(POLICIES.items, scale=scale)
    case = check_case(None, AskedCheck(made, (CheckItem("The session."),), "pack"), chat=CHAT)
    given = iter(said)

    def script(prompt: Prompt) -> str:
        word, words = next(given, ("right", ""))
        return reply(prompt, {1: {"answer": word, "reason": "There.", "quote": words}})

    (item,) = only(asked_of(case, script, chapters=chapters(case))[0]).items
    assert (item.answer, item.quote) == (answer, quote)


def test_observations_are_asked_about_with_the_answer() -> None:
    """In the chapter that shows it, together with the states shown there."""
    case = check_case(5, STATES, OBSERVATIONS, chat=CHAT)
    listed = entry("check-observations", mention="Answer 5.")
    said, client = asked_of(
        case, lambda p: reply(p, {}, [listed] if "check-observations" in numbers(p) else []), chapters=chapters(case)
    )
    (with_answer,) = [prompt for prompt in client.prompts if "check-observations" in numbers(prompt)]
    assert case.answered in shown(with_answer)
    assert [v.value for v in said.verdicts] == [1, 1]


def test_a_check_that_failed_is_not_asked_again() -> None:
    """Its other chapters would be paid for nothing; another check goes on."""
    case = check_case(None, policies("Promise nothing."), chat=CHAT)
    said, client = asked_of(case, lambda _: '{"answers": []}', chapters=chapters(case))
    assert len(client.prompts) == 2
    assert set(said.failures) == {"check-policies"}


def test_one_chapter_is_the_whole_record() -> None:
    """Its prompt is that without chapters."""
    case = check_case(1, STATES, chat=CHAT)
    whole = split(case.record.transcript, 10**9, len)
    assert next(judge_checks(case, how(case), whole)) == next(judge_checks(case, how(case)))


def test_independent_calls_are_sent_at_once() -> None:
    """Further calls with one chapter do not wait for each other."""
    case = check_case(None, policies(*(f"Policy {n}." for n in range(70))), chat=CHAT)
    going = judge_checks(case, how(case), chapters(case))
    first = next(going)
    assert [len(own) for p in first for own in numbers(p).values()] == [60, 10]
    assert len(going.send([Reply(reply(p), "m") for p in first])) == 2
