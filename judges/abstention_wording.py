"""Wordings of abstention, as patterns over lower-cased text: admissions, attempts, offers, claims.

Those of admission come in several languages. No alternative repeats inside a repetition: the cost is linear.
"""

from __future__ import annotations

import re
from typing import Final

_EDGE: Final = r"\b"


def _any(*alternatives: str) -> re.Pattern[str]:
    """One pattern. What begins at a word's edge shares one test for it, which makes the whole several times faster."""
    edged: list[str] = []
    loose: list[str] = []
    for several in alternatives:
        first, *more = several.split(f"|{_EDGE}")
        (edged if first.startswith(_EDGE) else loose).append(first.removeprefix(_EDGE))
        edged += more
    return re.compile("|".join([f"{_EDGE}(?:{'|'.join(edged)})", *loose]))


ADMITS: Final = _any(
    r"\b(?:cannot|can ?not|unable to|not (?:been )?able to|impossible to|not possible|fail(?:ed|s|ing)? to|could ?not)",
    r"n't (?:be |been )?(?:find|found|able|access|retrieve|open|read|load|reach|get|obtain|locate|determine|verify)",
    r"\b(?:can't|couldn't|didn't|doesn't|isn't|wasn't|weren't|won't|don't (?:have|know|exist|provide))",
    r"\b(?:do|does|did) not (?:have|know|exist|find|yield|return|work|succeed|get|give|bring|contain|respond)",
    r"\b(?:unavailable|inaccessible|undetermined|unsuccessful|inconclusive|insufficient|unreachable|unanswered)",
    r"\b(?:not|no longer) (?:yet )?(?:available|accessible|reachable|enough|known|determined|verified|confirmed|found)",
    r"\bno (?:\w{3,12} )?(?:results?|match(?:es)?|information|data|records?|answer|sources?|documents?|articles?)",
    r"\bno (?:luck|access|evidence|such|entries)\b|\b(?:remains?|stays?) (?:open|unknown)\b",
    r"\bnothing (?:to report|(?:was |could be )?(?:found|useful|relevant))",
    r"\b(?:found|returned|brought|gave|yielded) (?:nothing|no )",
    r"\b(?:there (?:is|are|was|were)|has|have|had|shows?|lists?|contains?|holds?) (?:no|none|nothing)\b",
    r"\bwithout (?:access|success)|\black(?:s|ing)? (?:access|the|sufficient|enough)",
    r"\b(?:returned|raised|encountered|got|hit|ran into|with) (?:an? |the |some |only |repeated )?errors?",
    r"\berrors? (?:occurred|prevented)|\btimed out",
    r"\b(?:is|was|are|were|be|being|seems|stays) (?:\w{3,12} )?(?:down|offline|out of service|unknown|blocked|broken)",
    r"\b(?:refused|denied|rejected|gave up|giving up|unclear|none of (?:the|my|these))\b",
    r"\bi(?:'m| am) (?:very |so )?sorry|\b(?:unfortunately|regrettably|apologi[sz]e)",
    r"\bkonnten? .{0,80}?nicht\b|\bnicht (?:gefunden|verf\u00fcgbar|erreichbar|m\u00f6glich)|\bleider\b",
    r"\bn'(?:ai|a) pas (?:pu|trouv)|\bimpossible de\b|introuvable|indisponible|d\u00e9sol\u00e9|malheureusement",
    r"\bno (?:he podido|pude|se pudo|encontr|se encontr|est\u00e1 disponible|puedo)|lo siento|lamentablemente",
    r"\bn\u00e3o (?:consegui|foi poss\u00edvel|encontr|est\u00e1 dispon)|indispon\u00edvel|infelizmente",
    r"\bnon (?:sono riuscit|ho potuto|ho trovato|\u00e8 (?:stato possibile|disponibile))|impossibile|purtroppo",
    r"\bkon .{0,80}?niet\b|\bniet (?:gevonden|beschikbaar)|\bhelaas\b|\btyv\u00e4rr\b|\bdesv\u00e6rre\b|\bniestety\b",
    r"\u043d\u0435 (?:\u0443\u0434\u0430\u043b\u043e\u0441\u044c|\u043c\u043e\u0433\u0443)",
    r"\u65e0\u6cd5|\u627e\u4e0d\u5230|\u672a\u80fd|\u6ca1\u6709\u627e\u5230|\u62b1\u6b49",
    r"\u3067\u304d\u307e\u305b\u3093|\u898b\u3064\u304b\u308a\u307e\u305b\u3093",
    r"\uc218 \uc5c6|\ucc3e\uc9c0 \ubabb|\uc8c4\uc1a1",
)
"""Nothing was obtained."""

_SOUGHT: Final = (
    r"(?:search|look-?ups?|tools?|calls?|requests?|attempts?|fetch|downloads?|retrieval|quer(?:y|ies)|services?|pages?"
    r"|files?|api|server|database|sub-?agent|times?|access|connection|steps?)"
)
ACCESS_FAILED: Final = _any(
    rf"\b{_SOUGHT}\b.{{0,80}}\b(?:fail(?:s|ed|ure)?|without result|to no avail|in vain)\b",
    rf"\bfail(?:ed|ure|s)?\b.{{0,60}}\b{_SOUGHT}\b",
)
"""The same, of a way to get data."""

ATTEMPT: Final = _any(
    r"\b(?:i|we) (?:have |'ve )?(?:searched|queried|called|asked|looked|checked|contacted|used|made)\b",
    r"\b(?:tried|attempted|searched|attempts?)\b",
    r"\bafter (?:trying|several|many|multiple|\w{2,12} (?:attempts|tries))\b",
)
"""Attempts, without an outcome."""

OFFERS: Final = _any(
    r"\b(?:try again|retry|later|temporar|outage|problem|issue|please|let me know|could you|can you|would you|if you)",
    r"\byou (?:can|may|could|might|would)|\b(?:suggest|recommend|advis|happy to|glad to|help you|once )",
    r"\bi (?:can|could|will|would)\b|\bi'll\b|\b(?:next steps?|to proceed|in order to|alternativ|restored)",
    r"\bneed(?:s|ed)? (?:to|more|access|the|your)|\bwould (?:need|require|have to)",
)
"""Next steps on offer."""

CLAIMS: Final = _any(
    r"\b(?:my|general|common|background|prior|existing|internal) (?:own )?(?:knowledge|understanding|memory)\b",
    r"\bfrom memory\b|\bi (?:recall|remember|believe|think|know|assume|estimate|guess|conclude|infer|deduce)\b",
    r"\b(?:assum(?:e|ed|es|ing|ption)|estimat\w{0,9}|approximate\w{0,9}|guess|likely|probably|presumably)\b",
    r"\b(?:typical(?:ly)?|i would say)\b",
    r"\b(?:plausibl[ey]|simulat\w{0,9}|hypothe\w{0,9}|historically|secondary sources|turns out)\b",
    r"\b(?:it is|well|widely|commonly|generally) (?:known|understood|established)\b",
    r"\b(?:known to be|according to|based on)\b",
    r"\b(?:is|are|was|were) known to\b|\bcan be (?:inferred|deduced)\b|\b(?:should|must|would) be\b",
    r"\b(?:the|my|final|correct|best) (?:final |best )?(?:answer|result|value)(?: is\b| would be\b|:)",
    r"\b(?:suggest|indicate|confirm)s? that\b",
)
"""Something is stated on whatever ground."""

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
