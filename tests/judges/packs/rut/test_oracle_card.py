"""Oracles on task cards: what is read, and what is refused in one line."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from tracejury.judges.packs.cards.task_cards import load_cards
from tracejury.judges.packs.loader import load_packs
from tracejury.schemas.errors import ConfigError

STEPS = [{"id": "a", "tool": "get"}, {"id": "b", "tool": "pay"}, {"id": "c", "tool": "mail"}]

HOLDS_ITSELF: list[Any] = []
HOLDS_ITSELF.append(HOLDS_ITSELF)


def loaded(folder: Path, oracle: dict[str, Any]) -> Any:
    file = folder / "card.yaml"
    file.write_text(yaml.safe_dump([{"id": "t0"}, {"id": "t1", "oracle": oracle}]), "utf-8")
    return load_cards([str(file)])["t1"].oracle


@pytest.mark.parametrize(
    ("oracle", "told"),
    [
        ({"steps": STEPS, "order": [["a", "x"]]}, "order: there is no step 'x'"),
        ({"steps": STEPS, "order": [["a", "b"], ["b", "c"], ["c", "a"]]}, "order: a cycle: "),
        ({"steps": STEPS, "order": [["a", "a"]]}, "order: a cycle: a before a"),
        ({"steps": STEPS, "order": [["a", "b", "c"]]}, "order.0: "),
        ({"steps": STEPS, "forbidden": [{"tool": "pay"}]}, "forbidden: the step 'b' requires a call that is forbidden"),
        (
            {
                "steps": [{"id": "b", "tool": "pay", "arguments": {"id": 1, "eur": 2}}],
                "forbidden": [{"tool": "pay", "arguments": {"eur": 2.0}}],
            },
            "forbidden: the step 'b' requires a call that is forbidden",
        ),
        ({"steps": STEPS, "exclusive": [["pay", "mail"]]}, "exclusive: steps require both 'pay' and 'mail'"),
        ({"steps": STEPS, "exclusive": [["x", "x"]]}, "exclusive: 'x' is a pair with itself"),
        ({"steps": [*STEPS, STEPS[0]]}, "steps: two have the id 'a'"),
        ({"steps": [{"id": "b", "tool": "pay", "equivalent": [{"tool": "get"}]}]}, "steps: 'b' has equivalent calls"),
        ({"steps": [{"id": "b", "tool": "get", "equivalent": [{"tool": "pay"}]}]}, "steps: 'b' has equivalent calls"),
        ({"type": "run", "steps": STEPS}, "type: must be 'execute'"),
        ({}, "steps: execute needs at least one step, or a state"),
        ({"steps": STEPS, "state": [{"path": "a"}]}, "state.0: say one of equals, changed, added and removed"),
        (
            {"steps": STEPS, "state": [{"path": "a", "equals": 1, "added": 2}]},
            "state.0: say one of equals, changed, added and removed",
        ),
        ({"steps": STEPS, "budget": 0}, "budget: "),
        ({"steps": STEPS, "stpes": 1}, "stpes: there is no such key here"),
        (
            {"steps": [{"id": "a", "tool": "get", "arguments": {"day": date(2026, 3, 1)}}]},
            "steps.0.arguments.day: 2026-03-01 is no JSON value (date): put it in quotes",
        ),
        ({"steps": STEPS, "forbidden": [{"tool": "x", "arguments": {"q": [date(2026, 3, 1)]}}]}, "forbidden.0.arg"),
        ({"steps": STEPS, "state": [{"path": "a", "equals": {"day": date(2026, 3, 1)}}]}, "state.0.equals: 2026-03-01"),
        (
            {"steps": [{"id": "a", "tool": "get", "arguments": {"x": HOLDS_ITSELF}}]},
            "steps.0.arguments.x: it is nested",
        ),
        ({"steps": STEPS, "state": [{"path": "a", "equals": {7: "x"}}]}, "state.0.equals: the key 7 is no text"),
        ({"steps": [{"id": "a"}]}, "steps.0.tool: this key is missing"),
        ({"steps": [{"id": "a", "tool": "get", "match": {"q": "any"}}]}, "steps.0.match.q: must be 'equal'"),
    ],
)
def test_what_is_refused_names_card_and_key(tmp_path: Path, oracle: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        loaded(tmp_path, oracle)
    line = str(raised.value)
    assert line.startswith(f"{tmp_path / 'card.yaml'}: card 2: oracle")
    assert told in line
    assert "\n" not in line


def test_a_pair_or_a_forbidden_call_that_steps_do_not_require_is_fine(tmp_path: Path) -> None:
    oracle = loaded(
        tmp_path,
        {
            "steps": [{"id": "b", "tool": "pay", "arguments": {"eur": 2}}],
            "forbidden": [{"tool": "pay", "arguments": {"eur": 3}}],
            "exclusive": [["pay", "mail"]],
        },
    )
    assert oracle.type == "execute"
    assert loaded(tmp_path, {"state": [{"path": "a", "equals": None}]}).state[0].kind == "equals"
    assert loaded(tmp_path, {"type": "refuse_or_scope"}).steps == ()


def test_a_service_names_the_tools_that_write() -> None:
    (rut,) = load_packs(["rut"], {"rut": {"services": {"shop": {"writes": ["run_job"]}}}})
    terms = rut.settings.terms("shop")
    assert terms is not None
    assert terms.writes == ("run_job",)
