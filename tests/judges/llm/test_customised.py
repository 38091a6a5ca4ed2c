"""A user's instructions and examples for single judges: in the prompt, in the version, refused where they fit none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracejury.collector.judging.llm.build import panel_from
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.judges.llm.prompt_rules import criteria_text
from tracejury.schemas.errors import ConfigError

JUDGE, OTHER = "tool-calling", "goal-fulfilment"
EXAMPLES = f"""
{JUDGE}:
  - step: "calls pay(amount='ten')"
    finding: "Tool Definition Issues, MEDIUM: the amount is a number"
"""


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "examples.yaml"
    path.write_text(text)
    return str(path)


def test_instructions_and_examples_stand_in_its_prompt_and_change_that_judges_version(tmp_path: Path) -> None:
    """Those of another judge stay as they are."""
    plain, _ = panel_from(LlmConfig(model="m"))
    own = LlmConfig(
        model="m", instructions={JUDGE: " Refunds  above 50 \nneed a ticket.\n"}, examples=write(tmp_path, EXAMPLES)
    )
    panel, _ = panel_from(own)
    lines = criteria_text(panel.judge(JUDGE)).splitlines()
    at = lines.index("Also:")
    assert lines[at + 1 : at + 3] == ["Refunds  above 50", "need a ticket."]
    assert "Example: calls pay(amount='ten') -> Tool Definition Issues, MEDIUM: the amount is a number" in lines
    assert criteria_text(panel.judge(OTHER)) == criteria_text(plain.judge(OTHER))
    assert panel.version(JUDGE) != plain.version(JUDGE)
    assert panel.version(OTHER) == plain.version(OTHER)
    longest = "Paste all tools.\n\n" * 444
    assert longest.strip() in criteria_text(
        panel_from(LlmConfig(model="m", instructions={JUDGE: longest}))[0].judge(JUDGE)
    )


@pytest.mark.parametrize(
    ("instructions", "examples", "why"),
    [
        ({"tool-caling": "x"}, "", "judges.instructions: no judge named 'tool-caling' in the set"),
        ({JUDGE: "x" * 8001}, "", "judges.instructions: tool-calling"),
        ({}, "tool-caling: [{step: a, finding: b}]", "judges.examples: no judge named 'tool-caling'"),
        ({}, f"{JUDGE}: []", "examples.yaml: tool-calling"),
        ({}, f"{JUDGE}: [{', '.join(['{step: a, finding: b}'] * 6)}]", "at most 5"),
        ({}, f"{JUDGE}: [{{step: a}}]", "finding"),
        ({}, "- a", "examples.yaml"),
    ],
)
def test_what_fits_no_judge_is_refused_in_one_line(
    tmp_path: Path, instructions: dict[str, str], examples: str, why: str
) -> None:
    """It names the key and what to write."""
    path = write(tmp_path, examples) if examples else ""
    with pytest.raises(ConfigError, match=why) as refused:
        panel_from(LlmConfig(model="m", instructions=instructions, examples=path))
    assert "\n" not in str(refused.value)


def test_the_form_of_transcripts_is_a_part_of_the_version() -> None:
    """Another form is another judge."""
    compact, paper = (panel_from(LlmConfig(model="m", transcript=form))[0] for form in ("compact", "paper"))
    assert compact.version(JUDGE) != paper.version(JUDGE)
