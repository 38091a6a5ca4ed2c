"""Mail, to a real SMTP server."""

from __future__ import annotations

import socket
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from alert_parts import RESOLVED, SAMPLE, a_channel, an_alert
from mail_server import PASSWORD, USER, MailServer, mail_server
from papers import Papers

from tracejury.collector.outbound.channels.channel import Channel
from tracejury.schemas.errors import PermanentError, RetryableError

pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH:UserWarning")  # of the server, without STARTTLS

TO = ("ops@example.com", "oncall@example.com")


def mailer(port: int, secret: str = "", *, timeout: float = 60.0, ca_file: str = "", **mail: Any) -> Channel:
    """A channel of kind email to a port of this machine, in the clear unless told otherwise."""
    settings = {"host": "localhost", "port": port, "security": "none", "sender": "jury@example.com", "to": TO, **mail}
    return a_channel("email", secret=secret, mail=settings, timeout_seconds=timeout, ca_file=ca_file)


def bodies(message: EmailMessage) -> tuple[str, str]:
    """Text and HTML."""
    plain, html = message.get_body(("plain",)), message.get_body(("html",))
    assert plain is not None
    assert html is not None
    return plain.get_content().replace("\r\n", "\n"), html.get_content()


async def test_an_alert_arrives_as_text_and_html() -> None:
    """With title, text, facts and link, from and to whom the configuration says."""
    with mail_server() as server:
        await mailer(server.port).send(SAMPLE)
    (mail,), (message,) = server.mails, server.messages
    assert (mail.mail_from, mail.rcpt_tos) == ("jury@example.com", list(TO))
    assert message["Subject"] == "[tracejury] Firing, HIGH: checkout: 31 % of runs have an error"
    assert (message["From"], message["To"]) == ("jury@example.com", ", ".join(TO))
    assert message["Date"] == "Wed, 18 Nov 2026 11:06:40 +0000"
    assert message["Auto-Submitted"] == "auto-generated"
    for body in bodies(message):
        assert "31 % of runs have an error" in body
        assert "The day before it was 4 %." in body
        assert "checkout?window=1h&" in body
    assert isinstance(mail.content, bytes)
    assert mail.content.isascii()


async def test_an_alert_and_its_resolution_are_one_conversation() -> None:
    """Each with an id of its own, which is the same in each attempt."""
    with mail_server() as server:
        channel = mailer(server.port)
        for alert in (SAMPLE, SAMPLE, RESOLVED, an_alert(id="alert-3", key="other")):
            await channel.send(alert)
    first, again, resolved, other = server.messages
    assert first["Message-ID"] == again["Message-ID"] != resolved["Message-ID"]
    assert first["References"] == resolved["References"] == resolved["In-Reply-To"] != other["References"]
    assert first["In-Reply-To"] is None


async def test_a_digest_is_one_mail() -> None:
    """Titles and links; of a hundred."""
    many = [an_alert(id=f"a{n}", title=f"service number {n}") for n in range(101)]
    with mail_server() as server:
        await mailer(server.port).send_digest([RESOLVED, *many])
    (message,) = server.messages
    assert message["Subject"] == "[tracejury] 102 alerts: 101 firing, 1 resolved"
    for body in bodies(message):
        assert "service number 98\n" in body or "service number 98<" in body
        assert "service number 99" not in body
        assert "and 2 more" in body


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_mail_is_encrypted_and_logged_in_for(security: str, tmp_path: Path) -> None:
    """The certificate is that of the host that was named."""
    papers = Papers(tmp_path)
    tls = papers.server(papers.issue())
    with mail_server(tls, starttls=security == "starttls", login=True) as server:
        settings: Any = {"security": security, "user": USER, "ca_file": str(papers.ca)}
        await mailer(server.port, PASSWORD, **settings).send(SAMPLE)
        assert len(server.mails) == 1
        with pytest.raises(PermanentError, match=r"SMTP 535 \(.*\): check mail\.user and \$\{SECRET\}"):
            await mailer(server.port, "wrong", **settings).send(SAMPLE)
        with pytest.raises(RetryableError, match="name its authority in ca_file"):
            await mailer(server.port, PASSWORD, security=security, user=USER).send(SAMPLE)
        assert len(server.mails) == 1
        assert set(server.logins) == {USER}


async def test_a_password_is_not_sent_to_a_server_without_encryption() -> None:
    """Nor mail that was to be encrypted."""
    with mail_server(login=True) as server:
        with pytest.raises(PermanentError, match="offers no STARTTLS"):
            await mailer(server.port, PASSWORD, security="starttls", user=USER).send(SAMPLE)
        assert not server.logins
        assert not server.mails


def no_sender(server: MailServer) -> None:
    server.replies["MAIL"] = "550 5.7.60 not as this sender"


def busy(server: MailServer) -> None:
    server.replies["DATA"] = "451 4.3.0 try later"


def refusing(server: MailServer) -> None:
    server.replies["DATA"] = "554 5.6.0 \x1b[2Jspam"


def unwanted(server: MailServer) -> None:
    server.unwanted = frozenset(TO)


def grey(server: MailServer) -> None:
    server.unwanted = frozenset(TO)
    server.replies["RCPT"] = "450 4.2.0 greylisted"


@pytest.mark.parametrize(
    ("change", "kind", "told"),
    [
        (no_sender, PermanentError, "SMTP 550 (5.7.60 not as this sender): check mail.sender"),
        (busy, RetryableError, "SMTP 451 (4.3.0 try later): "),
        (refusing, PermanentError, r"SMTP 554 (5.6.0 \x1b[2Jspam): "),
        (unwanted, PermanentError, "SMTP 550 (5.1.1 no such mailbox): check mail.to: ops@example.com"),
        (grey, RetryableError, "SMTP 450 (4.2.0 greylisted): check mail.to"),
    ],
)
async def test_a_refusal_tells_whether_to_try_again(
    change: Callable[[MailServer], None], kind: type[Exception], told: str
) -> None:
    """By the first digit of the reply, whose text is safe to print."""
    with mail_server() as server:
        change(server)
        with pytest.raises(kind) as caught:
            await mailer(server.port).send(SAMPLE)
        assert not server.mails
    assert f"channel team (email): {told}" in str(caught.value)


async def test_who_did_not_get_what_others_got_is_named() -> None:
    """It is not sent again, as the others would get it twice."""
    with mail_server() as server:
        server.unwanted = frozenset({TO[1]})
        with pytest.raises(PermanentError, match=r"sent, but not to oncall@example\.com: check mail\.to"):
            await mailer(server.port).send(SAMPLE)
        assert [mail.rcpt_tos for mail in server.mails] == [[TO[0]]]


async def test_mail_that_was_taken_counts_as_sent_whatever_follows() -> None:
    """A server that says no goodbye would be sent it again else."""
    with mail_server() as server:
        server.replies["QUIT"] = ""
        await mailer(server.port, timeout=1.0).send(SAMPLE)
        assert len(server.mails) == 1


async def test_nobody_is_reached() -> None:
    """No such host, nobody who listens, an address of cloud metadata."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    with pytest.raises(RetryableError, match="nobody listens there"):
        await mailer(port).send(SAMPLE)
    with pytest.raises(RetryableError, match="its host is unknown"):
        await mailer(25, host="no-such-host.invalid").send(SAMPLE)
    with pytest.raises(PermanentError, match="clouds keep credentials at its address"):
        await mailer(25, host="169.254.169.254").send(SAMPLE)


@pytest.mark.parametrize(
    ("greeting", "told"),
    [(b"", "no answer in 0.3 s"), (b"HTTP/1.1 400 Bad Request\r\n\r\n", "another protocol")],
)
async def test_what_is_no_mail_server_is_given_up_in_time(greeting: bytes, told: str) -> None:
    """Although it may hold the connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        held = []

        def accept() -> None:
            connection, _address = listener.accept()
            connection.sendall(greeting)
            held.append(connection)

        thread = Thread(target=accept, daemon=True)
        thread.start()
        with pytest.raises(RetryableError, match=told):
            await mailer(listener.getsockname()[1], timeout=0.3).send(SAMPLE)
        thread.join()
        for connection in held:
            connection.close()
