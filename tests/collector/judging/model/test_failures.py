"""What is told of an error whose text a server made up to do harm."""

from __future__ import annotations

from tracejury.collector.judging.model.config import ModelConfig
from tracejury.collector.judging.model.failures import failure, refuses_form

ASKED = ModelConfig(model="openai/x")


class RefusalError(Exception):
    """As litellm raises it: with the HTTP status."""

    status_code = 400


def test_megabytes_of_white_space_hold_nobody_up() -> None:
    """The time grows with the length of the body, not with its square: this would take hours otherwise."""
    error = RefusalError("OpenAIException - no" + " \n" * 5_000_000 + "LiteLLM Retried: 2")
    assert "answered 400: no" in str(failure(error, ASKED, frozenset()))
    assert refuses_form(error) == (True, False)


def test_litellms_own_words_are_taken_out() -> None:
    """What the provider said is left."""
    error = RefusalError(
        "litellm.BadRequestError: OpenAIException - mend it \n LiteLLM Retried: 1 times, LiteLLM Max: 2"
    )
    assert str(failure(error, ASKED, frozenset())) == "openai/x answered 400: mend it"


def test_a_key_at_the_cut_is_hidden_whole() -> None:
    """It is taken out before the text is cut."""
    for before in range(19_980, 20_010):
        told = str(
            failure(
                RefusalError("AError: " * (before // 8) + "x" * (before % 8) + "planted-1"),
                ASKED,
                frozenset({"planted-1"}),
            )
        )
        assert "plant" not in told
