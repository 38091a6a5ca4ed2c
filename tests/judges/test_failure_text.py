"""What texts say about failure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.failure_text import FailureKind as F
from tracejury.judges.failure_text import classify, error_page, gives_up, reported_failure, told_at
from tracejury.judges.text import HEAD, TAIL, bounded, lowered


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("TypeError: f() got an unexpected keyword argument 'x'", F.SCHEMA),
        ("TypeError: f() missing 1 required positional argument: 'x'", F.SCHEMA),
        ("1 validation error for search", F.SCHEMA),
        ("HTTP 429 Too Many Requests", F.RATE),
        ("SyntaxError: invalid syntax", F.PARSE),
        ("bash: line 7: syntax error near unexpected token `(id,'\nbash: line 7: `wait(id, timeout=9)'", F.PARSE),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'a'", F.FILE),
        ("ModuleNotFoundError: No module named 'Bio'", F.IMPORT),
        ("MemoryError", F.LIMIT),
        ("ReadTimeout: the request timed out", F.TIMEOUT),
        ("Exception: No results found for query", F.NO_RESULT),
        ("403 Forbidden", F.AUTH),
        ("404 Client Error: Not Found for url: https://x", F.NOT_FOUND),
        ("503 Service Unavailable", F.SERVICE),
        ("search backend returned 503 for query", F.SERVICE),
        ("UnboundLocalError: cannot access local variable 'x'", F.BROKEN),
        ("ValueError: bad", F.CODE),
        ("something else", F.OTHER),
        ("", F.OTHER),
    ],
)
def test_errors_have_kinds(error: str, kind: F) -> None:
    """By what languages, protocols and libraries write."""
    assert classify(error) is kind
    assert classify(f"Wrapped by a framework: {error}".upper()) is kind


@pytest.mark.parametrize(
    ("result", "fails"),
    [
        ("Error: it broke", True),
        ("  error executing tool", True),
        ("Traceback (most recent call last):\n  File", True),
        ("An error occurred while running the tool. Please try again.", True),
        ('{"error": "backend down"}', True),
        ('{"status": "error", "error_message": "down"}', True),
        ('{"error": null, "rows": 3}', False),
        ('{"error": ""}', False),
        ("requests.exceptions.HTTPError: 500 Server Error", True),
        ("Failed to open the page", True),
        ("error-free operation", False),
        ("Error: none", False),
        ("Error analysis of language models, by A. Author", False),
        ("Errors in medicine are common", False),
        ("Exceptional service", False),
        ("The page explains what an Error: line means", False),
        ("42", False),
        ("", False),
    ],
)
def test_only_how_a_result_opens_tells_of_a_failure(result: str, fails: object) -> None:
    """A page about errors is no error, and a null error is none."""
    assert (reported_failure(result) is not None) is fails


@pytest.mark.parametrize(
    ("result", "absent"),
    [
        ("No results found for 'x'", True),
        ("Error: page not found", True),
        ("Error: 404 not found", True),
        ('{"error": "not found"}', True),
        ("Error: backend down", False),
        ("Error: no such file or directory", False),
        ("Error executing tool: TypeError: f() got an unexpected keyword argument 'x'", False),
    ],
)
def test_that_there_is_nothing_is_an_answer(result: str, *, absent: bool) -> None:
    """Such a result brings nothing, but nothing went wrong."""
    found = reported_failure(result)
    assert found is not None
    assert found.page is absent


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        ("Address: x\nTitle: Error 403\n## Error 403", F.AUTH),
        ("# 404 Not Found\n", F.NOT_FOUND),
        ("Title: 503 Service Unavailable", F.SERVICE),
        ("HTTP/1.1 error 429", F.RATE),
        ("Title: Error\n", F.SERVICE),
        ("Title: Error handling in Python", None),
        ("Title: Route 404 and other roads", None),
        ("There were 403 guests", None),
        ("x" * 600 + "\nTitle: Error 403", None),
        ("", None),
    ],
)
def test_a_fetched_page_may_be_an_error(page: str, kind: F | None) -> None:
    """By its title or heading near the top only."""
    found = error_page(page)
    assert (found.kind if found else None) is kind
    assert found is None or found.text in page


@pytest.mark.parametrize(
    ("answer", "gave_up"),
    [
        ("I was unable to find it.", True),
        ("### 1. Outcome (short):\nWe couldn\u2019t locate the file.", True),
        ("The answer is 42.\nThe rest is detail.\nOne source could not be opened.", False),
        ("42", False),
        ("", False),
    ],
)
def test_an_answer_that_opens_with_failure_gives_up(answer: str, gave_up: object) -> None:
    """Headings are skipped; a caveat further down is none."""
    line = gives_up(answer)
    assert bool(line) is gave_up
    assert line in answer


@given(st.text(max_size=HEAD + TAIL + 50))
def test_bounded_text_is_bounded(text: str) -> None:
    """Short texts stay as they are, long ones keep head and tail."""
    kept = bounded(text)
    assert kept == text if len(text) <= HEAD + TAIL else len(kept) == HEAD + TAIL + 1


def test_texts_are_compared_in_lower_case_with_plain_apostrophes() -> None:
    assert lowered("It\u2019s") == "it's"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("ValueError: no number", "ValueError"),
        ("I clicked.\n\nA page.\nopenai.BadRequestError: Error code: 400", "openai.BadRequestError"),
        ("Traceback:\n  File a\nKeyError: 1\n\nTraceback:\n  File b\nTimeoutError: late", "TimeoutError"),
        ("The error handling of Python: see ValueError: below", "The error"),
        ("page\n" * 20_000 + "ValueError: no number\n", "ValueError"),
        ("", ""),
    ],
)
def test_where_a_text_tells_of_its_failure(text: str, line: str) -> None:
    """At the last line that begins with an exception's name, else at its begin."""
    assert text[told_at(text) :].startswith(line)
