"""Checks that a pattern alone cannot make: check digits, lengths, and the characters around a match.

Each takes the text in UTF-8 and the place of a match, and returns the end of what is redacted, None for nothing.
"""

from __future__ import annotations

import re
from typing import Final

_DIGITS: Final = re.compile(rb"\D")
_BLANKS: Final = re.compile(rb"\s")
_IN_NUMBER: Final = re.compile(rb"[\w.+-]")
_GOES_ON: Final = re.compile(rb"[.-]?\w")

_CARDS: Final = re.compile(
    rb"4\d{15}(?:\d{3})?"  # Visa
    rb"|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"  # Mastercard
    rb"|3[47]\d{13}"  # American Express
    rb"|3(?:0[0-5]|[689]\d)\d{11}"  # Diners Club
    rb"|(?:6011|65\d\d|64[4-9]\d)\d{12}(?:\d{3})?"  # Discover
    rb"|35(?:2[89]|[3-8]\d)\d{12}"  # JCB
    rb"|62\d{14,17}"  # UnionPay
)
"""Prefixes and lengths of issuers (ISO/IEC 7812)."""

_COUNTRIES: Final = """
AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29
ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28
LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25
QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30
"""
_IBAN_LENGTHS: Final = {code[:2].encode(): int(code[2:]) for code in _COUNTRIES.split()}
"""Characters of an IBAN by country (SWIFT's IBAN registry)."""


def luhn(digits: bytes) -> bool:
    """Whether the check digit of ISO/IEC 7812 is right."""
    doubled = [2 * (d - 48) for d in digits[-2::-2]]
    return (sum(d - 9 if d > 9 else d for d in doubled) + sum(d - 48 for d in digits[-1::-2])) % 10 == 0  # noqa: PLR2004


def card(data: bytes, start: int, end: int) -> int | None:
    """A number of an issuer's prefix and length with a right check digit, alone among its neighbours."""
    return end if _alone(data, start, end) and _is_card(data[start:end]) else None


def may_be_card(data: bytes, start: int, end: int) -> int | None:
    """The same for texts with escapes in them: see `may_be_alone`."""
    return end if _is_card(data[start:end]) and may_be_alone(data, start, end) else None


def iban(data: bytes, start: int, end: int) -> int | None:
    """The characters of the country's length, if they are 1 modulo 97 (ISO 13616)."""
    length = _IBAN_LENGTHS.get(data[start : start + 2].upper())
    if length is None:
        return None
    last = start
    for _ in range(length):
        while last < end and _BLANKS.match(data, last):
            last += 1
        last += 1
    if last > end or (last < len(data) and data[last : last + 1].isalnum()):
        return None
    text = _BLANKS.sub(b"", data[start:last]).upper()
    number = "".join(str(int(chr(c), 36)) for c in text[4:] + text[:4])
    return last if int(number) % 97 == 1 else None


def alone(data: bytes, start: int, end: int) -> int | None:
    """A match that is no part of a longer number or word."""
    return end if _alone(data, start, end) else None


def may_be_alone(data: bytes, start: int, end: int) -> int | None:
    """The same for texts with escapes in them: a letter or digit before it may be an escape's last."""
    return end if not (start and data[start - 1] in b"+.-") and not _GOES_ON.match(data, end) else None


def has_digit(data: bytes, start: int, end: int) -> int | None:
    """A token with a digit: without one it is a word."""
    return end if re.search(rb"\d", data[start:end]) else None


def no_remote(data: bytes, start: int, end: int) -> int | None:
    """An address that is not the user of a git remote (`git@host:path`)."""
    at = data.index(b"@", start)
    return None if data[at - 3 : at] == b"git" and data[end : end + 1] == b":" else end


def _is_card(number: bytes) -> bool:
    digits = _DIGITS.sub(b"", number)
    return _CARDS.fullmatch(digits) is not None and luhn(digits)


def _alone(data: bytes, start: int, end: int) -> bool:
    return not (start and _IN_NUMBER.match(data, start - 1)) and not _GOES_ON.match(data, end)
