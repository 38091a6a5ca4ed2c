"""Texts that claim nothing: an honest "could not be found", a question to the user.

A text is read sentence by sentence. It *abstains* where it opens by admitting that nothing was obtained and claims
nothing afterwards; "the search failed, but to my knowledge it is 1900" admits and claims.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final

from .wording import WORDINGS, holds_any

_READ: Final = 4000
"""Characters of a text that are read."""

# Patterns that begin with the characters that they seek are found much faster than those that first look back.
_SENTENCE: Final = re.compile(r"\s(?:(?<=[.!?;\u3002\uff01\uff1f]\s)\s*|(?<=\n)\n*)")
_WIDE_SENTENCE: Final = re.compile(rf"{_SENTENCE.pattern}|(?<=[\u3002\uff01\uff1f])")
_WIDE_ENDS: Final = ("\u3002", "\uff01", "\uff1f")
"""Ends of sentences after which no space is written."""
_HEADING: Final = re.compile(r"^(?:#{1,6}\s.*|\d{1,2}[.)]\s[^.]{0,60}:|[^.]{0,60}:|\*\*[^*]{1,60}\*\*:?)$")
_NUMBERING: Final = re.compile(r"^[ #]{0,8}\d{1,2}[.)][ \t]+", re.MULTILINE)
_EMPTY: Final = frozenset(
    {"", "unknown", "n/a", "na", "none", "null", "not found", "undetermined", "no answer", "not available", "-"}
)
_LONGEST_EMPTY: Final = max(map(len, _EMPTY))
_NUMBER: Final = re.compile(r"\d(?:[\d.,]{0,20}\d|(?<!\w\d)\b)")
_NAME: Final = re.compile(r"[A-Z](?<=[a-z,] [A-Z])[a-z]{2,30}\b")

_OPENING: Final = 2
"""Sentences, those that tell of attempts aside, in which an admission must come."""

_EDGE: Final = r"\b"
_PATTERNS: Final = WORDINGS["patterns"]


def abstains(text: str, seen: Sequence[str] = ()) -> bool:
    """Whether a text says that nothing was obtained and claims nothing.

    `seen`: texts that its names and numbers may come from.
    """
    if _is_empty(text):
        return True
    if not may_abstain(text):
        return False
    waited = 0
    admitted = False
    for sentence in _sentences(text):
        low = sentence.lower()
        if _admits(low):
            admitted = True
            if _goes_on_to_claim(sentence, seen):
                return False
        elif _claims(sentence, seen):
            return False
        elif not admitted and not ATTEMPT.search(low):
            waited += 1
            if waited >= _OPENING:
                return False
    return admitted


def may_abstain(text: str) -> bool:
    """Whether a text admits anything at all: one that does not `abstains` from nothing, whatever was seen."""
    return _is_empty(text) or _admits(text[:_READ].replace("\u2019", "'").lower())


def _is_empty(text: str) -> bool:
    bare = text.strip(" .!\n\"'")
    return len(bare) <= _LONGEST_EMPTY and bare.lower() in _EMPTY


def asks(text: str, seen: Sequence[str] = ()) -> bool:
    """Whether a text claims nothing and ends with a question or a request, or opens with a greeting."""
    sentences = list(_sentences(text))
    if not sentences or not (_ends_asking(sentences[-1].lower()) or sentences[0].lower().startswith(_GREETINGS)):
        return False
    return not any(_claims(s, seen) for s in sentences if not _ends_asking(s.lower()))


def _ends_asking(low: str) -> bool:
    return low.rstrip("\"')* ").endswith(("?", "\uff1f")) or any(n in low for n in _REQUESTS)


_GREETINGS: Final = ("hello", "hi ", "hi!", "hi,", "good morning", "good evening", "welcome", "thank you", "thanks")
_REQUESTS: Final = ("please provide", "please specify", "please share", "please tell", "please confirm", "let me know")


def _sentences(text: str) -> Iterator[str]:
    plain = _NUMBERING.sub("", text[:_READ].replace("\u2019", "'"))
    for piece in (_WIDE_SENTENCE if holds_any(plain, _WIDE_ENDS) else _SENTENCE).split(plain):
        sentence = piece.strip(" *_-\u2022>\"'\t")
        if sentence and not _HEADING.match(sentence):
            yield sentence


@lru_cache(512)
def _admits(low: str) -> bool:
    return bool(ADMITS.search(low) or ACCESS_FAILED.search(low))


def _goes_on_to_claim(sentence: str, seen: Sequence[str]) -> bool:
    """Whether an admitting sentence turns to a claim: after a "but", or in a clause that admits nothing itself."""
    for turned, part in enumerate(PIVOT.split(sentence)):
        if turned and not _admits(part.lower()) and _claims(part, seen):
            return True
        clauses = [c for c in _CLAUSE.split(part) if c.strip() and not _admits(c.lower())]
        if any(CLAIMS.search(c.lower()) and _claims(c, seen) for c in clauses):
            return True
    return False


_CLAUSE: Final = re.compile(r", |: ")


def _claims(sentence: str, seen: Sequence[str]) -> bool:
    """Whether a sentence (one that admits nothing) states something as a fact that was not seen."""
    low = sentence.lower()
    if low.endswith("?") or (OFFERS.search(low) and not CLAIMS.search(low)):
        return False
    if CLAIMS.search(low):
        return not OFFERS.search(low) or _unseen(sentence, seen)
    if ATTEMPT.search(low):
        return False
    return _unseen(sentence, seen) or bool(STATES.match(low))


def _unseen(sentence: str, seen: Sequence[str]) -> bool:
    """Whether a sentence has a number or a name that no seen text holds."""
    return any(not any(found in text for text in seen) for found in islice(tokens(sentence), _MOST_TOKENS))


_MOST_TOKENS: Final = 40
"""Names and numbers of one sentence that are looked for."""


def tokens(sentence: str) -> Iterator[str]:
    """The numbers and the names (capitalised words inside a sentence) of a text."""
    for match in _NUMBER.finditer(sentence):
        yield match.group(0)
    for match in _NAME.finditer(sentence):
        yield match.group(0)


def _pattern(name: str) -> re.Pattern[str]:
    """One pattern. What begins at a word's edge shares one test for it, which makes the whole several times faster."""
    edged: list[str] = []
    loose: list[str] = []
    sought = f"(?:{'|'.join(_PATTERNS['sought'])})"
    for several in _PATTERNS[name]:
        first, *more = several.replace("<sought>", sought).split(f"|{_EDGE}")
        (edged if first.startswith(_EDGE) else loose).append(first.removeprefix(_EDGE))
        edged += more
    return re.compile("|".join([f"{_EDGE}(?:{'|'.join(edged)})", *loose]))


ADMITS: Final = _pattern("admits")
ACCESS_FAILED: Final = _pattern("access_failed")
ATTEMPT: Final = _pattern("attempt")
OFFERS: Final = _pattern("offers")
CLAIMS: Final = _pattern("claims")

STATES: Final = re.compile(
    r"^(?:(?:thus|so|hence|therefore|still|yet|but|and|however),? )?"
    r"(?:it\b|(?:they|he|she|its|the) (?:is|was|are|were)\b)"
)
"""A sentence that opens as a statement of fact."""

PIVOT: Final = re.compile(
    r",? ?\b(?:but|however|nevertheless|nonetheless|yet|still|instead|even so|that said|therefore|so|thus)\b,? ",
    re.IGNORECASE,
)
"""Words at which a sentence may turn from admitting to claiming."""
