"""Agents of a made-up help desk and of a made-up editor, beside the demo's: what they say, what their tools do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from opentelemetry.trace import Tracer

from tracejury.collector.cli.demo import program
from tracejury.collector.cli.demo.agents import Agent, ScriptedModel
from tracejury.collector.cli.demo.agents import ScriptedReply as Reply
from tracejury.collector.cli.demo.almanac import DemoTool, delegate
from tracejury.collector.cli.demo.runs import FROM_MEMORY, HAMMERING, HEALTHY, INVENTED, WRONG_ARGUMENTS, DemoRun

ORDERS: Mapping[str, str] = {
    "A-1041": "Order A-1041: one kettle, paid twice, 24.90 each; delivered on Monday.",
    "A-2210": "Order A-2210: two lamps, paid once, 61.00; on its way, expected on Thursday.",
}
DESK_PROMPT = (
    "You are the concierge of a small shop. You find orders yourself; questions of money go to billing. "
    "Say only what your tools and billing have told you."
)
BILLING_PROMPT = "You are billing. Read the invoice first, then refund what was charged wrongly, and report the amount."
EDITOR_PROMPT = "You write release notes out of the list of changes. Never write what the list does not hold."


@dataclass(frozen=True, slots=True)
class Act:
    """One task that a service is given. `perform` lets its agents work; `fault`: what went wrong, "" for nothing."""

    title: str
    fault: str
    perform: Callable[[Tracer], object]


def find_order(order: str) -> str:
    """What is known of an order. Raises LookupError for one that there is not."""
    if order not in ORDERS:
        raise LookupError(f"404 Not Found: there is no order {order!r}")
    return ORDERS[order]


def get_invoice(order: str) -> str:
    """What was paid for it."""
    return f"Invoice of {order}: 24.90 on 3 May, 24.90 on 3 May."


def invoice_late(order: str) -> str:
    """The same while the ledger is slow. Raises TimeoutError."""
    raise TimeoutError(f"the ledger did not answer within 10 s (invoice of {order})")


def refund(order: str, amount: float) -> str:
    """Pays back."""
    return f"Refunded {amount:.2f} for {order}."


def read_changes(release: str) -> str:
    """The changes of a release."""
    return f"{release}: faster start; dates in the export are UTC now; three faults mended in the importer."


def changes_refused(release: str) -> str:
    """The same with a token that has expired. Raises PermissionError."""
    raise PermissionError(f"401 Unauthorized: the token for {release} has expired")


def _tool(name: str, about: str, run: Callable[..., str], **fields: str) -> DemoTool:
    described = {field: {"type": kind} for field, kind in fields.items()}
    schema = {"type": "object", "properties": described, "required": [*fields], "additionalProperties": False}
    return DemoTool(name, about, schema, run)


def _desk(
    task: str, said: Sequence[Reply], billed: Sequence[Reply] = (), *, late: bool = False
) -> Callable[..., object]:
    def perform(tracer: Tracer) -> str:
        invoice = _tool(
            "get_invoice", "What was paid for an order.", invoice_late if late else get_invoice, order="string"
        )
        pay = _tool("refund", "Pays an amount back.", refund, order="string", amount="number")
        billing = Agent("billing", BILLING_PROMPT, (invoice, pay), ScriptedModel(iter(billed), "bill"), tracer)
        find = _tool("find_order", "What is known of an order.", find_order, order="string")
        helper = delegate("billing", "Answers questions of money.", billing.run)
        return Agent("concierge", DESK_PROMPT, (find, helper), ScriptedModel(iter(said), "desk"), tracer).run(task)

    return perform


def _editor(task: str, said: Sequence[Reply], *, refused: bool = False) -> Callable[..., object]:
    def perform(tracer: Tracer) -> str:
        read = _tool(
            "read_changes", "Changes of a release.", changes_refused if refused else read_changes, release="string"
        )
        return Agent("editor", EDITOR_PROMPT, (read,), ScriptedModel(iter(said), "edit"), tracer).run(task)

    return perform


def _almanac(run: DemoRun) -> Act:
    return Act(run.title, run.fault, lambda tracer: program.perform(run, tracer))


def _find(order: str) -> Reply:
    return Reply("", [("find_order", {"order": order})])


def _bill(task: str) -> Reply:
    return Reply("", [("billing", {"task": task})])


def _invoice(order: str) -> Reply:
    return Reply("", [("get_invoice", {"order": order})])


def _changes(release: str) -> Reply:
    return Reply("", [("read_changes", {"release": release})])


PLAN_FIND = Reply("1. Use find_order.\n2. Answer with what it says.")
PLAN_MONEY = Reply("1. Use find_order.\n2. Ask billing to look at the invoice.\n3. Answer with what billing did.")
PLAN_BILL = Reply("1. Use get_invoice.\n2. Use refund for what was charged wrongly.\n3. Report the amount.")
PLAN_NOTES = Reply("1. Use read_changes.\n2. Write the notes out of it.")
REFUND = "Refund what order A-1041 was charged too much."

ASKED = Act(
    "where is it", "",
    _desk("Where is my order A-2210?", (PLAN_FIND, _find("A-2210"), Reply("It is on its way, expected on Thursday."))),
)  # fmt: skip
REFUNDED = Act(
    "refunded", "",
    _desk(
        "I paid for order A-1041 twice. Please send one payment back.",
        (PLAN_MONEY, _find("A-1041"), _bill(REFUND), Reply("Billing has refunded 24.90 for order A-1041.")),
        (
            PLAN_BILL, _invoice("A-1041"), Reply("", [("refund", {"order": "A-1041", "amount": 24.9})]),
            Reply("Refunded 24.90 for A-1041."),
        ),
    ),
)  # fmt: skip
NEVER_REFUNDED = Act(
    "never refunded", "the refund was called wrongly and failed, and the customer is told that it was paid",
    _desk(
        "I paid for order A-1041 twice. Please send one payment back.",
        (PLAN_MONEY, _find("A-1041"), _bill(REFUND), Reply("Good news: your refund of 24.90 has been paid today.")),
        (
            PLAN_BILL, _invoice("A-1041"),
            Reply("", [("refund", {"order_id": "A-1041", "total": "24.90 in full"})]),
            Reply("The refund of 24.90 for A-1041 has been paid successfully."),
        ),
    ),
)  # fmt: skip
LATE = Act(
    "ledger late", "the same call that timed out, three times",
    _desk(
        "Was order A-2210 charged correctly?",
        (
            PLAN_MONEY, _find("A-2210"), _bill("Check the charge of order A-2210."),
            Reply("I could not check the charge: the ledger did not answer."),
        ),
        (
            PLAN_BILL, _invoice("A-2210"), _invoice("A-2210"), _invoice("A-2210"),
            Reply("I could not read the invoice of A-2210: the ledger timed out each time."),
        ),
        late=True,
    ),
)  # fmt: skip
NO_SUCH_ORDER = Act(
    "no such order", "there is no such order, and the answer invents its delivery",
    _desk(
        "When does order A-9999 arrive?",
        (PLAN_FIND, _find("A-9999"), Reply("Order A-9999 left the warehouse and arrives tomorrow before noon.")),
    ),
)  # fmt: skip
WRITTEN = Act(
    "notes", "",
    _editor(
        "Write the notes of release 2.4.",
        (PLAN_NOTES, _changes("2.4"), Reply("2.4 starts faster, exports dates in UTC, and mends three faults.")),
    ),
)  # fmt: skip
MADE_UP_NOTES = Act(
    "made-up notes", "the list of changes was refused, and the notes are made up",
    _editor(
        "Write the notes of release 2.5.",
        (PLAN_NOTES, _changes("2.5"), Reply("2.5 brings a dark mode, a new search and support for twelve languages.")),
        refused=True,
    ),
)  # fmt: skip

HEALTHY_ACTS = {"help-desk": (ASKED, REFUNDED), "almanac-agents": (_almanac(HEALTHY),), "release-notes": (WRITTEN,)}
"""What goes well, by service."""
FAULTY_ACTS = {
    "help-desk": (NEVER_REFUNDED, LATE, NO_SUCH_ORDER),
    "almanac-agents": tuple(_almanac(run) for run in (INVENTED, WRONG_ARGUMENTS, HAMMERING, FROM_MEMORY)),
    "release-notes": (MADE_UP_NOTES,),
}
"""What does not."""

ACTS = {service: (*HEALTHY_ACTS[service], *FAULTY_ACTS[service]) for service in HEALTHY_ACTS}
"""All of them."""
