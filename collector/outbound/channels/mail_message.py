"""An alert as a mail: text with the same in simple HTML, ASCII on the wire. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from html import escape
from typing import Final

from tracejury.schemas.alerts import Alert, AlertState

from .config import MailConfig
from .texts import (
    MOST_FACTS,
    digest_headline,
    digest_of,
    fitted,
    fitted_line,
    headline,
    incident_of,
    web_link,
)

SUBJECT, TEXT, NAME, VALUE, MOST_LISTED = 200, 20_000, 100, 2_000, 100
"""Characters, and alerts of a digest."""
ID: Final = 32
"""Hex digits of an id. Python's email writes a longer reference, which it folds, as encoded words: no id to anybody."""
_POLICY: Final = SMTP.clone(cte_type="7bit")
_NANOS: Final = 10**9


@dataclass(frozen=True, slots=True)
class MailPart:
    """One alert of a mail, as text that is not escaped yet."""

    title: str
    text: str
    facts: Sequence[tuple[str, str]]
    link: str

    @classmethod
    def of(cls, alert: Alert, *, whole: bool) -> MailPart:
        """Of an alert, with its text and facts or without."""
        facts = alert.facts[:MOST_FACTS] if whole else ()
        return cls(
            fitted_line(headline(alert), SUBJECT),
            fitted(alert.text, TEXT) if whole else "",
            [(fitted_line(name, NAME), fitted_line(value, VALUE)) for name, value in facts],
            web_link(alert),
        )

    def plain(self) -> str:
        """As text."""
        facts = "\n".join(f"{name}: {value}" for name, value in self.facts)
        return "\n\n".join(filter(None, (self.title, self.text, facts, self.link)))

    def html(self) -> str:
        """As HTML; every text is escaped."""
        rows = "".join(f"<tr><th align=left>{escape(n)}</th><td>{escape(v)}</td></tr>" for n, v in self.facts)
        return (
            f"<h3>{escape(self.title)}</h3>"
            + (f'<p style="white-space: pre-wrap">{escape(self.text)}</p>' if self.text else "")
            + (f"<table>{rows}</table>" if rows else "")
            + (f'<p><a href="{escape(self.link)}">Open in tracejury</a></p>' if self.link else "")
        )


def alert_mail(alert: Alert, mail: MailConfig) -> EmailMessage:
    """One alert. It refers to its incident, as does its resolution, so that programs show both as one conversation."""
    message = _mail(mail, headline(alert), digest_of(alert.id), alert.at, [MailPart.of(alert, whole=True)])
    thread = f"<{digest_of(incident_of(alert))[:ID]}@tracejury.invalid>"
    message["References"] = thread
    if alert.state is AlertState.RESOLVED:
        message["In-Reply-To"] = thread
    return message


def digest_mail(alerts: Sequence[Alert], mail: MailConfig) -> EmailMessage:
    """Several alerts."""
    parts = [MailPart.of(alert, whole=False) for alert in alerts[:MOST_LISTED]]
    if len(alerts) > MOST_LISTED:
        parts.append(MailPart(f"and {len(alerts) - MOST_LISTED} more", "", (), ""))
    name, at = digest_of(*(alert.id for alert in alerts)), max((alert.at for alert in alerts), default=0)
    return _mail(mail, digest_headline(alerts), name, at, parts)


def _mail(mail: MailConfig, title: str, name: str, at: int, parts: Sequence[MailPart]) -> EmailMessage:
    message = EmailMessage(_POLICY)
    # Python's email decodes encoded words (RFC 2047) of a subject that it folds, and writes the line feed of one as is.
    message["Subject"] = fitted_line(f"[tracejury] {title}", SUBJECT).replace("=?", "= ?")
    message["From"] = mail.sender
    message["To"] = ", ".join(mail.to)
    message["Date"] = format_datetime(datetime.fromtimestamp(at // _NANOS, UTC))
    message["Message-ID"] = f"<{name[:ID]}@{mail.sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content("\n\n\n".join(part.plain() for part in parts))
    message.add_alternative(f"<html><body>{''.join(part.html() for part in parts)}</body></html>", subtype="html")
    return message
