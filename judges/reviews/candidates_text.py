"""Fixed texts of the question about detectors' errors, and of its outcomes."""

from __future__ import annotations

from typing import Final

QUESTION: Final = (
    "Your answer stands; do not repeat it. The items are errors that automatic rules report in the same record without "
    "knowing your answer. Rules see form rather than sense: some reports are right and some are wrong. Answer each for "
    "itself, by the record alone. `confirmed`: the record shows it, and it was wrong to do at that step; a detail told "
    "wrongly refutes nothing. `refuted`: the record shows that it did not happen, or that it was right to do, and "
    "`reason` names the step that shows it; that you did not report it, or that it did little harm, refutes nothing. "
    "`not-judged`: what would decide it is cut, was not recorded, or can be read in both ways."
)

NO_ANSWER: Final = "The judge gave no answer that can be used."
NO_REASON: Final = "The judge refuted it without a reason."
SAME: Final = "The judge reported the same error before it knew of this report."
