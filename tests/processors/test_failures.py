"""What the text of a tool's result says of a failure, and the calls that a model wrote as code."""

from __future__ import annotations

import pytest

from tracejury.processors.code import arguments_of
from tracejury.processors.failures import failure_in


@pytest.mark.parametrize(
    "result",
    [
        "Error: no such file",
        "SearchBackendError: search backend returned 503",
        "Call id: call_1\nError:\nmissing argument 'query'",
        "Traceback (most recent call last):\n  File …",
        "An error occurred while running the tool. Please try again.",
        "Tool execution failed: timeout",
        '{"error": "no such tool"}',
        "requests.exceptions.Timeout: read timed out",
        "Invalid arguments for tool search",
        "search backend returned 503 for query: length of the Elbe in km",
        "The upstream service responded with status 429.",
        "Weather API failed with an HTTP 500",
        "GET orders/17 returned HTTP 404",
        "The call returned error code 502",
        "Missing required argument(s): ['query']. Received unexpected argument(s): ['phrase'].",
    ],
)
def test_a_result_that_begins_as_a_failure_is_one(result: str) -> None:
    """Its text is kept, without the call's id that some write before it."""
    assert failure_in(result)
    assert not failure_in(result).startswith("Call id")


@pytest.mark.parametrize(
    "result",
    [
        "",
        "The Rhine is 1230 km long.",
        "The page lists the error codes 503 and 504.",
        "Errors and how to avoid them: a guide",
        "Error-free operation is guaranteed.",
        '{"error": null, "hits": 3}',
        '{"query": "error", "hits": []}',
        "The search returned 503 results.",
        "Sensor 4 returned 500",
        "The server returned 12 rows, 404 of them new.",
        "The server room has 503 seats",
        "A service returned to port after 500 days.",
        "In 2003 the space probe, which the backend returned 503 for, was lost.",
        "Call id: call_1\nThe Error is 3 km long.",
    ],
)
def test_a_result_that_speaks_of_errors_is_none(result: str) -> None:
    """What a tool found may be about errors."""
    assert failure_in(result) == ""


def test_arguments_are_read_from_code() -> None:
    """Named literals only, in order, of the function asked for; code that cannot be read says nothing."""
    reply = "I ask.\n<code>\nx = find(task='one', n=2)\nprint(find(task=x))\nfind(task='two')\n</code>"
    assert arguments_of(reply, "find") == [{"task": "one", "n": 2}, {"task": "two"}]
    assert arguments_of("```python\nfind(task='x')\n```", "find") == [{"task": "x"}]
    assert arguments_of("<code>find(</code>", "find") == []
    assert arguments_of("<code>" + "(" * 10_000 + "</code>", "find") == []
    assert arguments_of("find(task='no code block')", "find") == []
