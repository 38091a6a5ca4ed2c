"""Names of agents as lists show them."""

from __future__ import annotations

from tracejury.schemas.text.naming import agent_names


def test_agents_of_several_runs_stand_once_with_the_number_of_their_runs() -> None:
    assert agent_names(["manager", "researcher", "", "researcher", ""]) == "manager, researcher (2), unnamed agent (2)"
    assert agent_names([]) == ""
