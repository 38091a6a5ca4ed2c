"""Mail over SMTP (RFC 5321): one connection a message, bounded in time, its address checked."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from email.message import EmailMessage
from typing import TYPE_CHECKING, Any, Final

from tracejury.collector.outbound.webhooks.posting import DeliveryError, checked_addresses
from tracejury.schemas.alerts import Alert
from tracejury.schemas.errors import PermanentError, RetryableError, TracejuryError
from tracejury.schemas.text.terminal import one_line

from .channel import PartlySentError
from .config import ChannelConfig, MailConfig
from .failing import failed, place_of
from .mail_message import alert_mail, digest_mail

if TYPE_CHECKING:
    from aiosmtplib import SMTP, SMTPResponseException

REPLIES: Final = range(400, 600)
"""Codes of refusals."""
FOREVER: Final = range(500, 600)
"""Replies that another try does not change (RFC 5321, 4.2.1)."""
_REPLY: Final = 200
"""Characters of a server's reply that are told."""


class MailChannel:
    """See `Channel`. Passwords go over TLS alone: the configuration sees to it."""

    def __init__(self, config: ChannelConfig, mail: MailConfig, password: str, tls: ssl.SSLContext) -> None:
        """`password`: "" where the server asks for none."""
        self._config, self._mail, self._password, self._tls = config, mail, password, tls

    async def send(self, alert: Alert) -> None:
        """See `Channel`."""
        await self._send(await asyncio.to_thread(alert_mail, alert, self._mail))

    async def send_digest(self, alerts: Sequence[Alert]) -> None:
        """See `Channel`."""
        await self._send(await asyncio.to_thread(digest_mail, alerts, self._mail))

    async def _send(self, message: EmailMessage) -> None:
        from aiosmtplib import SMTPException, SMTPRecipientsRefused, SMTPResponseException

        try:
            refused = await self._exchange(message.as_bytes())
        except DeliveryError as error:
            raise failed(self._config, error.reason) from None
        except TimeoutError:
            raise failed(self._config, "timeout") from None
        except SMTPRecipientsRefused as error:
            first = next((each for each in error.recipients if each.code not in FOREVER), error.recipients[0])
            raise self._refused(first) from None
        except SMTPResponseException as error:
            raise self._refused(error) from None
        except (SMTPException, OSError) as error:
            is_tls = isinstance(error, ssl.SSLError) or isinstance(error.__cause__, ssl.SSLError)
            raise failed(self._config, "tls" if is_tls else "no-answer") from None
        if refused:
            raise self._error(PartlySentError, f"sent, but not to {', '.join(sorted(refused))}: check mail.to")

    async def _exchange(self, message: bytes) -> Mapping[str, Any]:
        """The receivers that the server refused, while it took others."""
        mail, patience, refused = self._mail, self._config.timeout_seconds, None
        try:
            async with asyncio.timeout(patience):
                client = await self._connected()
                try:
                    await self._enter(client)
                    refused, _reply = await client.sendmail(mail.sender, mail.to, message)
                    await client.quit()
                finally:
                    client.close()
        except Exception:
            if refused is None:  # else the server has taken it, and only the end of the exchange failed
                raise
        return refused or {}

    async def _connected(self) -> SMTP:
        from aiosmtplib import SMTP

        mail = self._mail
        sock = await _connect(mail.host, mail.port, any_address=self._config.allow_link_local)
        address = sock.getsockname()[0]
        client = SMTP(
            hostname=mail.host,
            sock=sock,
            use_tls=mail.security == "tls",
            start_tls=False,  # below, so that a server without it is told apart
            tls_context=self._tls,
            timeout=self._config.timeout_seconds,
            local_hostname=f"[IPv6:{address}]" if ":" in address else f"[{address}]",  # a name would be looked up
        )
        await client.connect()
        return client

    async def _enter(self, client: SMTP) -> None:
        """Encrypt and log in, as configured.

        Raises:
            PermanentError: the server offers no such thing.
        """
        await client.ehlo()
        if self._mail.security == "starttls":
            if not client.supports_extension("starttls"):
                raise self._error(PermanentError, "the server offers no STARTTLS: set mail.security, or use its port")
            await client.starttls()
            await client.ehlo()
        if self._password:
            if not client.supports_extension("auth"):
                raise self._error(PermanentError, "the server takes no password there: use its port for submission")
            await client.login(self._mail.user, self._password)

    def _refused(self, error: SMTPResponseException) -> TracejuryError:
        from aiosmtplib import SMTPAuthenticationError, SMTPRecipientRefused, SMTPSenderRefused

        match error:
            case _ if error.code not in REPLIES:
                return failed(self._config, "no-answer")
            case SMTPAuthenticationError():
                hint = f"check mail.user and {self._config.secret}"
            case SMTPSenderRefused():
                hint = "check mail.sender"
            case SMTPRecipientRefused():
                hint = f"check mail.to: {error.recipient}"
            case _:
                hint = "ask who runs the server"
        told = f"SMTP {error.code} ({one_line(error.message, _REPLY)}): {hint}"
        return self._error(PermanentError if error.code in FOREVER else RetryableError, told)

    def _error(self, kind: type[TracejuryError], told: str) -> TracejuryError:
        return kind(f"{place_of(self._config)}: {told}")


async def _connect(host: str, port: int, *, any_address: bool) -> socket.socket:
    """A connection to the first address of `host` that answers, of those that were checked.

    Raises:
        DeliveryError: there is none, or the host is unknown or refused.
    """
    pool = ThreadPoolExecutor(1, thread_name_prefix="mail names")
    try:
        addresses = await checked_addresses(host, port, pool, any_address=any_address)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    for address in addresses:
        sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        sock.settimeout(0)
        try:
            await asyncio.get_running_loop().sock_connect(sock, (address, port))
        except OSError:
            sock.close()
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise DeliveryError("no-connection")
