"""How prompts are made shorter: examples go first, rules and the beginnings of items stay."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tracejury.processors.transcript.condense import condense

EXAMPLE = "".join(
    f" Task: {task}\n\n Thought: I look it up first, and then I answer with what I found there.\n Code:\n ```py\n"
    f" x = search('{task}')\n\n print(x)\n ```\n Observation: it is so, says the page that I was looking for\n\n"
    for task in ("how old is the pope", "where is Guangzhou", "what is the square of nine")
)
RULES = "".join(f" {i}. Always obey the rule number {i}, whatever the others say.\n" for i in range(1, 11))
PROMPT = f" You solve tasks.\n Here are examples:\n{EXAMPLE} Above were examples.\n{RULES} Now begin!"


def test_a_short_text_stays() -> None:
    """Also its examples."""
    assert condense(PROMPT, len(PROMPT), examples=True) == PROMPT


def test_worked_examples_go_first() -> None:
    """The rules after them are whole."""
    short = condense(PROMPT, len(PROMPT) - 300, examples=True)
    assert "pope" not in short
    assert " Here are examples:\n[… worked examples, " in short
    assert RULES in short
    assert "pope" in condense(PROMPT, len(PROMPT) - 300)


def test_the_form_of_an_answer_is_no_example() -> None:
    """A few lines that name the speakers once say how to answer."""
    form = " Thought: what you think\n Action: what you do\n Observation: what it says\n Answer: the answer\n"
    text = f"{form} {'word ' * 300}\n"
    assert form in condense(text, 800, examples=True)


def test_lines_below_items_give_way_before_items_and_prose() -> None:
    """A list of tools keeps each one's name and purpose, the words around it all they say."""
    tools = "".join(f" - tool_{i}: does the thing {i}\n     Takes {{'a': {i}, {'b' * 200}}}\n" for i in range(9))
    asked = " Write a plan of the steps to take, and do not write down any of the calls themselves.\n"
    short = condense(asked + tools, 1_000)
    assert asked in short
    assert all(f" - tool_{i}: does the thing {i}\n     Takes {{'a'" in short for i in range(9))
    assert " […]\n" in short
    assert len(short) <= 1_050


def test_what_several_items_say_alike_is_told_once() -> None:
    """Where room is short."""
    tools = "".join(f" - tool_{i}: {'does it ' * 9}\n     Returns an output of type: string\n" for i in range(9))
    assert condense(tools, len(tools) - 200).count("Returns") == 1


LINES = st.lists(
    st.text(st.sampled_from("ab -*1.:'{")).map(lambda text: f" {text}")
    | st.sampled_from([" - tool: " + "does it " * 20, "input user:", "= S1 (3 lines)", " Task: x", " Observation: y"]),
    max_size=60,
)


@given(LINES, st.integers(100, 2_000), st.booleans())
def test_nothing_is_made_up(lines: list[str], limit: int, examples: bool) -> None:  # noqa: FBT001 - drawn
    """Every line is one of the text's, or its beginning or end, or says what was cut; and the limit is about kept."""
    text = "\n".join(lines)
    short = condense(text, limit, examples=examples)
    for line in short.split("\n"):
        begin = line.removesuffix(" […]")
        assert line.startswith("[… ") or any(
            begin == one or (line != begin and one.startswith(begin)) or one.startswith(line) or one.endswith(line[1:])
            for one in lines or [""]
        )
    assert len(short) <= max(limit, 100) + 20 * len(lines)
