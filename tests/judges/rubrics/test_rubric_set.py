"""Files of sets: what is wrong in one is one line, whatever it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unicodedata import category

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prompt_attacks import ATTACKS
from scope_sets import set_file, set_of

from tracejury.judges.rubrics.rubric_set import read_rubric_set
from tracejury.schemas.errors import ConfigError

LEAF = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from([*ATTACKS.values()])
)
KEYS = st.sampled_from([*set_of(), "areas", "learned_from", "name", "text", "label", "weight"]) | st.text(max_size=20)
DATA = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=12
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(st.data())
def test_any_file_is_a_set_or_one_line(tmp_path: Path, data: st.DataObject) -> None:
    """Any content, and a set with any value in place of one of its own."""
    content: Any = data.draw(DATA | st.dictionaries(KEYS, DATA, max_size=2).map(lambda changes: set_of() | changes))
    file = tmp_path / "rubrics.yaml"
    file.write_text(yaml.safe_dump(content, allow_unicode=True), "utf-8", "backslashreplace")
    try:
        found = read_rubric_set(file)
    except ConfigError as error:
        told = str(error)
    else:
        told = f"{file} of {len(found.rubrics)}"
    assert str(file) in told
    assert told.splitlines() == [told]
    assert "Cc" not in map(category, told)


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_hostile_name_is_none(tmp_path: Path, attack: str) -> None:
    """It would be a category."""
    data = set_of()
    data["rubrics"][0] |= {"name": attack}
    with pytest.raises(ConfigError, match=r"rubrics\.0\.name: "):
        read_rubric_set(set_file(tmp_path, data))
