"""`tracejury explain`."""

from __future__ import annotations

import json

from click.testing import CliRunner

from tracejury.collector.cli.root import root


def run(*args: str) -> tuple[int, str]:
    answer = CliRunner().invoke(root, ["explain", *args])
    return answer.exit_code, answer.output


def test_a_term_is_told_in_full() -> None:
    """Title, text, what counts and what does not, and where to read on; several words need no quotes."""
    code, told = run("goal-fulfilment")
    assert code == 0
    assert "Goal Fulfilment" in told
    assert "Does not count" in told
    assert "See also: gf, " in told
    assert run("formatting", "errors")[1].startswith("Formatting Errors\n")


def test_without_a_term_all_are_listed() -> None:
    """Each kind under its heading."""
    code, told = run()
    assert code == 0
    assert [h for h in ("Figures", "Detectors", "LLM judges", "Outcomes of judging") if f"\n{h}\n" not in told] == []
    assert "ungrounded-turn" in told


def test_json_is_that_of_the_api() -> None:
    """The same keys."""
    found = json.loads(run("done", "--format", "json")[1])
    assert (found["key"], found["kind"]) == ("done", "outcome")
    assert len(json.loads(run("--format", "json")[1])) > 100


def test_an_unknown_term_fails_in_one_line() -> None:
    """With near ones."""
    code, told = run("plan-qualty")
    assert code != 0
    assert "near: plan-quality" in told
