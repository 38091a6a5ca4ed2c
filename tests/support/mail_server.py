"""A real SMTP server over loopback: it keeps what it is sent, and refuses as a test says."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any, cast

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from hook_server import PATIENCE

USER, PASSWORD = "tracejury", "correct horse"


@dataclass(slots=True)
class MailServer:
    """`replies`: what it says to a command instead of yes; `mails`: what it took, with sender and receivers."""

    replies: dict[str, str] = field(default_factory=dict)
    unwanted: frozenset[str] = frozenset()
    mails: list[Envelope] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def messages(self) -> list[EmailMessage]:
        return [message_from_bytes(cast("bytes", mail.content), policy=default) for mail in self.mails]

    async def handle_MAIL(  # noqa: N802  aiosmtpd's name
        self, _server: Any, _session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if reply := self.replies.get("MAIL"):
            return reply
        envelope.mail_from, envelope.mail_options = address, options
        return "250 OK"

    async def handle_RCPT(  # noqa: N802  aiosmtpd's name
        self, _server: Any, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if address in self.unwanted:
            return self.replies.get("RCPT", "550 5.1.1 no such mailbox")
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: Any, _session: Session, envelope: Envelope) -> str:  # noqa: N802  likewise
        if reply := self.replies.get("DATA"):
            return reply
        self.mails.append(envelope)
        return "250 OK"

    async def handle_QUIT(self, server: Any, _session: Session, _envelope: Envelope) -> str:  # noqa: N802  likewise
        if "QUIT" in self.replies:
            await server.loop.create_future()  # for as long as the connection stands
        return "221 Bye"

    def authenticate(self, _server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
        login = cast("LoginPassword", data)
        self.logins.append(login.login.decode())
        return AuthResult(success=(login.login, login.password) == (USER.encode(), PASSWORD.encode()), handled=False)


@contextmanager
def mail_server(
    tls: ssl.SSLContext | None = None, *, starttls: bool = True, login: bool = False
) -> Iterator[MailServer]:
    """A server that offers STARTTLS with `tls`, or speaks TLS from the start; without, neither."""
    server, loop = MailServer(), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    upgrade: dict[str, Any] = {"tls_context": tls, "require_starttls": True} if tls and starttls else {}
    if login:
        upgrade |= {"authenticator": server.authenticate, "auth_required": True, "auth_require_tls": bool(upgrade)}

    async def listen() -> asyncio.Server:
        at_once = None if starttls else tls
        return await loop.create_server(lambda: SMTP(server, loop=loop, **upgrade), "127.0.0.1", 0, ssl=at_once)

    thread.start()
    listener = asyncio.run_coroutine_threadsafe(listen(), loop).result(PATIENCE)
    try:
        server.port = listener.sockets[0].getsockname()[1]
        yield server
    finally:
        loop.call_soon_threadsafe(listener.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE)
        loop.close()
