"""Errors by what the caller should do. One table (collector/receiver/status.py) turns them into protocol codes."""

from __future__ import annotations


class TracejuryError(Exception):
    """Base of all errors of ours; its text is one clear line for people."""


class RetryableError(TracejuryError):
    """A passing failure: try the same again. `retry_after` in seconds."""

    def __init__(self, message: str, *, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class OverloadedError(RetryableError):
    """A queue, memory or disk limit is reached: back off, then try the same again."""


class PermanentError(TracejuryError):
    """The input is wrong and will stay wrong: drop it."""


class TooLargeError(PermanentError):
    """The request exceeds a size limit: it must be split, not retried."""


class UnsupportedMediaTypeError(PermanentError):
    """The request's content type or encoding is not one of those the protocol names."""


class UnauthorizedError(PermanentError):
    """The request has no key that holds: send one."""


class ForbiddenError(PermanentError):
    """The request comes from a page of another site, or its key does not allow it."""


class ConfigError(TracejuryError):
    """The configuration is wrong: fix it and start again."""


class StoreError(TracejuryError):
    """The store answered with an error that trying again does not mend."""


class NotFoundError(TracejuryError):
    """No such trace, span or finding."""


class OverBudgetError(TracejuryError):
    """A cap on judge spend is reached: do without, and say so; `until` unix nanos when the cap's period ends.

    `held`: only what is held back for calls in flight is in the way. `project`: whose cap it is, None for that of all.
    """

    def __init__(self, message: str, *, until: int = 0, held: bool = False, project: str | None = None) -> None:
        super().__init__(message)
        self.until, self.held, self.project = until, held, project


class LlmError(TracejuryError):
    """A judge's model gave no usable answer; what it was to judge stays unscored."""


class PromptTooLongError(LlmError):
    """The prompt exceeds what the model can read: put it in parts."""
